//! Puzzles that are not part of the project, if they are there.

use std::path::PathBuf;

use super::note;

/// A file of puzzles, from `$FLOWPIPE_SHARED/puzzles` or from the folder `shared` beside the project.
pub fn shared(file: &str) -> Option<String> {
    let folder = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("puzzles").join(file)).ok();
    if text.is_none() {
        note!("skipped: no {file} in {}", folder.display());
    }
    text
}
