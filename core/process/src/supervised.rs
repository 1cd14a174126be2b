//! The supervisor of a child process: starts it in a process group of its own, notices its end, ends it within a grace
//! period, and reaps it.

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::group::ProcessGroup;
use crate::pipes::{self, EndWatch, InputPipe, OutputPipe};

/// A child process under supervision. No process of its group outlives it.
///
/// Any thread may use it. Dropping it kills the group and reaps the process.
#[derive(Debug)]
pub struct Supervised {
    group: Arc<ReapedGroup>,
    end: EndWatch,
}

/// How long a process that was asked to end may take to end by itself, where its user sets no other limit.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// How long a killed process may take to end. One that takes longer is reaped when it ends.
pub const REAP_TIMEOUT: Duration = Duration::from_secs(10);

/// A process that is reaped when nobody refers to it any more: its thread does until it has ended.
#[derive(Debug)]
struct ReapedGroup(ProcessGroup);

impl Supervised {
    /// Starts a command, and a thread of this name that waits for its end. When the process ends, the thread kills
    /// what is left in its group, ends its pipes, and calls `on_end`.
    ///
    /// The thread starts the process and runs as long as that, as [`kill_with_thread`] requires.
    ///
    /// # Errors
    /// Those of [`Command::spawn`], or that the system has no pipe or thread left.
    pub fn spawn(
        name: &str,
        mut command: Command,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (alive, end) = pipes::alive()?;
        let (sender, started) = mpsc::sync_channel(1);
        let supervise = move || {
            let spawned = ProcessGroup::spawn(&mut command);
            // It holds the process's ends of pipes and sockets.
            drop(command);
            let group = match spawned {
                Ok(group) => Arc::new(ReapedGroup(group)),
                Err(error) => return drop(sender.send(Err(error))),
            };
            // The caller waits for it.
            let _ = sender.send(Ok(group.clone()));
            group.0.wait();
            group.0.kill_group();
            drop(alive);
            on_end();
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(supervise)?;
        let lost = |_| Err(io::ErrorKind::BrokenPipe.into());
        let group = started.recv().unwrap_or_else(lost)?;
        Ok(Self { group, end })
    }

    /// The id of the process, which is that of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.group.0.id()
    }

    /// Its standard input.
    ///
    /// # Errors
    /// When it is not a pipe, or was taken before.
    pub fn take_stdin(&self) -> io::Result<InputPipe<ChildStdin>> {
        let pipe = self.group.0.take_stdin().ok_or_else(no_pipe)?;
        InputPipe::new(pipe, self.end.clone())
    }

    /// Its standard output. It ends with the process.
    ///
    /// # Errors
    /// When it is not a pipe, or was taken before.
    pub fn take_stdout(&self) -> io::Result<OutputPipe<ChildStdout>> {
        let pipe = self.group.0.take_stdout().ok_or_else(no_pipe)?;
        OutputPipe::new(pipe, self.end.clone())
    }

    /// Its standard error. It ends with the process.
    ///
    /// # Errors
    /// When it is not a pipe, or was taken before.
    pub fn take_stderr(&self) -> io::Result<OutputPipe<ChildStderr>> {
        let pipe = self.group.0.take_stderr().ok_or_else(no_pipe)?;
        OutputPipe::new(pipe, self.end.clone())
    }

    /// Whether the process has ended. Does not reap it: its id is not reused.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.group.0.has_ended()
    }

    /// Kills the process and its group at once.
    pub fn kill(&self) {
        self.group.0.kill_group();
    }

    /// Waits for the end of the process, at most for this time, and reaps it then. `None`: it still runs.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let has_ended = self.group.0.wait_at_most(limit);
        has_ended.then(|| self.group.0.reap_group().ok()).flatten()
    }

    /// Waits for the end of the process at most for this time, then kills its group, and reaps it. Returns its exit
    /// status; `None`: it did not end by itself.
    ///
    /// Ask the process to end before, by closing its input or its connection.
    pub fn end_within(&self, grace: Duration) -> Option<ExitStatus> {
        let status = self.wait(grace);
        if status.is_none() {
            self.kill();
            // How it ended is known: it was killed.
            let _ = self.wait(REAP_TIMEOUT);
        }
        status
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.end_within(Duration::ZERO);
    }
}

impl Drop for ReapedGroup {
    fn drop(&mut self) {
        // The process has ended: this does not wait. It fails when the process was reaped before.
        let _ = self.0.reap_group();
    }
}

