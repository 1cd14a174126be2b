//! The parent's side: what became of each check.

use serde::Serialize;

use crate::args::PluginCheck;
use crate::exit::Failure;
use crate::plugin_check::telling::{Grade, Line};
use crate::plugin_check::{checks, child};

/// What one check found.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The check's name.
    pub check: &'static str,
    /// The worst that it found.
    pub grade: Grade,
    /// What it found, the worst first.
    pub found: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub grade: Grade,
    pub text: String,
}

/// Runs the checks on a stage that are asked for, one after the other, and hands each verdict to `each`. One that
/// can't be made is checked no further.
///
/// # Errors
/// When no child can be started, or what `each` says.
pub fn judge(
    args: &PluginCheck,
    stage: &str,
    mut each: impl FnMut(Verdict) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let asked = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    for check in checks::ALL.iter().filter(|check| asked(check.name)) {
        let heard = child::run(args, check.name, Some(stage))?;
        let mut found: Vec<Finding> = heard
            .lines
            .into_iter()
            .filter_map(|line| match line {
                Line::Found(grade, text) => Some(Finding { grade, text }),
                _ => None,
            })
            .collect();
        found.extend(heard.died.map(|text| Finding {
            grade: Grade::Failed,
            text,
        }));
        if found.is_empty() {
            found.push(Finding {
                grade: Grade::Skipped,
                text: "there was nothing to try".to_owned(),
            });
        }
        found.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
        let grade = found.first().map_or(Grade::Skipped, |first| first.grade);
        each(Verdict {
            check: check.name,
            grade,
            found,
        })?;
        if check.name == checks::MAKE && grade == Grade::Failed {
            break;
        }
    }
    Ok(())
}
