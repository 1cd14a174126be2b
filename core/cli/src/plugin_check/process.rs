//! The process group of a check: watched, killed and reaped.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A child process with its process group.
pub struct Process {
    child: Child,
    /// The process ends itself when this pipe is closed.
    _stdin: Option<ChildStdin>,
}

/// How long a killed process may take to end.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);

impl Process {
    /// Starts a process with piped streams, in a process group of its own: Ctrl-C does not end it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        Ok(Self {
            child,
            _stdin: stdin,
        })
    }

    /// Its standard output, the first time.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Its standard error, the first time.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Whether it ends within a time.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > limit {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Whether it has ended. It is not reaped yet, so its number is not reused.
    #[cfg(unix)]
    pub fn has_ended(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
            Ok(ended) => ended.is_some(),
            Err(error) => error != rustix::io::Errno::INTR,
        }
    }

    #[cfg(not(unix))]
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills its process group. It must not be reaped yet.
    pub fn kill(&mut self) {
        // Both fail if no process is left.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.kill();
    }

    /// Kills and reaps it, and returns its status. `None`: it does not end.
    pub fn reap(mut self) -> Option<ExitStatus> {
        self.kill();
        if self.ends_within(REAP_TIMEOUT) {
            self.child.wait().ok()
        } else {
            None
        }
    }
}

/// In the child: kills its process group when the parent is gone, whatever the plugin does. Replaces standard input, so
/// that no plugin reads it.
///
/// # Errors
/// The error of the system.
#[cfg(unix)]
pub fn end_with_parent() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdin = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    let watch = move || {
        loop {
            let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut polled, None) {
                Ok(_) if polled[0].revents().contains(PollFlags::HUP) => break,
                Err(rustix::io::Errno::INTR) => {}
                // The plugin has closed it: the parent can't be watched any more.
                Ok(_) | Err(_) => return,
            }
        }
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::KILL);
    };
    let thread = thread::Builder::new().name("flowpipe-watch".into());
    thread.spawn(watch).map(drop)
}

#[cfg(not(unix))]
pub fn end_with_parent() -> io::Result<()> {
    Ok(())
}