/// Makes the system kill the process when the thread that starts it ends, and so when the program ends. Linux only.
pub fn kill_with_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        let kill_at_end = || {
            let signal = rustix::process::Signal::KILL;
            Ok(rustix::process::set_parent_process_death_signal(Some(
                signal,
            ))?)
        };
        // SAFETY: between fork and exec it makes one system call, and allocates no memory.
        unsafe { command.pre_exec(kill_at_end) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Limits the memory of the process, in bytes of its address space. It is refused more, and usually ends then. A lower
/// limit of this process stays. Linux only.
pub fn limit_memory(command: &mut Command, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        use std::os::unix::process::CommandExt as _;
        let limit = lowered_to(getrlimit(Resource::As), bytes);
        let set_limit = move || Ok(setrlimit(Resource::As, limit)?);
        // SAFETY: between fork and exec it makes one system call, and allocates no memory.
        unsafe { command.pre_exec(set_limit) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (command, bytes);
}

/// A limit that is this low at least. Raising one is refused.
#[cfg(target_os = "linux")]
fn lowered_to(own: rustix::process::Rlimit, bytes: u64) -> rustix::process::Rlimit {
    let lowered = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
    rustix::process::Rlimit {
        current: lowered(own.current),
        maximum: lowered(own.maximum),
    }
}

fn no_pipe() -> io::Error {
    io::Error::other("it is not a pipe, or was taken before")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Supervised {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        Supervised::spawn("shell", command, || ()).unwrap()
    }

    #[test]
    fn its_end_is_reported_with_its_status() {
        let (sender, end) = mpsc::channel();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]);
        let on_end = move || sender.send(()).unwrap();
        let child = Supervised::spawn("shell", command, on_end).unwrap();
        end.recv().unwrap();
        assert!(child.has_ended());
        let codes = [child.wait(Duration::ZERO), child.end_within(SHUTDOWN_GRACE)];
        assert_eq!(codes.map(|status| status.unwrap().code()), [Some(3); 2]);
        child.kill();
    }

    #[test]
    fn a_command_that_does_not_exist_is_an_error() {
        let command = Command::new("/no/such/program");
        let error = Supervised::spawn("none", command, || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_process_that_does_not_end_is_killed_after_its_grace() {
        let child = shell("exec sleep 60");
        assert!(child.wait(Duration::from_millis(10)).is_none());
        let began = Instant::now();
        assert!(child.end_within(Duration::from_millis(100)).is_none());
        assert!(began.elapsed() >= Duration::from_millis(100));
        assert!(child.has_ended());
    }

    #[test]
    fn an_output_ends_with_the_process_and_its_group() {
        for script in [
            "sleep 1000 & echo done",
            // In a session of its own, out of the reach of a signal to the group.
            "setsid sleep 100 & echo done",
        ] {
            let began = Instant::now();
            let child = shell(script);
            let mut text = String::new();
            child
                .take_stdout()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "done\n");
            assert!(began.elapsed() < Duration::from_secs(80), "{script}");
            assert!(child.take_stdout().is_err());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn its_memory_has_a_limit() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -v"]).stdout(Stdio::piped());
        limit_memory(&mut command, 1 << 30);
        let child = Supervised::spawn("shell", command, || ()).unwrap();
        let mut text = String::new();
        let mut stdout = child.take_stdout().unwrap();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("{}\n", 1 << 20));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_limit_is_never_raised() {
        let limit = |current, maximum| rustix::process::Rlimit { current, maximum };
        for (own, lowered) in [
            (limit(None, None), [Some(8), Some(8)]),
            (limit(Some(5), None), [Some(5), Some(8)]),
            (limit(Some(9), Some(9)), [Some(8), Some(8)]),
            (limit(Some(3), Some(6)), [Some(3), Some(6)]),
        ] {
            let found = lowered_to(own, 8);
            assert_eq!([found.current, found.maximum], lowered);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn dropping_it_leaves_no_process() {
        let child = shell("sleep 60 & echo $!; wait");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.take_stdout().unwrap());
        stdout.read_line(&mut line).unwrap();
        let id = child.id();
        drop(child);
        let stat = |id: &str| std::fs::read_to_string(format!("/proc/{id}/stat"));
        assert!(stat(&id.to_string()).is_err(), "it is reaped");
        let began = Instant::now();
        // A zombie that its parent has not reaped is gone too.
        while stat(line.trim()).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(began.elapsed() < Duration::from_secs(10), "{line}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
