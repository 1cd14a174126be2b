//! A run in progress: what it prints, signals, its end.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::pty::PATIENCE;
use flowpipe_tests::flowpipe;
use flowpipe_tests::signals::send_signal;

/// A run in progress, and its output so far.
pub struct Going {
    child: Child,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Going {
    /// Starts the program with these arguments.
    pub fn start(args: &[&str]) -> Self {
        Self::start_command(&mut flowpipe(args))
    }

    /// Starts a command that is the program.
    pub fn start_command(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let readers = vec![
            read(child.stdout.take().unwrap(), &stdout),
            read(child.stderr.take().unwrap(), &stderr),
        ];
        Self {
            child,
            stdout,
            stderr,
            readers,
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What is on standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// What is on standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.lock().unwrap().clone()
    }

    /// Waits until new text is on standard error.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        until(text, || {
            let stderr = self.stderr();
            (stderr.contains(text), stderr)
        });
    }

    /// Waits until a text is on standard output this many times.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str, times: usize) {
        until(text, || {
            let stdout = self.stdout();
            (stdout.matches(text).count() >= times, stdout)
        });
    }

    /// Sends it a signal, such as `HUP`.
    pub fn signal(&self, signal: &str) {
        send_signal(signal, self.child.id());
    }

    /// Stops it as by Ctrl-C. Returns standard output and standard error.
    pub fn stop(mut self) -> (String, String) {
        self.signal("INT");
        assert_eq!(
            self.child.wait().unwrap().code(),
            Some(130),
            "{}",
            self.stderr()
        );
        for reader in std::mem::take(&mut self.readers) {
            reader.join().unwrap();
        }
        (self.stdout(), self.stderr())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // Over already, where the test has come to its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut from: impl Read + Send + 'static, into: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let into = into.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]);
            into.lock().unwrap().push_str(&text);
        }
    })
}

/// Waits until something holds. What was seen is shown if that takes too long.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> (bool, String)) {
    let began = Instant::now();
    loop {
        let (holds, seen) = holds();
        if holds {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "no {what:?} in\n{seen}");
        sleep(Duration::from_millis(10));
    }
}

/// Replaces a file as editors do: another one takes its name.
pub fn replace(file: &Path, text: &str) {
    let half = file.with_extension("half");
    std::fs::write(&half, text).unwrap();
    std::fs::rename(&half, file).unwrap();
}
