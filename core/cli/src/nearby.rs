//! Files with similar names, for messages about files that are missing.

use std::path::{Path, PathBuf};

use flowpipe_config::reader::suggest;

/// The most files of a folder that are compared.
const COMPARED: usize = 4096;

/// The file in the same folder that was probably meant by the path of a missing one: with another extension, or with a
/// similar name.
pub fn similar(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let here = Path::new(".");
    let listed = match folder.as_os_str().is_empty() {
        true => here,
        false => folder,
    };
    let entries = std::fs::read_dir(listed).ok()?.flatten().take(COMPARED);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|it| it != name).collect();
    names.sort();
    let stem = |name: &str| Path::new(name).file_stem().map(ToOwned::to_owned);
    let mut same_stems = names.iter().filter(|it| stem(it) == stem(name));
    let found = match (same_stems.next(), same_stems.next()) {
        (Some(only), None) => only.as_str(),
        _ => suggest::closest(name, &names)?,
    };
    Some(folder.join(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_or_another_extension_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["replay.toml", "live.toml", "board.png"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |name: &str, expected: Option<&str>| {
            let expected = expected.map(|it| folder.path().join(it));
            assert_eq!(similar(&folder.path().join(name)), expected, "{name}");
        };
        check("replai.toml", Some("replay.toml"));
        check("live", Some("live.toml"));
        check("board.jpg", Some("board.png"));
        check("something.else", None);
        check("hoard.gif", None);
        check("a.toml", None);
        assert_eq!(similar(Path::new("/no/such/folder/a")), None);
        assert_eq!(similar(Path::new("Cargo.tml")), Some("Cargo.toml".into()));
    }
}
