//! What the user sees of the checks.

use std::io::Write;

use flowpipe_config::manifest::Manifest;
use flowpipe_terminal::escape;
use serde_json::json;

use crate::exit::Failure;
use crate::plugin_check::judge::Verdict;
use crate::plugin_check::telling::Grade;
use crate::show::colour::{BAD, GOOD, HEADING, QUIET, paint};

/// Prints one check's verdict.
///
/// # Errors
/// When it can't be written.
pub fn print(out: &mut impl Write, verdict: &Verdict, colours: bool) -> Result<(), Failure> {
    let (word, style) = match verdict.grade {
        Grade::Skipped => ("skip", QUIET),
        Grade::Passed => ("ok", GOOD),
        Grade::Warned => ("warn", HEADING),
        Grade::Failed => ("FAIL", BAD),
    };
    let mut name = format!(
        "  {}  {:<10}",
        paint(&format!("{word:<4}"), style, colours),
        verdict.check
    );
    for found in &verdict.found {
        // What is fine needs no words beside what is not.
        if found.grade == Grade::Passed && verdict.grade > Grade::Passed {
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

/// What became of one stage.
pub struct Tried {
    pub manifest: Manifest,
    pub verdicts: Vec<Verdict>,
    /// What it would need to be tried.
    pub lacks: Option<String>,
}

/// Prints all verdicts of a file's stages as JSON.
///
/// # Errors
/// When it can't be written.
pub fn print_json(
    out: &mut impl Write,
    file: &std::path::Path,
    stages: &[Tried],
) -> Result<(), Failure> {
    let stages: Vec<_> = stages
        .iter()
        .map(|tried| {
            let mut told = json!({ "manifest": tried.manifest, "checks": tried.verdicts });
            if let Some(lacks) = &tried.lacks {
                told["not_tried"] = json!(lacks);
            }
            told
        })
        .collect();
    writeln!(out, "{:#}", json!({ "file": file, "stages": stages }))?;
    Ok(())
}
