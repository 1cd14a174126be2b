//! Errors of recordings.

use std::path::PathBuf;

use crate::fault::Fault;

/// Why a recording can't be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file can't be created.
    #[error("can't create the recording {}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file can't be written: most often the disk is full.
    #[error("can't write the recording: {}", why(.0))]
    Write(#[from] mcap::McapError),
    /// The machine that records the run, or one on the way to it, takes nothing more.
    #[error("the machine that observes the run is gone")]
    Gone,
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::Write(mcap::McapError::Io(error))
    }
}

/// The library only reports that there was a system error; this is the error.
fn why(error: &mcap::McapError) -> &dyn std::fmt::Display {
    match error {
        mcap::McapError::Io(error) => error,
        other => other,
    }
}

/// Why a recording can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file can't be opened.
    #[error("can't open {}: {error}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It does not exist, but a partial file of a run that did not end does.
    #[error("{} does not exist; {} is the partial recording of a run that did not end: open that", path.display(), left.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// The partial file.
        left: PathBuf,
    },
    /// It does not start like an MCAP file.
    #[error("{} is no recording: it does not start like an MCAP file", path.display())]
    NotMcap {
        /// The file.
        path: PathBuf,
    },
    /// It is an MCAP file, but not of a run.
    #[error("{} is an MCAP file, but no recording of a run: {what}", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is missing or malformed.
        what: String,
    },
    /// It exceeds the limits for a recording of its size.
    #[error("{} can't be read: {fault}", path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// The entry that is too much.
        fault: Box<Fault>,
    },
    /// A picture can't be read.
    #[error("can't read the picture of {topic} {sequence}: {what}")]
    Picture {
        /// The topic of the message.
        topic: String,
        /// Its number.
        sequence: u64,
        /// What is wrong.
        what: String,
    },
}
