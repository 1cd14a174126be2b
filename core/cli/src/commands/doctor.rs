//! `flowpipe doctor`: what prevents playing, and what to do about it.

use std::io::Write as _;

use flowpipe_terminal::{counted, escape_indented, stdout};
use serde_json::json;

use crate::args::{Doctor, Global};
use crate::doctor::{self, Diagnosis, Severity};
use crate::exit::{Ended, Failure};
use crate::show::colour::{self, BAD, GOOD, HEADING, QUIET, paint};

pub fn run(global: &Global, args: &Doctor) -> Result<Ended, Failure> {
    let findings = doctor::findings(global);
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let (problems, warnings) = (count(Severity::Problem), count(Severity::Warning));
    let mut out = stdout();
    if args.json {
        let all = json!({ "problems": problems, "warnings": warnings, "checks": findings });
        writeln!(out, "{all:#}")?;
    } else {
        let colours = colour::on_stdout(global);
        for finding in &findings {
            writeln!(out, "{}", text(finding, colours))?;
        }
        let (problems, warnings) = (counted(problems, "problem"), counted(warnings, "warning"));
        writeln!(out, "{problems}, {warnings}")?;
    }
    Ok(match problems {
        0 => Ended::Done,
        _ => Ended::Problem,
    })
}

/// A finding as lines: what was found, and below it what to do.
fn text(finding: &Diagnosis, colours: bool) -> String {
    let (word, style) = match finding.severity {
        Severity::Ok => ("ok", GOOD),
        Severity::Skipped => ("skip", QUIET),
        Severity::Warning => ("warning", HEADING),
        Severity::Problem => ("PROBLEM", BAD),
    };
    let word = paint(&format!("{word:<7}"), style, colours);
    let indent = " ".repeat(25);
    let lines = |text: &str| escape_indented(text).replace('\n', &format!("\n{indent}"));
    let mut text = format!("{word}  {:<14}  {}", finding.check, lines(&finding.found));
    if let Some(advice) = &finding.advice {
        text += &format!("\n{indent}-> {}", lines(advice));
    }
    text
}
