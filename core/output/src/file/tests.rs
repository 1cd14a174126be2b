#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::fs;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_there_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(file);
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    write(&path, "new").unwrap();
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_file_that_grows_outlives_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut first = OutputFile::growing(&path).unwrap();
    first.write_all(b"first").unwrap();
    first.show().unwrap();
    first.keep();
    assert_eq!(names(folder.path()), ["a.partial"]);
    // Its writer is gone without a word.
    drop(first);
    assert_eq!(
        partial::left_of(&path),
        Some(folder.path().join("a.partial"))
    );

    let mut second = OutputFile::growing(&path).unwrap();
    second.write_all(b"second").unwrap();
    second.show().unwrap();
    assert_eq!(names(folder.path()), ["a.2.partial", "a.partial"]);
    second.commit().unwrap();
    assert_eq!(names(folder.path()), ["a", "a.partial"]);
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(fs::read(folder.path().join("a.partial")).unwrap(), b"first");
    assert_eq!(partial::left_of(&path), None);
}

#[test]
fn one_name_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut first = OutputFile::growing(&path).unwrap();
    let mut late = OutputFile::growing(&path).unwrap();
    first.show().unwrap();
    for error in [
        OutputFile::growing(&path).map(drop).unwrap_err(),
        late.show().unwrap_err(),
    ] {
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
    }
    drop(late);
    // As long as any part of the program writes.
    let part = first.file().unwrap();
    first.commit().unwrap();
    drop(part);
    OutputFile::growing(&path).unwrap().discard();
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn what_came_to_nothing_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    drop(OutputFile::growing(&path).unwrap());
    let mut shown = OutputFile::growing(&path).unwrap();
    shown.show().unwrap();
    shown.keep();
    shown.discard();
    let mut unwanted = OutputFile::growing(&path).unwrap();
    unwanted.show().unwrap();
    drop(unwanted);
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let error = write(&folder.path().join("none").join("a"), "").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(write(folder.path(), "").is_err(), "a folder");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    symlink("deep/a", at("link")).unwrap();
    // One that leads nowhere yet.
    write(&at("link"), "1").unwrap();
    fs::set_permissions(at("deep/a"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink(at("link"), at("to link")).unwrap();
    write(&at("to link"), "2").unwrap();
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(fs::read(at("deep/a")).unwrap(), b"2");
    let mode = fs::metadata(at("deep/a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(names(&at("deep")), ["a"]);

    symlink("loop", at("loop")).unwrap();
    assert!(write(&at("loop"), "").is_err());
    assert!(crate::is_same(&at("link"), &at("deep/a")));
    assert!(!crate::is_same(&at("link"), &at("none")));
}

#[cfg(unix)]
#[test]
fn unknown_names_lead_nowhere_else() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str| {
        let mut file = OutputFile::create_derived(&at(name))?;
        file.write_all(b"new")?;
        file.commit()
    };
    fs::write(at("a"), "old").unwrap();
    write("a").unwrap();
    write("b").unwrap();
    for name in ["a", "b"] {
        assert_eq!(fs::read(at(name)).unwrap(), b"new");
    }
    fs::write(at("theirs"), "theirs").unwrap();
    symlink("theirs", at("link")).unwrap();
    symlink("none", at("leads nowhere")).unwrap();
    fifo(&at("pipe"));
    fs::create_dir(at("folder")).unwrap();
    for name in ["link", "leads nowhere", "pipe", "folder"] {
        let error = write(name).unwrap_err().to_string();
        assert!(error.contains("give the name of a file"), "{error}");
    }
    assert_eq!(fs::read(at("theirs")).unwrap(), b"theirs");
    let all = [
        "a",
        "b",
        "folder",
        "leads nowhere",
        "link",
        "pipe",
        "theirs",
    ];
    assert_eq!(names(folder.path()), all);
}

/// A search for other writers does not block.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_an_unfinished_file_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    fifo(&folder.path().join("a.partial"));
    let mut file = OutputFile::growing(&folder.path().join("a")).unwrap();
    file.show().unwrap();
    assert_eq!(names(folder.path()), ["a.2.partial", "a.partial"]);
    file.commit().unwrap();
    assert_eq!(names(folder.path()), ["a", "a.partial"]);
}

#[cfg(unix)]
fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode};

    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[cfg(unix)]
#[test]
fn devices_are_written_as_they_are() {
    write(Path::new("/dev/null"), "x").unwrap();
    let mut file = OutputFile::growing(Path::new("/dev/null")).unwrap();
    file.show().unwrap();
    assert_eq!(file.lies_at(), None);
    file.commit().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    #[cfg(target_os = "linux")]
    {
        let error = write(Path::new("/dev/full"), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn open_files_of_the_program_are_written_as_they_are() {
    use std::os::fd::AsRawFd as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "first ").unwrap();
    let open = File::open(&path).unwrap();
    write(
        Path::new(&format!("/dev/fd/{}", open.as_raw_fd())),
        "second",
    )
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first second");
}

#[cfg(unix)]
#[test]
fn a_derived_file_that_grows_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let (precious, link) = (folder.path().join("precious"), folder.path().join("a"));
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink("precious", &link).unwrap();
    let error = OutputFile::growing_derived(&link).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    let plain = folder.path().join("b");
    let mut file = OutputFile::growing_derived(&plain).unwrap();
    file.write_all(b"whole").unwrap();
    file.show().unwrap();
    assert_eq!(names(folder.path()), ["a", "b.partial", "precious"]);
    assert!(OutputFile::growing_derived(&plain).is_err(), "two writers");
    file.commit().unwrap();
    assert_eq!(fs::read(&plain).unwrap(), b"whole");
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

/// Until it is renamed, a new file can be opened only by who may open the file that it replaces.
#[cfg(unix)]
#[test]
fn an_unfinished_file_has_the_permissions_of_what_it_replaces() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let hidden_mode = |path: &Path| {
        let (_, now) = hidden(path, mode(&fs::metadata(path).unwrap())).unwrap();
        let mode = fs::metadata(&now).unwrap().permissions().mode() & 0o777;
        fs::remove_file(&now).unwrap();
        forget_hidden(&now);
        mode
    };
    let path = folder.path().join("secret");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(hidden_mode(&path), 0o600);
    // The name of a derived file is known before it exists.
    let derived = folder.path().join("derived");
    let file = OutputFile::create_derived(&derived).unwrap();
    let shown = file.file().unwrap().metadata().unwrap();
    assert_eq!(shown.permissions().mode() & 0o133, 0);
}

#[test]
fn a_new_name_is_one_that_nothing_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("1"), "other").unwrap();
    let commit = |names: &[&str]| {
        let mut file = OutputFile::create_whole(&path("1")).unwrap();
        file.write_all(b"new").unwrap();
        file.commit_new(names.iter().map(|name| path(name)))
    };
    assert_eq!(commit(&["1", "2", "3"]).unwrap(), path("2"));
    assert_eq!(fs::read(path("1")).unwrap(), b"other");
    assert_eq!(fs::read(path("2")).unwrap(), b"new");
    let error = commit(&["1", "2"]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(names(folder.path()), ["1", "2"]);
}
