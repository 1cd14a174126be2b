//! One call of a stage: cancelled when its time is over, and what came of it.

use std::time::{Duration, Instant};

use flowpipe_engine::trial::{End, Trial, Tried};

use crate::plugin_check::checks::cancel;
use crate::plugin_check::samples::{Sample, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// So long a check goes through its boards for the first time; what is beyond is left out.
const ENOUGH: Duration = Duration::from_secs(10);

/// What came of a call.
pub struct Answer {
    pub end: End,
    /// What it emitted: output, schema and body.
    pub told: Vec<String>,
    /// Whether it had to be cancelled.
    pub late: bool,
}

impl Answer {
    fn of((tried, late): (Tried, bool)) -> Self {
        Self {
            told: told(&tried),
            end: tried.end,
            late,
        }
    }

    /// That it panicked, in words.
    pub fn panic(&self) -> Option<&str> {
        match &self.end {
            End::Panicked(text) => Some(text),
            _ => None,
        }
    }

    /// That it failed, in words. What was cancelled may fail, but not panic.
    pub fn fault(&self) -> Option<&str> {
        match &self.end {
            End::Panicked(text) => Some(text),
            End::Failed(_, text) if !self.late => Some(text),
            _ => None,
        }
    }
}

/// What came of a call, to be held against what came of another.
pub fn told(tried: &Tried) -> Vec<String> {
    let emitted = tried.emitted.iter();
    emitted
        .map(|(port, it)| format!("{port} {} {}", it.schema(), it.json()))
        .collect()
}

/// Puts a message to a stage.
pub fn message(subject: &Subject, trial: &mut Trial, port: usize, message: &Sendable) -> Answer {
    let frame = message.frame(trial);
    let json = message.body.to_string();
    let (tried, late) = cancel::within(subject.patience, trial, |trial| {
        trial.message(port, &message.schema, json.as_bytes(), frame)
    });
    match tried {
        Ok(tried) => Answer::of((tried, late)),
        // The body is JSON: it was made here.
        Err(_) => Answer {
            end: End::Fine,
            told: Vec::new(),
            late,
        },
    }
}

/// Lets a source produce.
pub fn tick(subject: &Subject, trial: &mut Trial) -> Answer {
    Answer::of(cancel::within(subject.patience, trial, Trial::tick))
}

/// Puts boards to a stage, one after the other, and tells of each with `how`. It ends early after one that is not
/// answered in time, and, `first` time, when it takes too long: what was not asked has no answer.
pub fn all(
    subject: &Subject,
    tell: &Teller,
    trial: &mut Trial,
    messages: &[(&Sample, Sendable)],
    how: &str,
    first: bool,
) -> Vec<Answer> {
    let began = Instant::now();
    let mut answers = Vec::new();
    for (board, sendable) in messages {
        tell.doing(format!("answering {}{how}", board.name));
        let answer = message(subject, trial, 0, sendable);
        let late = answer.late;
        answers.push(answer);
        if late || (first && began.elapsed() > ENOUGH) {
            break;
        }
    }
    answers
}
