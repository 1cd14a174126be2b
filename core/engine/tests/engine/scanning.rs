//! Libraries are loaded by the scanner to read their manifests. What they do then affects only their own entry.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Isolation;
use flowpipe_config::reader::Plugins;
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::Program;
use flowpipe_isolation::scanner::Scanner;
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Builder, compile};
use crate::manifests::scanner;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn scan(folder: &Path) -> Catalogue {
    Catalogue::scan(&[folder.to_owned()], &scanner())
}

/// A library that does this when it is loaded.
fn hostile(folder: &Path, name: &str, deed: &str) -> PathBuf {
    let plugin = name.replace('_', "-");
    let name_is = format!("NAME=\"{plugin}\"");
    compile(
        "constructor.c",
        folder,
        name,
        &[&name_is, &format!("DEED={deed}")],
    )
}

/// Scans a hostile library between two that are good, and gives the reason for which it is refused.
fn between_good_ones(name: &str, deed: &str) -> String {
    let folder = folder();
    hostile(folder.path(), "a_good", "(void)0");
    let path = hostile(folder.path(), name, deed);
    hostile(folder.path(), "z_good", "(void)0");
    let catalogue = scan(folder.path());
    assert_eq!(catalogue.names(), ["a-good", "z-good"], "{deed}");
    let [refused] = catalogue.refused() else {
        panic!("{deed}: {:?}", catalogue.refused());
    };
    assert_eq!((&refused.path, refused.was_loaded), (&path, true));
    refused.reason.clone()
}

#[test]
fn a_library_that_ends_the_process_costs_its_own_entry() {
    let reason = between_good_ones("bad", "abort()");
    assert!(
        reason.starts_with("loading it, a process aborted (SIGABRT"),
        "{reason}"
    );
    let reason = between_good_ones("bad", "crash()");
    assert!(
        reason.starts_with("loading it, a process was killed by SIGSEGV"),
        "{reason}"
    );
    for deed in ["exit(0)", "_exit(0)"] {
        let reason = between_good_ones("bad", deed);
        assert_eq!(reason, "loading it, a process exited with code 0", "{deed}");
    }
    let reason = between_good_ones("bad", "for(int i=3;i<64;i++)close(i)");
    assert!(reason.starts_with("loading it, a process"), "{reason}");
}

#[test]
fn a_library_that_writes_to_what_is_not_its_own_costs_its_own_entry() {
    let reason = between_good_ones("bad", "scribble(3,64)");
    assert!(
        reason.starts_with("it disturbs the process that reads manifests"),
        "{reason}"
    );
}

#[test]
fn a_library_that_hangs_costs_its_own_entry() {
    let hangs = std::thread::spawn(|| between_good_ones("bad", "for(;;)pause()"));
    let writes = std::thread::spawn(|| between_good_ones("bad", "flood(1)"));
    for reason in [hangs.join().unwrap(), writes.join().unwrap()] {
        assert_eq!(reason, "loading it takes longer than 10s");
    }
}

#[test]
fn several_libraries_that_hang_take_no_longer_than_one() {
    let folder = folder();
    for name in ["b_hangs", "c_hangs", "e_hangs"] {
        hostile(folder.path(), name, "for(;;)pause()");
    }
    for name in ["a_good", "d_good", "f_good"] {
        hostile(folder.path(), name, "(void)0");
    }
    let began = Instant::now();
    let catalogue = scan(folder.path());
    // One after the other they took thrice 10 s and more.
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(catalogue.names(), ["a-good", "d-good", "f-good"]);
    let refused = catalogue.refused();
    assert_eq!(refused.len(), 3, "{refused:?}");
    for refused in refused {
        assert_eq!(refused.reason, "loading it takes longer than 10s");
    }
}

#[test]
fn output_and_processes_of_libraries_do_not_disturb_the_scan() {
    let folder = folder();
    for (name, deed) in [
        ("a_prints", "scribble(1,2)"),
        ("b_forks", "twins()"),
        ("c_keeps", "daemon_of_old()"),
        ("d_good", "(void)0"),
    ] {
        hostile(folder.path(), name, deed);
    }
    let began = Instant::now();
    let catalogue = scan(folder.path());
    assert_eq!(catalogue.refused(), []);
    let all = ["a-prints", "b-forks", "c-keeps", "d-good"];
    assert_eq!(catalogue.names(), all);
    // The scan did not wait for the process that holds the connection open.
    assert!(began.elapsed() < Duration::from_secs(9));
}

