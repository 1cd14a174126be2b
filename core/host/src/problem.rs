//! What went wrong in a run: always which stage, which plugin and which message.

use std::fmt;

use serde::Serialize;

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind of thing.
    pub kind: ProblemKind,
    /// The stage's name in the pipeline.
    pub stage: String,
    /// The plugin's name.
    pub plugin: String,
    /// The message in hand; none for a source, at the end of the stream and outside `process`.
    pub message: Option<MessageId>,
    /// What happened, in words.
    pub text: String,
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The plugin said that it failed, or answered with something that is no status.
    Failed,
    /// The plugin emitted something that can't move on: not JSON, wrong schema, refused by a check.
    BadMessage,
    /// The work took longer than the stage's timeout.
    TimedOut,
    /// The plugin sits on a message: a warning, it may still answer.
    Slow,
    /// The plugin did not come back after its work was cancelled, and was given up.
    Hang,
    /// The plugin's process has ended.
    Crashed,
    /// The stage could not be made anew.
    Replace,
}

impl ProblemKind {
    /// Its name, as reports and recordings have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::BadMessage => "bad-message",
            Self::TimedOut => "timed-out",
            Self::Slow => "slow",
            Self::Hang => "hang",
            Self::Crashed => "crashed",
            Self::Replace => "replace",
        }
    }
}

/// Which message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageId {
    /// The input that it came by.
    pub port: String,
    /// Its number.
    pub sequence: u64,
    /// The number of the frame that it descends from; 0: none.
    pub frame: u64,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage \"{}\"", self.stage)?;
        if self.plugin != self.stage {
            write!(f, " ({})", self.plugin)?;
        }
        if let Some(message) = &self.message {
            write!(f, ", {message}")?;
        }
        write!(f, ": {}", self.text)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} at \"{}\"", self.sequence, self.port)?;
        if self.frame != 0 {
            write!(f, " (frame {})", self.frame)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_who_and_what() {
        let mut problem = Problem {
            kind: ProblemKind::Failed,
            stage: "solver".into(),
            plugin: "solver-varisat".into(),
            message: Some(MessageId {
                port: "in".into(),
                sequence: 12,
                frame: 3,
            }),
            text: "out of luck".into(),
        };
        assert_eq!(
            problem.to_string(),
            "stage \"solver\" (solver-varisat), message 12 at \"in\" (frame 3): out of luck"
        );
        problem.message = None;
        problem.plugin = "solver".into();
        assert_eq!(problem.to_string(), "stage \"solver\": out of luck");
    }
}
