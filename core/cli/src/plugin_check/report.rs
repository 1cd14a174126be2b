//! Prints the results of the checks.

use std::io::Write;

use flowpipe_config::manifest::Manifest;
use flowpipe_terminal::escape;
use serde_json::json;

use crate::exit::Failure;
use crate::plugin_check::judge::CheckResult;
use crate::plugin_check::protocol::Grade;
use crate::show::colour::{BAD, GOOD, HEADING, QUIET, paint};

/// Prints the result of one check.
///
/// # Errors
/// When it can't be written.
pub fn print(out: &mut impl Write, result: &CheckResult, colours: bool) -> Result<(), Failure> {
    let (word, style) = match result.grade {
        Grade::Skipped => ("skip", QUIET),
        Grade::Passed => ("ok", GOOD),
        Grade::Warned => ("warn", HEADING),
        Grade::Failed => ("FAIL", BAD),
    };
    let mut name = format!(
        "  {}  {:<10}",
        paint(&format!("{word:<4}"), style, colours),
        result.check
    );
    for found in &result.found {
        // Passed findings are not printed beside worse ones.
        if found.grade == Grade::Passed && result.grade > Grade::Passed {
            continue;
        }
        let mut lines = found.text.lines();
        writeln!(out, "{name}  {}", escape(lines.next().unwrap_or_default()))?;
        for line in lines {
            writeln!(out, "{:20}{}", "", paint(line, QUIET, colours))?;
        }
        name = " ".repeat(18);
    }
    Ok(())
}

/// The results of one stage.
pub struct StageResult {
    pub manifest: Manifest,
    pub results: Vec<CheckResult>,
    /// Why it was not checked.
    pub skipped: Option<String>,
}

/// Prints all results of a file's stages as JSON.
///
/// # Errors
/// When it can't be written.
pub fn print_json(
    out: &mut impl Write,
    file: &std::path::Path,
    stages: &[StageResult],
) -> Result<(), Failure> {
    let stages: Vec<_> = stages
        .iter()
        .map(|stage| {
            let mut value = json!({ "manifest": stage.manifest, "checks": stage.results });
            if let Some(reason) = &stage.skipped {
                value["not_tried"] = json!(reason);
            }
            value
        })
        .collect();
    writeln!(out, "{:#}", json!({ "file": file, "stages": stages }))?;
    Ok(())
}
