//! Libraries that are linked with others, in folders of their own choice: what confined processes load and read of these.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use flowpipe_config::pipeline::Isolation;
use flowpipe_config::reader::Plugins;
use flowpipe_engine::run::Run;
use flowpipe_host::catalogue::Catalogue;
use serde_json::json;
use tempfile::TempDir;

use crate::common::Builder;
use crate::manifests::scanner;

/// Where plugins and what they are linked with lie.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for folder in ["plugins", "private/deep", "home"] {
            fs::create_dir_all(place.at(folder)).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Links a library of one function, `lib/NAME.so` in a folder.
    fn library(&self, folder: &str, name: &str, flags: &[&str]) -> String {
        let source = self.at("source.c");
        fs::write(&source, format!("int {name}(void) {{ return 0; }}\n")).unwrap();
        let to = self.at(folder).join(format!("lib{name}.so"));
        link(&source, &to, flags);
        to.display().to_string()
    }

    /// Links a plugin that does this when it is loaded.
    fn plugin(&self, name: &str, deed: &str, flags: &[&str]) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let header = format!("-I{}", root.join("../abi/include").display());
        // One that declares no effects is confined in a process of its own.
        let manifest = json!({ "name": name, "role": "stage", "effects": [] }).to_string();
        let (text, deed) = (format!("-DTEXT={manifest:?}"), format!("-DDEED={deed}"));
        let flags = [&[&*header, &text, &deed], flags].concat();
        let source = root.join("tests/fixtures/constructor.c");
        let to = self.at("plugins").join(format!("lib{name}.so"));
        link(&source, &to, &flags);
        to
    }

    fn scan(&self) -> Catalogue {
        Catalogue::scan(&[self.at("plugins")], &scanner())
    }

    /// Why the only plugin is refused.
    #[track_caller]
    fn refused(&self) -> String {
        let catalogue = self.scan();
        let [refused] = catalogue.refused() else {
            panic!("{catalogue:?}");
        };
        refused.reason.clone()
    }
}

fn link(source: &Path, to: &Path, flags: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-D_POSIX_C_SOURCE=200809L"])
        .arg(source)
        .arg("-o")
        .arg(to)
        // What nothing refers to is linked with all the same.
        .arg("-Wl,--no-as-needed")
        .args(flags)
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{output:?}");
}

/// With DT_RUNPATH, or with DT_RPATH.
const TAGS: [&str; 2] = ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"];

/// The plugin's process asks it for a stage, which it has not got.
fn is_loaded_apart(catalogue: &Catalogue) {
    let mut line = Builder::new();
    line.stage("linked", json!({}));
    line.0.stages[0].isolation = Isolation::Process;
    let Err(error) = Run::start(
        line.0,
        catalogue,
        crate::isolated::options(&Default::default()),
    ) else {
        panic!("it makes no stages");
    };
    let error = error.to_string();
    assert!(error.ends_with("it was asked for a stage"), "{error}");
}

#[test]
fn a_library_in_a_folder_of_its_own_choice_is_found() {
    for tags in TAGS {
        let place = Place::new();
        let deep = place.library("private/deep", "deeper", &["-Wl,-soname,libdeeper.so"]);
        let own = "-Wl,-rpath,$ORIGIN/deep";
        let needed = ["-Wl,-soname,libneeded.so", &deep, own, tags];
        let needed = place.library("private", "needed", &needed);
        for folder in [
            "$ORIGIN/../private",
            &place.at("private").display().to_string(),
        ] {
            let folder = format!("-Wl,-rpath,/nowhere:{folder}");
            place.plugin("linked", "(void)0", &[&needed, &folder, tags]);
            let catalogue = place.scan();
            assert_eq!(catalogue.refused(), [], "{tags} {folder}");
            assert_eq!(catalogue.names(), ["linked"]);
            is_loaded_apart(&catalogue);
        }
    }
}

