//! What the tests of several crates share: puzzles and pictures that are not part of the project, and notes.
//!
//! These files are in the folder that `FLOWPIPE_SHARED` names, or in the folder `shared` beside the project. A test that
//! does not find its file prints a note and does nothing.

use std::path::{Path, PathBuf};

/// Prints a line past the test harness, which hides the output of passing tests.
#[macro_export]
macro_rules! note {
    ($($text:tt)+) => {{
        use ::std::io::Write as _;
        // A note that can't be printed is no reason for a test to fail.
        let _ = ::std::writeln!(::std::io::stderr(), $($text)+);
    }};
}

/// Returns the folder of the files that are not part of the project. It may not exist.
#[must_use]
pub fn shared_folder() -> PathBuf {
    std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    )
}

/// Returns the text of a file of puzzles. If there is none, it prints a note and returns `None`.
///
/// # Panics
/// When the file exists and can't be read.
#[must_use]
pub fn shared_puzzles(file: &str) -> Option<String> {
    let path = shared_folder().join("puzzles").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            note!("skipped: there is no {}", path.display());
            None
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
