//! What is recorded is not lost: not by a kill, a full disk, a pipe that nobody reads, or a name given twice.

mod full_disk;
mod gaps;
mod kills;
mod outputs;
mod stuck;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_recording::Recording;
use flowpipe_tests::{Ran, changed, flowpipe};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run that goes on until it is ended.
fn endless(folder: &Path) -> PathBuf {
    changed(folder, |ready| {
        ready.replace("fps = 20", "fps = 60, repeat = true")
    })
}

fn start(args: &[&str]) -> Child {
    flowpipe(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

/// How many messages can be read in a recording that may be growing.
fn messages(path: &Path) -> usize {
    Recording::open(path).map_or(0, |recording| recording.entries().len())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A named pipe in a folder.
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    path
}

/// A run that writes what it reports into a file, which grows while it goes on.
struct Reporting {
    child: Child,
    reports: PathBuf,
}

impl Reporting {
    fn start(mut command: Command, folder: &Path) -> Self {
        let reports = folder.join("reports");
        let child = command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&reports).unwrap())
            .spawn();
        Self {
            child: child.unwrap(),
            reports,
        }
    }

    /// What it has reported so far.
    fn reported(&self) -> String {
        std::fs::read_to_string(&self.reports).unwrap()
    }

    /// Waits for its end: the exit code, and all that it has reported.
    fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.reported())
    }

    fn wait_to_report(&self, text: &str) {
        wait_until(text, || self.reported().contains(text));
    }
}
