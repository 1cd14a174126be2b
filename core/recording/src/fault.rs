//! What is wrong with a recording, and where.

use std::fmt;

use mcap::MAGIC;

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The start of its chunk, or of its own record, in the file.
    pub at: usize,
    /// The position in the unpacked chunk, if it is in one.
    pub within: Option<usize>,
}

/// A malformed entry, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The topic, or the attachment's name.
    pub topic: String,
    /// Where it is.
    pub place: Place,
    /// What is wrong with it.
    pub what: String,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            at: MAGIC.len(),
            within: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            None => write!(f, "byte {}", self.at),
            Some(within) => write!(f, "byte {within} of the chunk at byte {}", self.at),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.topic, self.place, self.what)
    }
}
