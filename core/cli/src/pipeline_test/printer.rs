//! Prints the results of tests.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use flowpipe_terminal::{escape, escape_indented, escaped};
use serde_json::{Value, json};

use super::TestFailure;
use super::execution::TestResult;
use super::listing::{ListedMessage, Listing, shortened};
use crate::show::colour::{self, BAD, GOOD};

/// Prints results as soon as they are known.
pub struct TestPrinter {
    /// As JSON Lines.
    pub json: bool,
    pub colours: bool,
}

impl TestPrinter {
    /// Prints the heading of a file, and returns the width of its tests' names.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn heading(&self, to: &mut dyn Write, file: &Path, text: &str) -> io::Result<()> {
        match self.json {
            true => Ok(()),
            false => writeln!(to, "{}: {text}", escaped(file.display())),
        }
    }

    /// Prints a result.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn result(
        &self,
        to: &mut dyn Write,
        file: &Path,
        (name, width): (&str, usize),
        result: &TestResult,
    ) -> io::Result<()> {
        let TestResult { findings, took } = result;
        let passed = findings.is_empty();
        if self.json {
            let line = json!({
                "file": file.display().to_string(),
                "test": name,
                "passed": passed,
                "took_ms": milliseconds(*took),
                "failures": findings,
            });
            return writeln!(to, "{line}");
        }
        let status = match passed {
            true => colour::paint("passed", GOOD, self.colours),
            false => colour::paint("FAILED", BAD, self.colours),
        };
        let name = escape(name);
        let padding = " ".repeat(width.saturating_sub(name.chars().count()));
        writeln!(
            to,
            "  {status}  {name}{padding}  {:>6.0} ms",
            milliseconds(*took)
        )?;
        for finding in findings {
            self.finding(to, file, finding)?;
        }
        Ok(())
    }

    fn finding(&self, to: &mut dyn Write, file: &Path, finding: &TestFailure) -> io::Result<()> {
        let at = finding.at;
        let text = format!(
            "{}:{}:{}: {}",
            file.display(),
            at.line,
            at.column,
            finding.message
        );
        writeln!(to, "    {}", escape_indented(&text))?;
        let value = |value: &Option<Value>| match value {
            Some(value) => shortened(&value.to_string()),
            None => "nothing".to_owned(),
        };
        let is_shown = finding.expected.is_some() || finding.found.is_some();
        if let Some(path) = &finding.path {
            writeln!(to, "      at        {}", escape(path))?;
        }
        if finding.path.is_some() || finding.expected.is_some() {
            writeln!(to, "      expected  {}", escape(&value(&finding.expected)))?;
        }
        if is_shown {
            writeln!(to, "      found     {}", escape(&value(&finding.found)))?;
        }
        self.listing(to, &finding.messages)
    }

    /// What was expected (`-`) and what was emitted (`+`) where that differs, and the messages around it.
    fn listing(&self, to: &mut dyn Write, listing: &Listing) -> io::Result<()> {
        for message in &listing.listed {
            let ListedMessage {
                number,
                passed,
                expected,
                found,
            } = message;
            let mut line = |sign: &str, colour, text: &str| {
                let line = format!("{sign} {number:>3}  {text}");
                let line = colour::paint(&line, colour, self.colours && sign != " ");
                writeln!(to, "      {line}")
            };
            if let (false, Some(expected)) = (passed, expected) {
                line("-", BAD, expected)?;
            }
            match found {
                Some(found) if *passed => line(" ", GOOD, found)?,
                Some(found) => line("+", GOOD, found)?,
                None => {}
            }
        }
        match listing.more {
            0 => Ok(()),
            1 => writeln!(to, "      … and 1 more message"),
            more => writeln!(to, "      … and {more} more messages"),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 10.0
}
