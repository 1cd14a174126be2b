//! `flowpipe plugin install` and `plugin remove`.

use std::path::{Path, PathBuf};

use flowpipe_tests::{Ran, begun, compile, flowpipe, library, run};

/// A user's folder of data.
struct User(tempfile::TempDir);

impl User {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, args: &[&str]) -> Ran {
        let ran = flowpipe(args).env("XDG_DATA_HOME", self.0.path()).output();
        ran.unwrap().into()
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("flowpipe/plugins")
    }

    /// What is in the folder, hidden files too.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        let text = names.iter().map(|it| it.to_string_lossy().into_owned());
        text.collect()
    }
}

/// Builds a planner that passes all checks.
fn planner(folder: &Path, name: &str) -> String {
    let place = folder.display().to_string();
    run(&["new", "planner", name, "--lang", "c", "--in", &place]).expect(0);
    let made = begun(&folder.join(name), "make");
    assert_eq!(made.code, Some(0), "{made:#?}");
    let library = format!("plugins/lib{}.so", name.replace('-', "_"));
    folder.join(name).join(library).display().to_string()
}

#[test]
fn a_plugin_is_installed_used_replaced_and_removed() {
    let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
    let file = planner(folder.path(), "planner-mine");
    // Nothing is there, which is no error.
    assert!(user.run(&["plugins"]).expect(0).stderr.is_empty());
    let ran = user.run(&["plugin", "install", &file]).expect(0);
    assert!(ran.stdout.contains("installed planner-mine"), "{ran:#?}");
    assert_eq!(user.files(), ["libplanner_mine.so"]);
    let shown = user.run(&["plugins", "show", "planner-mine"]).expect(0);
    let place = user.folder().join("libplanner_mine.so");
    let place = place.display().to_string();
    assert!(shown.stdout.contains(&place), "{shown:#?}");

    let ran = user.run(&["plugin", "install", &file]).expect(2);
    let why = "libplanner_mine.so would be replaced (planner-mine";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    let ran = user.run(&["plugin", "install", &place]).expect(2);
    assert!(ran.stderr.contains("installed already"), "{ran:#?}");
    // The same plugin in another file takes the place of the first one.
    let renamed = folder.path().join("libother.so");
    std::fs::copy(&file, &renamed).unwrap();
    let renamed = renamed.display().to_string();
    let ran = user.run(&["plugin", "install", &renamed]).expect(2);
    let why = "libplanner_mine.so would be removed (planner-mine";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    assert_eq!(user.files(), ["libplanner_mine.so"]);
    user.run(&["plugin", "install", &renamed, "--force"])
        .expect(0);
    assert_eq!(user.files(), ["libother.so"]);

    let ran = user.run(&["plugin", "remove", "planner-mein"]).expect(2);
    assert!(ran.stderr.contains("did you mean"), "{ran:#?}");
    user.run(&["plugin", "remove", "planner-mine"]).expect(0);
    assert!(user.files().is_empty());
    // What is left of a plugin that was linked.
    std::os::unix::fs::symlink("gone.so", user.folder().join("libgone.so")).unwrap();
    user.run(&["plugin", "remove", "libgone.so"]).expect(0);
    assert!(user.files().is_empty());
    let ran = user.run(&["plugin", "remove", "planner-grid"]).expect(2);
    assert!(ran.stderr.contains("was not installed by"), "{ran:#?}");
}

#[test]
fn all_plugins_of_a_folder_are_installed() {
    let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
    let all = folder.path().join("all");
    std::fs::create_dir(&all).unwrap();
    for name in ["planner-one", "planner-two"] {
        let file = PathBuf::from(planner(folder.path(), name));
        std::fs::copy(&file, all.join(file.file_name().unwrap())).unwrap();
    }
    std::fs::write(all.join("readme.txt"), "").unwrap();
    user.run(&["plugin", "install", &all.display().to_string()])
        .expect(0);
    assert_eq!(user.files(), ["libplanner_one.so", "libplanner_two.so"]);
}

#[test]
fn nothing_is_left_of_a_plugin_that_fails() {
    let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
    let faulty = |defines: &[&str]| {
        let file = compile("tests/plugins/faulty.c", folder.path(), "faulty", defines);
        file.display().to_string()
    };
    let file = faulty(&["ENDS_WHEN_LOADED"]);
    user.run(&["plugin", "install", &file]).expect(1);
    assert!(user.files().is_empty());
    let file = faulty(&[]);
    let only = ["--stage", "lies", "--time", "200ms"];
    let ran = user
        .run(&[&["plugin", "install", &file][..], &only].concat())
        .expect(1);
    assert!(ran.stderr.contains("nothing is installed"), "{ran:#?}");
    assert!(user.files().is_empty());
    let ran = user.run(&["plugin", "install", "Cargo.toml"]).expect(2);
    assert!(ran.stderr.contains("end in .so"), "{ran:#?}");
    user.run(&["plugin", "install", "no/such/file.so"])
        .expect(2);
    let empty = user.0.path().display().to_string();
    let ran = user.run(&["plugin", "install", &empty]).expect(2);
    assert!(ran.stderr.contains("there is no plugin"), "{ran:#?}");
}

/// A user's plugin is used before one of the program's, with a message each time.
#[test]
fn a_plugin_of_the_program_is_not_hidden_silently() {
    let (user, packaged) = (User::new(), library("planner_grid"));
    let named = packaged.display().to_string();
    let ran = user.run(&["plugin", "install", &named]).expect(2);
    let why = "planner-grid would be used in place of the program's own";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    assert!(user.files().is_empty());
    let own = user.folder().join(packaged.file_name().unwrap());
    std::fs::copy(&packaged, &own).unwrap();
    for command in [&["plugins"][..], &["check", "pipelines/replay.toml"]] {
        let ran = user.run(command).expect(0);
        let expected = format!("{} is used in place of {named}", own.display());
        assert!(ran.stderr.contains(&expected), "{ran:#?}");
    }
    // Refused files can be removed by their names.
    std::fs::write(user.folder().join("libbroken.so"), "").unwrap();
    user.run(&["plugin", "remove", "libbroken.so"]).expect(0);
    user.run(&["plugin", "remove", "planner-grid"]).expect(0);
    assert!(user.run(&["plugins"]).expect(0).stderr.is_empty());
}
