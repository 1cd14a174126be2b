//! What is loaded, and what is refused and why: real libraries, most of them bad.

use std::path::PathBuf;

use flowpipe_config::reader::Plugins;
use flowpipe_host::catalogue::Catalogue;
use tempfile::TempDir;

use crate::common::compile;
use crate::manifests::scanner;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The reason for which the only library of a folder is refused.
fn reason(folder: &TempDir) -> String {
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &scanner());
    assert!(catalogue.stages().is_empty(), "{:?}", catalogue.stages());
    let all: Vec<_> = catalogue
        .refused()
        .iter()
        .chain(catalogue.not_plugins())
        .collect();
    assert_eq!(all.len(), 1, "{all:?}");
    let refused = all[0];
    assert!(refused.path.starts_with(folder.path()), "the file is named");
    refused.reason.clone()
}

/// The reason for which `bad.c` with these definitions is refused.
fn bad(defines: &[&str]) -> String {
    let folder = folder();
    compile("bad.c", folder.path(), "bad", defines);
    reason(&folder)
}

/// A file that is no library, named like one.
fn file(content: &[u8]) -> String {
    let folder = folder();
    let name = format!("libfile{}", std::env::consts::DLL_SUFFIX);
    std::fs::write(folder.path().join(name), content).expect("it is written");
    reason(&folder)
}

#[test]
fn the_bad_fixture_is_good_as_it_is() {
    let folder = folder();
    compile("bad.c", folder.path(), "bad", &[]);
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &scanner());
    assert_eq!(catalogue.refused(), []);
    assert_eq!(catalogue.names(), ["fine"]);
}

#[test]
fn a_file_that_was_replaced_is_loaded_beside_the_old_one() {
    let (folder, bench) = (folder(), folder());
    let place = compile("bad.c", folder.path(), "bad", &[]);
    let scan = || Catalogue::scan(&[folder.path().to_owned()], &scanner());
    let replace = |defines: &[&str]| {
        let new = compile("bad.c", bench.path(), "bad", defines);
        std::fs::rename(new, &place).expect("it is moved");
    };
    assert_eq!(scan().names(), ["fine"]);
    replace(&["MAJOR=7"]);
    assert_eq!(
        reason(&folder),
        "made for flowpipe ABI 7.1, this flowpipe has 0.1"
    );
    replace(&[]);
    let catalogue = scan();
    assert_eq!(catalogue.names(), ["fine"]);
    assert_eq!(
        catalogue.stages()[0].path,
        place,
        "it is listed under its own path"
    );
    let left = std::fs::read_dir(folder.path()).expect("it is listed");
    assert_eq!(left.count(), 1, "copies are removed");
}

#[test]
fn other_versions_are_refused_with_both_numbers() {
    assert_eq!(
        bad(&["MAJOR=7"]),
        "made for flowpipe ABI 7.1, this flowpipe has 0.1"
    );
    assert_eq!(
        bad(&["MINOR=9"]),
        "made for flowpipe ABI 0.9, this flowpipe has 0.1"
    );
}

#[test]
fn what_is_no_plugin_is_refused() {
    assert_eq!(
        bad(&["SYMBOL=other"]),
        "not a flowpipe plugin: it exports no `flowpipe_entry`"
    );
    assert!(bad(&["MAGIC=1"]).contains("another magic"));
    if cfg!(target_os = "linux") {
        assert_eq!(file(b"just text"), "not a dynamic library");
    }
    assert_eq!(file(b""), "the file is empty");
}

#[test]
fn truncated_libraries_are_refused_without_a_crash() {
    let whole = folder();
    let path = compile("bad.c", whole.path(), "whole", &[]);
    let bytes = std::fs::read(path).unwrap();
    for keep in [1, 20, 64, 200, 1000, bytes.len() / 2, bytes.len() - 1] {
        let reason = file(&bytes[..keep]);
        assert!(
            reason.starts_with("truncated") || reason.starts_with("not a dynamic library"),
            "{keep} bytes: {reason}"
        );
    }
}

#[test]
fn broken_tables_are_refused() {
    assert_eq!(
        bad(&["ENTRY_SIZE=24"]),
        "its entry table has 24 bytes, 48 are needed"
    );
    assert_eq!(bad(&["INIT=0"]), "a function is missing in its entry table");
    assert_eq!(
        bad(&["FACTORY=0"]),
        "it has no factory \"flowpipe.stages/1\""
    );
    assert_eq!(
        bad(&["FACTORY=(const char*)&factory+4"]),
        "its factory table is not aligned"
    );
    assert_eq!(
        bad(&["FACTORY_SIZE=8"]),
        "its factory table has 8 bytes, 32 are needed"
    );
    assert_eq!(
        bad(&["CREATE=0"]),
        "a function is missing in its factory table"
    );
    assert_eq!(bad(&["COUNT=0"]), "its factory reports 0 stages");
    assert_eq!(bad(&["STATUS=-1"]), "its init failed: no licence");
}

#[test]
fn bad_manifests_are_refused() {
    assert_eq!(bad(&["TEXT=0"]), "stage 0 of 1 has no manifest");
    assert!(bad(&["TEXT=\"{\""]).starts_with("the manifest of stage 0: it can't be read"));
    assert!(bad(&["TEXT=\"\\xff\""]).starts_with("the manifest of stage 0 is not UTF-8"));
    assert!(
        bad(&["TEXT=\"{\\\"name\\\":\\\"Bad Name\\\",\\\"role\\\":\\\"stage\\\"}\""])
            .contains("\"Bad Name\" is not made of")
    );
}

#[test]
fn the_first_folder_hides_the_second() {
    let (first, second) = (folder(), folder());
    let winner = compile("bad.c", first.path(), "one", &[]);
    compile("bad.c", second.path(), "two", &[]);
    let folders: Vec<PathBuf> = [&first, &second, &first]
        .map(|folder| folder.path().to_owned())
        .into();
    let catalogue = Catalogue::scan(&folders, &scanner());
    assert_eq!(catalogue.find("fine").unwrap().path, winner);
    assert_eq!(catalogue.refused().len(), 1);
    assert_eq!(
        catalogue.refused()[0].reason,
        format!("hidden by {}", winner.display())
    );
    assert_eq!(catalogue.refused()[0].name.as_deref(), Some("fine"));
}

#[test]
fn scanning_again_finds_the_same() {
    let folder = folder();
    compile("bad.c", folder.path(), "bad", &[]);
    compile("bad.c", folder.path(), "worse", &["STATUS=-1"]);
    let folders = [folder.path().to_owned()];
    let (first, second) = (
        Catalogue::scan(&folders, &scanner()),
        Catalogue::scan(&folders, &scanner()),
    );
    assert_eq!(first.names(), second.names());
    assert_eq!(first.refused(), second.refused());
}

#[test]
fn a_refused_plugin_is_known_by_its_file() {
    let folder = folder();
    compile("bad.c", folder.path(), "solver_odd", &["MAJOR=7"]);
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &scanner());
    assert!(
        Plugins::refused(&catalogue, "solver-odd")
            .unwrap()
            .contains("ABI 7.1")
    );
    assert_eq!(Plugins::refused(&catalogue, "solver-even"), None);
}

#[test]
fn folders_that_are_not_there_hold_nothing() {
    let catalogue = Catalogue::scan(&[PathBuf::from("/no/such/folder")], &scanner());
    assert!(catalogue.stages().is_empty() && catalogue.refused().is_empty());
}