/// A DT_RPATH is for what a dependency needs too.
#[test]
fn a_folder_is_handed_down_to_dependencies() {
    let place = Place::new();
    let deep = place.library("private/deep", "deeper", &["-Wl,-soname,libdeeper.so"]);
    let needed = place.library("private", "needed", &["-Wl,-soname,libneeded.so", &deep]);
    let folders = "-Wl,-rpath,$ORIGIN/../private:$ORIGIN/../private/deep";
    place.plugin("linked", "(void)0", &[&needed, folders, TAGS[1]]);
    let catalogue = place.scan();
    assert_eq!(catalogue.refused(), []);
    is_loaded_apart(&catalogue);
}

/// What a plugin says of folders gives it nothing but libraries.
#[test]
fn nothing_else_in_such_a_folder_is_read() {
    let place = Place::new();
    fs::write(place.at("home/secret"), "secret").unwrap();
    fs::write(place.at("home/secret.so"), "secret").unwrap();
    fs::write(place.at("home/.so.secret"), "secret").unwrap();
    for folder in ["home", "plugins"] {
        symlink(place.at("home/secret"), place.at(folder).join("link.so")).unwrap();
        symlink("../home", place.at(folder).join("libhome.so")).unwrap();
    }
    let home = place.at("home").display().to_string();
    let folders = format!("-Wl,-rpath,{home}:/:$ORIGIN/../home:$ORIGIN/../..:$ORIGIN/libhome.so");
    let tries = |path: &str| format!("stays_out(\"{}\")", place.at(path).display());
    for path in [
        "home/secret",
        "home/secret.so",
        "home/.so.secret",
        "home/link.so",
        "plugins/link.so",
        "plugins/libhome.so/secret.so",
        "home",
    ] {
        place.plugin("linked", &tries(path), &[&folders]);
        assert_eq!(place.scan().refused(), [], "{path} was read");
        is_loaded_apart(&place.scan());
    }
    place.plugin("linked", &tries("plugins/liblinked.so"), &[&folders]);
    let reason = place.refused();
    assert!(reason.contains("SIGABRT"), "the fixture looks: {reason}");
}

#[test]
fn nothing_is_loaded_of_what_others_can_write() {
    let place = Place::new();
    let needed = place.library("private", "needed", &["-Wl,-soname,libneeded.so"]);
    let folder = "-Wl,-rpath,$ORIGIN/../private";
    place.plugin("linked", "(void)0", &[&needed, folder]);
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(&place.at("private"), 0o777);
    let reason = place.refused();
    for part in [
        "libneeded.so",
        "other users can write to",
        "/private (mode 777)",
    ] {
        assert!(reason.contains(part), "no {part:?}: {reason}");
    }
    chmod(&place.at("private"), 0o755);
    chmod(Path::new(&needed), 0o666);
    assert!(place.refused().contains("libneeded.so"));
    chmod(Path::new(&needed), 0o644);
    assert_eq!(place.scan().refused(), []);
}

/// Lists without sense and without end cost nobody anything.
#[test]
fn folders_without_sense() {
    let place = Place::new();
    let needed = place.library("private", "needed", &["-Wl,-soname,libneeded.so"]);
    for number in 0..200 {
        fs::create_dir(place.at(&format!("home/{number}"))).unwrap();
    }
    let many: Vec<_> = (0..200).map(|it| format!("$ORIGIN/../home/{it}")).collect();
    let many = many.join(":");
    for folders in [
        "..",
        ".:",
        "../private:private",
        "$LIB:${ORIGIN",
        &many,
        "/dev:/proc:/sys",
    ] {
        let folders = format!("-Wl,-rpath,{folders}");
        place.plugin("linked", "(void)0", &[&needed, &folders]);
        let reason = place.refused();
        assert!(reason.contains("libneeded.so"), "{folders}: {reason}");
    }
    // One that needs itself, by a folder that leads around.
    let around = "-Wl,-rpath,$ORIGIN/../plugins/../plugins:$ORIGIN";
    place.plugin("linked", "(void)0", &["-Wl,-soname,liblinked.so", around]);
    let itself = place.at("plugins/liblinked.so").display().to_string();
    let other = ["-Wl,-soname,libother.so", around, &itself];
    let other = place.plugin("other", "(void)0", &other);
    let other = other.display().to_string();
    place.plugin(
        "linked",
        "(void)0",
        &["-Wl,-soname,liblinked.so", around, &other],
    );
    assert_eq!(place.scan().names(), ["linked", "other"]);
}
