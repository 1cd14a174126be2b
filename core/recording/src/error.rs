//! What can go wrong with a recording.

use std::path::PathBuf;

use crate::scan::Fault;

/// Why a recording can't be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file can't be made.
    #[error("can't make the recording {}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file can't be written on: a full disk, most often.
    #[error("can't write the recording: {}", why(.0))]
    Write(#[from] mcap::McapError),
}

/// Of the system's errors the library only says that there was one.
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
    /// It is not there, but what a run has left of it that did not end.
    #[error("{} is not there; {} is what a run has left that did not end: open that", path.display(), left.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// What there is of it.
        left: PathBuf,
    },
    /// It does not begin as MCAP files do.
    #[error("{} is no recording: it does not begin as an MCAP file does", path.display())]
    NotMcap {
        /// The file.
        path: PathBuf,
    },
    /// It is an MCAP file, but not of a run.
    #[error("{} is an MCAP file, but no recording of a run: {what}", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is missing or can't be read.
        what: String,
    },
    /// There is more in it than a recording of its size has.
    #[error("{} can't be read: {fault}", path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// Which entry is too much.
        fault: Box<Fault>,
    },
    /// A picture can't be had.
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
