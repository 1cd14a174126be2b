//! The names of files that are not finished.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the name of an unfinished file ends in.
const SUFFIX: &str = "partial";
/// The most unfinished files of one name that are looked for.
const MOST: u32 = 1000;

/// The names of an unfinished file, in the order in which they are taken: `NAME.partial`, `NAME.2.partial` and so on.
pub(crate) fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..=MOST).map(move |number| {
        let mut name = OsString::from(path);
        name.push(match number {
            1 => format!(".{SUFFIX}"),
            _ => format!(".{number}.{SUFFIX}"),
        });
        name.into()
    })
}

/// What a crashed program left of a file that is not there: `NAME.partial`, of several the last. `None`: the file is
/// there, or nothing was left.
#[must_use]
pub fn left_of(path: &Path) -> Option<PathBuf> {
    if path.exists() {
        return None;
    }
    names(path).take_while(|path| path.exists()).last()
}

/// The path without the suffix of an unfinished file, for names made after it.
#[must_use]
pub fn without_suffix(path: &Path) -> PathBuf {
    if path.extension().is_none_or(|it| it != SUFFIX) {
        return path.to_owned();
    }
    let name = path.with_extension("");
    let number = name.extension().and_then(|it| it.to_str());
    match number.is_some_and(|it| it.parse::<u32>().is_ok()) {
        true => name.with_extension(""),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_and_unmade() {
        let names: Vec<_> = names(Path::new("a/b.mcap")).take(2).collect();
        let wanted = ["a/b.mcap.partial", "a/b.mcap.2.partial"].map(PathBuf::from);
        assert_eq!(names, wanted);
        for name in names {
            assert_eq!(without_suffix(&name), Path::new("a/b.mcap"));
        }
        for plain in ["a/b.mcap", "b", "b.2"] {
            assert_eq!(without_suffix(Path::new(plain)), Path::new(plain));
        }
    }
}
