//! Whatever is stuck, the second signal ends the program.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, pipeline};
use rustix::event::{PollFd, PollFlags, poll};

use super::{ended, endless, pipe, start, text, wait_until};

/// How long after the second signal the program ends at the latest: two seconds, and what a busy machine adds.
const END_LIMIT: Duration = Duration::from_secs(9);

/// A pipe that is open and not read until this value is dropped.
struct Stuck {
    path: PathBuf,
    reader: Child,
}

impl Stuck {
    fn new(folder: &Path) -> Self {
        let path = pipe(folder);
        let script = "exec sleep 1000 < \"$0\"";
        let reader = Command::new("sh").args(["-c", script, text(&path)]).spawn();
        Self {
            path,
            reader: reader.unwrap(),
        }
    }
}

impl Stuck {
    /// Whether the pipe takes no more.
    fn is_full(&self) -> bool {
        let mut pipe = std::fs::OpenOptions::new();
        let without_waiting = rustix::fs::OFlags::NONBLOCK.bits();
        let pipe = pipe.write(true).custom_flags(without_waiting as i32);
        let Ok(pipe) = pipe.open(&self.path) else {
            return false;
        };
        let mut asked = [PollFd::new(&pipe, PollFlags::OUT)];
        let at_once = rustix::time::Timespec::default();
        poll(&mut asked, Some(&at_once)) == Ok(0)
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        let _ = self.reader.kill();
        let _ = self.reader.wait();
    }
}

/// Sends two signals, and returns how the program ends.
fn end_by(child: Child, name: &str) -> Ran {
    send_signal(name, child.id());
    std::thread::sleep(Duration::from_millis(200));
    let second = Instant::now();
    send_signal(name, child.id());
    let ran = ended(child);
    let took = second.elapsed();
    assert!(took < END_LIMIT, "{took:?}: {ran:#?}");
    ran.expect(130)
}

#[test]
fn a_pipe_that_nobody_reads_ends_with_the_second_signal() {
    for (name, lossless) in [("INT", false), ("TERM", true)] {
        let folder = tempfile::tempdir().unwrap();
        let stuck = Stuck::new(folder.path());
        let running = endless(folder.path());
        let mut args = vec!["run", text(&running), "-q", "--record", text(&stuck.path)];
        args.extend(lossless.then_some("--record-lossless"));
        let child = start(&args);
        // The header fits into the pipe; the run goes on, and its first chunk does not.
        wait_until("a full pipe", || stuck.is_full());
        end_by(child, name);
    }
}

#[test]
fn a_pipe_without_a_reader_ends_with_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    let child = start(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        text(&pipe),
    ]);
    std::thread::sleep(Duration::from_secs(1));
    // The program waits for a reader, and has not begun to run: the first signal is enough.
    send_signal("INT", child.id());
    ended(child).expect(130);
}

#[test]
fn a_plugin_that_does_not_come_back_ends_with_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    // While the plugin is created nothing is to be ended in order: the program may be gone before the second signal.
    for (how, has_notice) in [("create", false), ("destroy", true)] {
        let define = format!("HANG_IN_{}", how.to_uppercase());
        let plugins = folder.path().join(how);
        std::fs::create_dir(&plugins).unwrap();
        let defines = [define.as_str()];
        flowpipe_tests::compile("tests/plugins/hanging.c", &plugins, "hanging", &defines);
        let running = pipeline(&plugins, "[stages.a]\nplugin = \"hanging\"\n");
        let child = start(&["run", &running, "-q", "--plugin-dir", text(&plugins)]);
        std::thread::sleep(Duration::from_secs(2));
        send_signal("INT", child.id());
        std::thread::sleep(Duration::from_millis(4_000));
        let second = Instant::now();
        let _ = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .output();
        let ran = ended(child).expect(130);
        assert!(second.elapsed() < END_LIMIT, "{how}: {ran:#?}");
        let notice = "still stopping: press Ctrl-C again";
        assert_eq!(ran.stderr.contains(notice), has_notice, "{how}: {ran:#?}");
    }
}
