//! One call of a stage, cancelled at the timeout, and its result.

use std::time::{Duration, Instant};

use flowpipe_engine::trial::{CallEnd, Trial, TrialResult};

use crate::plugin_check::checks::cancel;
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::SampleMessage;
use crate::plugin_check::subject::Subject;

/// The time limit for the messages of a first pass; the rest is skipped.
const ENOUGH: Duration = Duration::from_secs(10);

/// The result of a call.
pub struct CallResult {
    pub end: CallEnd,
    /// The emitted messages: output, schema and body.
    pub emitted: Vec<String>,
    /// Whether it was cancelled.
    pub late: bool,
}

impl CallResult {
    fn of((tried, late): (TrialResult, bool)) -> Self {
        Self {
            emitted: emitted(&tried),
            end: tried.end,
            late,
        }
    }

    /// The text of its panic.
    pub fn panic(&self) -> Option<&str> {
        match &self.end {
            CallEnd::Panicked(text) => Some(text),
            _ => None,
        }
    }

    /// The text of its failure. A cancelled call may fail, but not panic.
    pub fn fault(&self) -> Option<&str> {
        match &self.end {
            CallEnd::Panicked(text) => Some(text),
            CallEnd::Failed(_, text) if !self.late => Some(text),
            _ => None,
        }
    }
}

/// The emitted messages of a call, for comparison.
pub fn emitted(tried: &TrialResult) -> Vec<String> {
    let emitted = tried.emitted.iter();
    emitted
        .map(|(port, it)| format!("{port} {} {}", it.schema(), it.json()))
        .collect()
}

/// Passes a message to a stage.
pub fn message(
    subject: &Subject,
    trial: &mut Trial,
    port: usize,
    message: &SampleMessage,
) -> CallResult {
    let frame = message.frame(trial);
    let json = message.body.to_string();
    let (tried, late) = cancel::within(subject.timeout, trial, |trial| {
        trial.message(port, &message.schema, json.as_bytes(), frame)
    });
    match tried {
        Ok(tried) => CallResult::of((tried, late)),
        // The body is valid JSON.
        Err(_) => CallResult {
            end: CallEnd::Fine,
            emitted: Vec::new(),
            late,
        },
    }
}

/// Runs one tick of a source.
pub fn tick(subject: &Subject, trial: &mut Trial) -> CallResult {
    CallResult::of(cancel::within(subject.timeout, trial, Trial::tick))
}

/// Passes messages to a stage, and reports each with the suffix `how`. Ends early after a timeout, and, in the `first`
/// pass, at the time limit.
pub fn all(
    subject: &Subject,
    report: &Reporter,
    trial: &mut Trial,
    messages: &[SampleMessage],
    how: &str,
    first: bool,
) -> Vec<CallResult> {
    let began = Instant::now();
    let mut answers = Vec::new();
    for sendable in messages {
        report.doing(format!("answering {}{how}", sendable.name));
        let answer = message(subject, trial, 0, sendable);
        let late = answer.late;
        answers.push(answer);
        if late || (first && began.elapsed() > ENOUGH) {
            break;
        }
    }
    answers
}
