//! The processes that this one descends from.

use std::path::PathBuf;

/// The most ancestors that are listed.
const MOST: usize = 64;

/// Returns this process and those that it descends from, the nearest first: flowpipe, the shell, the terminal. The list
/// ends early where the system does not report the parent of a process in `/proc`.
#[must_use]
pub fn lineage() -> Vec<u32> {
    let mut lineage = vec![std::process::id()];
    while lineage.len() < MOST {
        let child = lineage.last().copied().unwrap_or_default();
        match parent(child) {
            // A loop: a number was used again while this ran.
            Some(parent) if parent > 0 && !lineage.contains(&parent) => lineage.push(parent),
            _ => break,
        }
    }
    lineage
}

/// The file that names the parent of a process.
#[must_use]
pub fn stat_file(process: u32) -> PathBuf {
    format!("/proc/{process}/stat").into()
}

fn parent(process: u32) -> Option<u32> {
    parent_in(&std::fs::read_to_string(stat_file(process)).ok()?)
}

/// The parent in the text of a `stat` file: the second field after the command's name, which is in brackets and may
/// contain brackets and spaces itself.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_be_named_like_a_field() {
        assert_eq!(parent_in("42 (a) 1 S 7 (b)) S 17 42 0"), Some(17));
        assert_eq!(parent_in("42 (sh) S 1 42"), Some(1));
        assert_eq!(parent_in("42 sh"), None);
        assert_eq!(parent_in(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_follows_the_process() {
        let lineage = lineage();
        assert_eq!(
            lineage[..2],
            [std::process::id(), std::os::unix::process::parent_id()]
        );
    }
}
