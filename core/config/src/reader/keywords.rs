//! The keywords of pipeline files: one place for reading, the JSON Schema and diagrams.

use crate::pipeline::{Isolation, OnError, OnStop, WhenFull};

/// An enumeration whose values have names in pipeline files.
pub trait Keyword: Copy + 'static {
    /// All values, the default first.
    const ALL: &'static [Self];

    /// The name in pipeline files.
    fn word(self) -> &'static str;

    /// What it does, for people.
    fn doc(self) -> &'static str;

    /// The value of that name.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

impl Keyword for WhenFull {
    const ALL: &'static [Self] = &[
        Self::Block,
        Self::DropOldest,
        Self::DropNewest,
        Self::Latest,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::DropOldest => "drop-oldest",
            Self::DropNewest => "drop-newest",
            Self::Latest => "latest",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Self::Block => "The sender waits.",
            Self::DropOldest => "The oldest queued message is dropped.",
            Self::DropNewest => "The new message is dropped.",
            Self::Latest => "Everything queued is dropped: only the newest message counts.",
        }
    }
}

impl Keyword for OnError {
    const ALL: &'static [Self] = &[Self::Stop, Self::Skip];

    fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Skip => "skip",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Self::Stop => "The run ends.",
            Self::Skip => "The message is dropped and counted, and the stage continues.",
        }
    }
}

impl Keyword for Isolation {
    const ALL: &'static [Self] = &[Self::Thread, Self::Process];

    fn word(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Process => "process",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Self::Thread => "On a thread of the program.",
            Self::Process => {
                "In its own process: a crash or a hang loses the current message, and the stage is restarted."
            }
        }
    }
}

impl Keyword for OnStop {
    const ALL: &'static [Self] = &[Self::Drain, Self::Drop];

    fn word(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Drop => "drop",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Self::Drain => "The queues are drained: only the sources end.",
            Self::Drop => "Queued messages are dropped and counted.",
        }
    }
}
