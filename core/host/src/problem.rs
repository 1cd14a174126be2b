//! Problems of a run, each with its stage, plugin and message.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// The stage's name in the pipeline.
    pub stage: String,
    /// The plugin's name.
    pub plugin: String,
    /// The current message; none for a source, at the end of the stream and outside `process`.
    pub message: Option<MessageId>,
    /// A description.
    pub text: String,
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The plugin reported a failure, or returned something that is no status.
    Failed,
    /// The plugin emitted something that can't be sent on: not JSON, wrong schema, refused by a check.
    BadMessage,
    /// The work took longer than the stage's timeout.
    TimedOut,
    /// The plugin takes long for a message: a warning, it may still finish.
    Slow,
    /// The plugin did not return after its work was cancelled, and was abandoned.
    Hang,
    /// The plugin's process has ended.
    Crashed,
    /// The stage could not be restarted.
    RestartFailed,
}

impl ProblemKind {
    /// Its name, in reports and recordings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::BadMessage => "bad-message",
            Self::TimedOut => "timed-out",
            Self::Slow => "slow",
            Self::Hang => "hang",
            Self::Crashed => "crashed",
            Self::RestartFailed => "restart-failed",
        }
    }
}

/// The id of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageId {
    /// Its input.
    pub port: String,
    /// Its number.
    pub sequence: u64,
    /// The number of the frame that it descends from; 0: none.
    pub frame: u64,
    /// Where that frame comes from, such as a file, if who shows the problem knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
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
        match (self.frame, &self.source) {
            (0, _) => Ok(()),
            (frame, None) => write!(f, " (frame {frame})"),
            (frame, Some(source)) => write!(f, " (frame {frame}: {source})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stage_plugin_and_message() {
        let mut problem = Problem {
            kind: ProblemKind::Failed,
            stage: "solver".into(),
            plugin: "solver-varisat".into(),
            message: Some(MessageId {
                port: "in".into(),
                sequence: 12,
                frame: 3,
                source: None,
            }),
            text: "out of luck".into(),
        };
        assert_eq!(
            problem.to_string(),
            "stage \"solver\" (solver-varisat), message 12 at \"in\" (frame 3): out of luck"
        );
        if let Some(message) = &mut problem.message {
            message.source = Some("a.png".into());
        }
        assert!(problem.to_string().contains("(frame 3: a.png)"));
        problem.message = None;
        problem.plugin = "solver".into();
        assert_eq!(problem.to_string(), "stage \"solver\": out of luck");
    }
}
