//! The program that runs the pipeline of which a process runs a stage.

#![cfg(unix)]

use std::os::unix::process::parent_id;

/// The variable that holds the number of the program in the processes of its isolated stages.
pub const VARIABLE: &str = "FLOWPIPE_HOST_PROCESS";

/// The number of the program's process: the parent of the process of an isolated stage, otherwise this process. The same
/// for all stages of a run.
#[must_use]
pub fn process() -> u32 {
    let variable = std::env::var(VARIABLE).ok();
    of(variable.as_deref(), parent_id(), std::process::id())
}

/// What a stage starts inherits the variable, and is no stage.
fn of(variable: Option<&str>, parent: u32, own: u32) -> u32 {
    let named: Option<u32> = variable.and_then(|it| it.parse().ok());
    named.filter(|it| *it == parent).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_host_only_where_it_says_so() {
        assert_eq!(of(Some("7"), 7, 9), 7);
        for variable in [None, Some("8"), Some(""), Some("x")] {
            assert_eq!(of(variable, 7, 9), 9, "{variable:?}");
        }
    }
}
