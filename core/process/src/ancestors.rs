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
    // A name that is not UTF-8, or is cut inside of a character, is a name.
    let stat = std::fs::read(stat_file(process)).ok()?;
    parent_in(&String::from_utf8_lossy(&stat))
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
        let cut = String::from_utf8_lossy(b"42 (\xd0\xb0\xd0) S 17 42 0");
        assert_eq!(parent_in(&cut), Some(17));
        assert_eq!(parent_in("42 sh"), None);
        assert_eq!(parent_in(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_follows_the_process() {
        let mut lineage = lineage().into_iter();
        assert_eq!(lineage.next(), Some(std::process::id()));
        // The first process of a container has no parent there.
        let parent = Some(std::os::unix::process::parent_id()).filter(|parent| *parent > 0);
        assert_eq!(lineage.next(), parent);
    }
}
