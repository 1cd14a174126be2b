//! The side of the parent: the result of each check.

use serde::Serialize;

use crate::args::{Global, PluginCheck};
use crate::exit::Failure;
use crate::plugin_check::protocol::{CheckLine, Grade};
use crate::plugin_check::{checks, child};

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct CheckResult {
    /// The check's name.
    pub check: &'static str,
    /// The worst grade of its findings.
    pub grade: Grade,
    /// Its findings, the worst first.
    pub found: Vec<Finding>,
}

/// A finding.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub grade: Grade,
    pub text: String,
}

/// Runs the requested checks on a stage, one after the other, and passes each result to `each`. Ends early if the
/// stage can't be created.
///
/// # Errors
/// When no child can be started, or the error of `each`.
pub fn judge(
    global: &Global,
    args: &PluginCheck,
    stage: &str,
    mut each: impl FnMut(CheckResult) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let is_requested =
        |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    for check in checks::ALL.iter().filter(|check| is_requested(check.name)) {
        let output = child::run(global, args, check.name, Some(stage))?;
        let mut found: Vec<Finding> = output
            .lines
            .into_iter()
            .filter_map(|line| match line {
                CheckLine::Found(grade, text) => Some(Finding { grade, text }),
                _ => None,
            })
            .collect();
        found.extend(output.failure.map(|text| Finding {
            grade: Grade::Failed,
            text,
        }));
        if found.is_empty() {
            found.push(Finding {
                grade: Grade::Skipped,
                text: "there was nothing to check".to_owned(),
            });
        }
        found.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
        let grade = found.first().map_or(Grade::Skipped, |first| first.grade);
        each(CheckResult {
            check: check.name,
            grade,
            found,
        })?;
        if check.name == checks::CREATE && grade == Grade::Failed {
            break;
        }
    }
    Ok(())
}