/// The processes that work in this folder or have a library of it loaded.
#[cfg(target_os = "linux")]
fn processes_with(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.to_str().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.map(|process| process.path())
        .filter(|process| {
            std::fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(folder))
        })
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_the_scanner_is_left() {
    let folder = folder();
    hostile(folder.path(), "a_keeps", "daemon_of_old()");
    hostile(folder.path(), "b_hangs", "daemon_of_old();abort()");
    let catalogue = scan(folder.path());
    assert_eq!(catalogue.names(), ["a-keeps"]);
    crate::common::until("they are gone", || processes_with(folder.path()).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_is_not_blamed_for_another() {
    let folder = folder();
    hostile(folder.path(), "a_ambush", "ambush(\"b_good\")");
    hostile(folder.path(), "b_good", "(void)0");
    hostile(folder.path(), "c_good", "(void)0");
    let catalogue = scan(folder.path());
    assert_eq!(catalogue.refused(), []);
    assert_eq!(catalogue.names(), ["a-ambush", "b-good", "c-good"]);
}

#[test]
fn unrelated_libraries_are_not_loaded() {
    let folder = folder();
    let left = folder.path().join("left");
    let deed = format!("DEED=leave(\"{}\")", left.display());
    compile(
        "constructor.c",
        folder.path(),
        "stranger",
        &["SYMBOL=other", &deed],
    );
    for scanner in [scanner(), Scanner::InProcess] {
        let catalogue = Catalogue::scan(&[folder.path().to_owned()], &scanner);
        assert!(catalogue.stages().is_empty() && catalogue.refused().is_empty());
        let [stranger] = catalogue.not_plugins() else {
            panic!("{:?}", catalogue.not_plugins());
        };
        assert!(!stranger.was_loaded);
        assert_eq!(
            stranger.reason,
            "not a flowpipe plugin: it exports no `flowpipe_entry`"
        );
    }
    assert!(!left.exists());
    compile("constructor.c", folder.path(), "plugin", &[&deed]);
    assert_eq!(scan(folder.path()).names(), ["hostile"]);
    let is_confined = cfg!(target_os = "linux");
    assert_eq!(
        left.exists(),
        !is_confined,
        "manifests are read without effects"
    );
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &Scanner::InProcess);
    assert_eq!(catalogue.names(), ["hostile"]);
    assert!(left.exists(), "the fixture does what it is there for");
}

/// What is loaded of a plugin that leaves a file behind, and why it is not.
fn refused_in(place: &Path, library: &Path, left: &Path) -> String {
    // One that is loaded into this process can leave what one that only a confined process loads can't.
    let _ = Catalogue::scan(&[place.to_owned()], &Scanner::InProcess);
    let catalogue = scan(place);
    assert!(!left.exists(), "{}", library.display());
    assert!(catalogue.stages().is_empty() && catalogue.not_plugins().is_empty());
    let [refused] = catalogue.refused() else {
        panic!("{:?}", catalogue.refused());
    };
    assert!(!refused.was_loaded);
    refused.reason.clone()
}

#[test]
fn nothing_is_loaded_where_others_can_write() {
    let outer = folder();
    let left = outer.path().join("left");
    let deed = format!("leave(\"{}\")", left.display());
    let above = outer.path().join("above");
    let inner = above.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    let library = hostile(&inner, "plugin", &deed);
    let link = outer.path().join("link");
    std::os::unix::fs::symlink(&inner, &link).unwrap();
    let link_to_file = outer.path().join("linked");
    std::fs::create_dir(&link_to_file).unwrap();
    let name = library.file_name().unwrap();
    std::os::unix::fs::symlink(&library, link_to_file.join(name)).unwrap();

    for mode in [0o777, 0o757, 0o1777] {
        chmod(&inner, mode);
        let mended = format!(
            "other users can write to {} (mode {mode:o}): `chmod go-w` it, or put it elsewhere",
            inner.display()
        );
        let reason = refused_in(&inner, &library, &left);
        assert_eq!(reason, format!("nothing in it is loaded: {mended}"));
        assert!(refused_in(&link, &library, &left).ends_with(&mended));
        // On the way, others can't put another one in the place of what is the user's.
        if mode != 0o1777 {
            assert_eq!(refused_in(&link_to_file, &library, &left), mended);
        }
    }
    chmod(&inner, 0o755);
    chmod(&above, 0o777);
    for place in [&inner, &link, &link_to_file] {
        let reason = refused_in(place, &library, &left);
        assert!(reason.contains("/above (mode 777)"), "{reason}");
    }
    chmod(&above, 0o755);
    chmod(&library, 0o666);
    for place in [&inner, &link, &link_to_file] {
        let reason = refused_in(place, &library, &left);
        assert!(reason.contains("(mode 666)"), "{reason}");
    }
    // As `/tmp` is.
    chmod(&library, 0o644);
    chmod(&above, 0o1777);
    assert_eq!(scan(&inner).names(), ["plugin"]);
    let _ = Catalogue::scan(&[inner], &Scanner::InProcess);
    assert!(left.exists());
}

#[test]
fn what_belongs_to_others_is_not_loaded() {
    let outer = folder();
    let left = outer.path().join("left");
    let library = hostile(
        outer.path(),
        "plugin",
        &format!("leave(\"{}\")", left.display()),
    );
    let other_user = Some(12_345);
    if std::os::unix::fs::chown(&library, other_user, None).is_err() {
        // Only root can make it so.
        return;
    }
    let reason = refused_in(outer.path(), &library, &left);
    assert!(
        reason.contains("belongs to another user (number 12345)"),
        "{reason}"
    );
    std::os::unix::fs::chown(&library, Some(0), None).unwrap();
    // A group without other members.
    std::os::unix::fs::chown(outer.path(), None, other_user).unwrap();
    chmod(outer.path(), 0o775);
    let reason = refused_in(outer.path(), &library, &left);
    assert!(reason.contains("(mode 775)"), "{reason}");
    std::os::unix::fs::chown(outer.path(), None, Some(0)).unwrap();
    assert_eq!(scan(outer.path()).names(), ["plugin"], "root's own group");
}

#[test]
fn a_named_file_may_lie_anywhere() {
    let outer = folder();
    let library = hostile(outer.path(), "plugin", "(void)0");
    chmod(outer.path(), 0o777);
    assert_eq!(Catalogue::of_file(&library, &scanner()).names(), ["plugin"]);
    compile("constructor.c", outer.path(), "other", &["SYMBOL=other"]);
    let other = library.with_file_name(
        library
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace("plugin", "other"),
    );
    let catalogue = Catalogue::of_file(&other, &scanner());
    assert!(!catalogue.refused()[0].was_loaded);
}

/// Why a stage of the only plugin of a catalogue can't be made.
fn starts(catalogue: &Catalogue, isolation: Isolation) -> String {
    let mut line = Builder::new();
    line.stage("hostile", json!({}));
    line.0.stages[0].isolation = isolation;
    let options = match isolation {
        Isolation::Thread => Options::default(),
        Isolation::Process => crate::isolated::options(&Default::default()),
    };
    match Run::start(line.0, catalogue, options) {
        Ok(_) => panic!("it makes no stages"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_library_whose_manifest_changes_after_the_scan_is_not_used() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let folder = folder();
        let flag = folder.path().join("flag");
        let define = format!("FLAG=\"{}\"", flag.display());
        let text =
            "TEXT=access(FLAG,F_OK)==0?manifest_of(\"hostile\")\" \":manifest_of(\"hostile\")";
        compile("constructor.c", folder.path(), "liar", &[&define, text]);
        let catalogue = scan(folder.path());
        std::fs::write(&flag, "").unwrap();
        let reason = starts(&catalogue, isolation);
        assert!(
            reason.contains("its manifests differ from the scanned ones"),
            "{isolation:?}: {reason}"
        );
    }
}

#[test]
fn what_is_replaced_after_the_scan_is_not_used() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let outer = folder();
        let place = outer.path().join("plugins");
        let other = outer.path().join("other");
        for folder in [&place, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let left = outer.path().join("left");
        compile("constructor.c", &place, "plugin", &[]);
        let deed = format!("DEED=leave(\"{}\")", left.display());
        compile("constructor.c", &other, "plugin", &[&deed]);
        let catalogue = scan(&place);
        std::fs::rename(&place, outer.path().join("away")).unwrap();
        std::fs::rename(&other, &place).unwrap();
        let reason = starts(&catalogue, isolation);
        assert!(reason.ends_with("it was asked for a stage"), "{reason}");
        assert!(!left.exists(), "{isolation:?}");
    }
}

#[test]
fn others_get_to_write_after_the_scan() {
    for isolation in [Isolation::Thread, Isolation::Process] {
        let outer = folder();
        compile("constructor.c", outer.path(), "plugin", &[]);
        let catalogue = scan(outer.path());
        chmod(outer.path(), 0o777);
        let reason = starts(&catalogue, isolation);
        assert!(reason.contains("other users can write to"), "{reason}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_host_loads_what_it_runs_and_nothing_else() {
    let folder = folder();
    let unused = compile(
        "constructor.c",
        folder.path(),
        "unused",
        &["NAME=\"unused\""],
    );
    let used = compile("constructor.c", folder.path(), "used", &[]);
    let loaded = |path: &Path| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains(path.to_str().unwrap())
    };
    let catalogue = scan(folder.path());
    assert_eq!(catalogue.names(), ["unused", "hostile"]);
    assert!(!loaded(&used) && !loaded(&unused));
    starts(&catalogue, Isolation::Process);
    assert!(
        !loaded(&used),
        "a stage with a process of its own is loaded there"
    );
    starts(&catalogue, Isolation::Thread);
    assert!(loaded(&used) && !loaded(&unused));
}

#[test]
fn without_a_scanner_nothing_is_loaded() {
    let folder = folder();
    compile("constructor.c", folder.path(), "plugin", &[]);
    let program = |path: &str| {
        Scanner::Process(Program {
            path: path.into(),
            arguments: Vec::new(),
        })
    };
    let reason = |path: &str| {
        let catalogue = Catalogue::scan(&[folder.path().to_owned()], &program(path));
        catalogue.refused()[0].reason.clone()
    };
    assert!(reason("/no/such/program").contains("can't be started"));
    assert_eq!(reason("true"), "loading it, a process exited with code 0");
}
