//! Opens a recording, and logs what is wrong with it.

use std::path::Path;

use flowpipe_recording::{Limits, ReadError, Recording};
use flowpipe_terminal::{counted, was};

use crate::exit::Failure;
use crate::line_budget::shortened;
use crate::outputs;

/// Opens a recording. Logs a warning if it ends early.
///
/// # Errors
/// When it can't be opened, or is not a recording.
pub fn open(path: &Path, limits: Limits) -> Result<Recording, Failure> {
    outputs::note_input(path);
    let recording = Recording::open_within(path, limits).map_err(|error| match error {
        ReadError::Open { path, error } => Failure::File {
            path: path.display().to_string(),
            error,
        },
        unfinished @ ReadError::Unfinished { .. } => Failure::Usage(unfinished.to_string()),
        other => Failure::BadText(other.to_string()),
    })?;
    if recording.is_cut_off() {
        let why = recording.noted_end().map_or_else(
            || "the program that wrote it was killed, or the file is damaged".to_owned(),
            shortened,
        );
        tracing::warn!("{} ends early: {why}", path.display());
    }
    if let Some(fault) = recording.first_unreadable() {
        tracing::warn!(
            "{} of {} can't be read and {} skipped; the first: {fault}",
            counted(recording.unreadable(), "entry"),
            path.display(),
            was(recording.unreadable())
        );
    }
    Ok(recording)
}
