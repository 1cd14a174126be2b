//! Helpers for the whole-program tests.

#![expect(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

pub mod bounds;
pub mod machines;
pub mod puzzles;
pub mod signals;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use signals::with_default_signals;

/// The project's folder.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where cargo put the program and its plugins: the folder above this test's own.
///
/// # Panics
/// When they are not built: `cargo test` alone does not build them.
pub fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let folder = test
        .ancestors()
        .nth(2)
        .expect("cargo runs tests from target/PROFILE/deps");
    let program = folder.join(format!("flowpipe{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not built: run `cargo build --workspace` first",
        program.display()
    );
    folder.to_owned()
}

/// The program, in the project's folder, with the examples' plugins, and without the user's settings and ignored
/// signals.
pub fn flowpipe(args: &[&str]) -> Command {
    let mut command = prepared(Command::new(built().join("flowpipe")));
    command.args(args);
    command
}

/// The same within a limit of the shell's `ulimit`, such as `-v 4000000`.
pub fn flowpipe_within(limit: &str, args: &[&str]) -> Command {
    let mut command = prepared(Command::new("sh"));
    command
        .args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")])
        .arg(built().join("flowpipe"))
        .args(args);
    command
}

fn prepared(mut command: Command) -> Command {
    with_default_signals(&mut command)
        .current_dir(project())
        .env("FLOWPIPE_PLUGIN_PATH", examples(&built()))
        .env("XDG_CACHE_HOME", built().join("test-cache"))
        .env("XDG_DATA_HOME", no_data())
        .env_remove("FLOWPIPE_LOG")
        .env_remove("FLOWPIPE_SDK")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// A folder of the user's data in which no plugin is installed.
fn no_data() -> PathBuf {
    built().join("no-data")
}

/// A folder with the examples' plugins alone: cargo leaves each there a second time under a name
/// with a hash, perhaps from an earlier build.
fn examples(built: &Path) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = built.join("examples").join("plugins");
        std::fs::create_dir_all(&folder).expect("target is writable");
        for name in [
            "planner_simple",
            "solver_patient",
            "misbehaving",
            "counting",
            "fickle",
            "lingering",
            "numbers",
        ] {
            let file = library_file(name);
            // Cargo builds the examples for tests, not for benches.
            if !built.join("examples").join(&file).exists() {
                continue;
            }
            // A file that some program has open is not written to but replaced.
            let half = folder.join(format!("{file}.{}", std::process::id()));
            std::fs::copy(built.join("examples").join(&file), &half)
                .expect("cargo builds the examples before the tests");
            std::fs::rename(&half, folder.join(&file)).expect("target is writable");
        }
        folder
    })
}

/// What a run of the program came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}) from {self:#?}"))
    }

    /// Itself, when it ended with that exit code.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// Runs the program to its end.
pub fn run(args: &[&str]) -> Ran {
    flowpipe(args)
        .output()
        .expect("the program can be started")
        .into()
}

/// Runs a shell script in a folder where somebody creates a plugin: `flowpipe` is the program, with the SDK of this
/// checkout, and cargo builds offline.
/// What it builds of others is kept for the next one, in a folder beside the program.
pub fn begun(folder: &Path, script: &str) -> Ran {
    let built = built();
    let mut path = std::ffi::OsString::from(&built);
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let cache = tempfile::tempdir().expect("the temporary folder is writable");
    Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .env("XDG_CACHE_HOME", cache.path())
        .env("PATH", path)
        .env("FLOWPIPE_SDK", project())
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_BUILD_BUILD_DIR", built.join("begun"))
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .env_remove("FLOWPIPE_PLUGIN_PATH")
        .env("XDG_DATA_HOME", no_data())
        .env_remove("FLOWPIPE_LOG")
        .stdin(Stdio::null())
        .output()
        .expect("a shell can be started")
        .into()
}

/// Runs the program to its end with a text on its standard input.
pub fn with_input(args: &[&str], input: &str) -> Ran {
    let mut child = flowpipe(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let stdin = child.stdin.take().expect("standard input is a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends before it has read all is the subject of the test.
            let _ = std::io::Write::write_all(&mut { stdin }, input.as_bytes());
        });
        let output = child.wait_with_output();
        output.expect("the program can be waited for").into()
    })
}

/// Records a run with everything in it into a folder; gives the recording's path.
///
/// # Panics
/// When the run fails.
pub fn record(folder: &Path, name: &str, pipeline: &str) -> String {
    let path = folder.join(name).display().to_string();
    run(&[
        "run",
        pipeline,
        "-q",
        "--record",
        &path,
        "--record-lossless",
    ])
    .expect(0);
    path
}

/// The library of a plugin that comes with the program, by its crate's name.
#[must_use]
pub fn library(name: &str) -> PathBuf {
    built().join(library_file(name))
}

fn library_file(name: &str) -> String {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{prefix}{name}{suffix}")
}

/// Compiles a plugin in C, a file of the project, into a folder, with nothing but the project's header. Gives the
/// library.
///
/// # Panics
/// When the compiler does not run, or prints anything.
pub fn compile(source: &str, folder: &Path, name: &str, defines: &[&str]) -> PathBuf {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let library = folder.join(library_file(name));
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-pthread", "-O2"])
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-I")
        .arg(project().join("core/abi/include"))
        .arg(project().join(source))
        .arg("-o")
        .arg(&library)
        .output()
        .expect("there is a C compiler");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {stderr}");
    library
}

/// Writes a pipeline into a folder and gives its path.
pub fn pipeline(folder: &Path, text: &str) -> String {
    let path = folder.join("pipeline.toml");
    std::fs::write(&path, text).expect("the temporary folder is writable");
    path.display().to_string()
}

/// The text of `pipelines/replay.toml` without its tests, for a file in another folder: the pictures are found in the
/// project's folder, in which the tests run the program.
///
/// # Panics
/// When the file can't be read.
#[must_use]
pub fn ready() -> String {
    let text = std::fs::read_to_string(project().join("pipelines/replay.toml"))
        .expect("the project has this pipeline");
    let (stages, _) = text.split_once("\n[[tests]]").expect("it has tests");
    let stages = format!("{stages}\n");
    stages.replace("\"frames/", "\"pipelines/frames/")
}

/// `pipelines/replay.toml`, changed, in a folder.
///
/// # Panics
/// When the folder can't be written to.
pub fn changed(folder: &Path, change: impl FnOnce(String) -> String) -> PathBuf {
    let path = folder.join("changed.toml");
    std::fs::write(&path, change(ready())).expect("the temporary folder is writable");
    path
}

/// What the practice game has logged, line by line; nothing before it has begun.
///
/// # Panics
/// When a line is no JSON.
pub fn game_log(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The last line may be half written.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line| serde_json::from_str(line).expect("a line of JSON");
    whole.lines().map(line).collect()
}

/// The folder with real screenshots and levels that are no part of the project, where it is there.
pub fn shared() -> Option<PathBuf> {
    let folder = flowpipe_testing::shared_folder();
    folder.is_dir().then_some(folder)
}
