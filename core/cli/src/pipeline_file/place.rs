//! Where a pipeline's file is: at the path that was given or, for a name, in a folder of packaged pipelines.
//!
//! A pipeline file is a program. A name is never looked up in the working directory, and no file is taken that other
//! users can change.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use flowpipe_config::reader::{STANDARD_INPUT, suggest};
use flowpipe_host::library::write_access;

use crate::exit::Failure;

/// The variable with folders of pipelines, separated as in `PATH`.
const PATH_VARIABLE: &str = "FLOWPIPE_PIPELINE_PATH";

/// The most names that an error lists.
const LISTED: usize = 24;

/// The file of a pipeline: the path as it is, or the packaged pipeline of that name if it is a name. `-` is standard
/// input.
///
/// # Errors
/// When there is no pipeline of that name, or other users can change the first one. When there is no such file, but a
/// packaged pipeline of its name.
pub fn find(file: &Path) -> Result<PathBuf, Failure> {
    if cfg!(unix) && file == Path::new("-") {
        return Ok(STANDARD_INPUT.into());
    }
    match name(file) {
        Some(name) => find_in(name, &folders()),
        None => match meant(file, &folders()) {
            Some(name) => Err(Failure::Usage(format!(
                "{}: there is no such file (did you mean the packaged pipeline {name}?)",
                file.display()
            ))),
            None => Ok(file.to_owned()),
        },
    }
}

/// The packaged pipeline that is meant by the path of a missing file. Documents name the files of a checkout, such as
/// `pipelines/replay.toml`, which an installed program finds only by their names.
fn meant<'a>(file: &'a Path, folders: &[PathBuf]) -> Option<&'a str> {
    // In a folder that may not be searched, a file is not known to be missing.
    let is_missing =
        matches!(file.try_exists(), Ok(false)) && file.extension() == Some(OsStr::new("toml"));
    let name = file.file_stem().and_then(OsStr::to_str)?;
    (is_missing && find_in(name, folders).is_ok()).then_some(name)
}

/// The path as a name: one part without an extension.
fn name(file: &Path) -> Option<&str> {
    let mut parts = file.components();
    let (Some(Component::Normal(part)), None) = (parts.next(), parts.next()) else {
        return None;
    };
    // A separator at the end is no part.
    let is_name = part == file.as_os_str() && file.extension().is_none();
    part.to_str().filter(|_| is_name)
}

/// The folders, by precedence: [`PATH_VARIABLE`], then `pipelines` beside the program, `../share/flowpipe/pipelines`
/// (where packages install them), and, for a program in the target folder of a checkout, that of the checkout.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(path) = std::env::var_os(PATH_VARIABLE) {
        let given = std::env::split_paths(&path);
        folders.extend(given.filter(|folder| !folder.as_os_str().is_empty()));
    }
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    if let Some(home) = program.ok().as_deref().and_then(Path::parent) {
        folders.push(home.join("pipelines"));
        if let Some(prefix) = home.parent() {
            folders.push(prefix.join("share/flowpipe/pipelines"));
        }
        folders.extend(checkout(home).map(|checkout| checkout.join("pipelines")));
    }
    folders
}

/// The checkout in whose target folder the program's folder is.
fn checkout(home: &Path) -> Option<&Path> {
    // target/PROFILE, or target/TRIPLE/PROFILE.
    let mut near = home.ancestors().skip(1).take(2);
    let target = near.find(|folder| folder.file_name() == Some(OsStr::new("target")))?;
    let checkout = target.parent()?;
    checkout.join("Cargo.toml").is_file().then_some(checkout)
}

fn find_in(name: &str, folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    let mut files = folders
        .iter()
        .map(|folder| folder.join(format!("{name}.toml")));
    let Some(file) = files.find(|file| file.is_file()) else {
        return Err(Failure::Usage(unknown(name, folders)));
    };
    // A later one is not used in its place: it may do something else.
    match write_access::check(&file) {
        Ok(()) => Ok(file),
        Err(error) => Err(Failure::Usage(format!(
            "{name}: {} is not used: {error}",
            file.display()
        ))),
    }
}

/// The message for a name that no pipeline has.
fn unknown(name: &str, folders: &[PathBuf]) -> String {
    let names = names(folders);
    let local = Path::new(name).with_extension("toml");
    let hint = match suggest::closest(name, &names) {
        _ if Path::new(name).is_file() => format!(" (for the file of that name, write ./{name})"),
        _ if Path::new(name).is_dir() => " (there is a folder of that name)".to_owned(),
        _ if local.is_file() => format!(" (did you mean the file {}?)", local.display()),
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    };
    let there = match names.is_empty() {
        true => "no pipeline has a name".to_owned(),
        false => format!("the named pipelines are {}", names.join(", ")),
    };
    format!("{name}: there is no pipeline of that name{hint}; {there}")
}

/// The names of the pipelines that can be used.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().filter_map(|it| std::fs::read_dir(it).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let usable = paths.filter(|path| {
        let is_pipeline = path.extension() == Some(OsStr::new("toml")) && path.is_file();
        is_pipeline && write_access::check(path).is_ok()
    });
    let stems = usable.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<_> = stems.collect();
    names.sort();
    names.dedup();
    names.truncate(LISTED);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_without_an_extension() {
        for path in ["live", "my-pipeline", "Ä"] {
            assert_eq!(name(Path::new(path)), Some(path));
        }
        for path in [
            "live.toml",
            "a/live",
            "/live",
            "./live",
            "live/",
            "..",
            ".",
            "",
        ] {
            assert_eq!(name(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn the_first_folder_with_the_name_counts() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        for folder in [&first, &second] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(second.join("live.toml"), "").unwrap();
        std::fs::write(second.join("notes.txt"), "").unwrap();
        let folders = [first.clone(), second.clone(), folder.path().join("none")];
        let found = find_in("live", &folders).unwrap();
        assert_eq!(found, second.join("live.toml"));
        std::fs::write(first.join("live.toml"), "").unwrap();
        let found = find_in("live", &folders).unwrap();
        assert_eq!(found, first.join("live.toml"));
        std::fs::write(first.join("replay.toml"), "").unwrap();
        let error = find_in("lvie", &folders).unwrap_err().to_string();
        let expected = "lvie: there is no pipeline of that name (did you mean live?); \
                        the named pipelines are live, replay";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_missing_file_may_mean_a_packaged_pipeline() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path().join("live.toml");
        std::fs::write(&live, "").unwrap();
        let folders = [folder.path().to_owned()];
        let check = |path: &str, expected| assert_eq!(meant(Path::new(path), &folders), expected);
        check("pipelines/live.toml", Some("live"));
        check("live.toml", Some("live"));
        check("pipelines/other.toml", None);
        check("pipelines/live.mcap", None);
        check("pipelines/live", None);
        assert_eq!(meant(&live, &folders), None, "it is there");
    }

    /// Others could put a program there.
    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_change_is_not_used() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::write(open.join("live.toml"), "").unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        // Nor is another one of that name used instead.
        let other = folder.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("live.toml"), "").unwrap();
        let error = find_in("live", &[open, other]).unwrap_err().to_string();
        assert!(error.contains("other users can write to"), "{error}");
    }

    #[test]
    fn a_program_in_a_target_folder_knows_its_checkout() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        for home in ["target/debug", "target/x86_64-unknown-linux-gnu/release"] {
            let home = folder.path().join(home);
            assert_eq!(checkout(&home), Some(folder.path()));
        }
        for home in ["bin", "target", "target/debug/deps/more"] {
            assert_eq!(checkout(&folder.path().join(home)), None, "{home}");
        }
    }
}
