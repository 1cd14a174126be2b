//! The process of a check with all that it starts itself: watched, killed and buried together.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A process. What is left of it is killed when this is dropped.
pub struct Process {
    child: Child,
    /// Its end tells the process that this program is gone.
    _life: Option<ChildStdin>,
}

/// A process that was killed may take so long to go.
const BURIAL: Duration = Duration::from_secs(10);

impl Process {
    /// Starts a process that is listened to, and that no Ctrl-C but this program ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.spawn()?;
        let life = child.stdin.take();
        Ok(Self { child, _life: life })
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

    /// Whether it has ended. It is not buried yet: its number stays its own.
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

    /// Kills it, and what it started and did not take away from it. It must not be buried.
    pub fn kill(&mut self) {
        // Both fail when nobody is left.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.kill();
    }

    /// Buries it, and says how it ended. `None`: it is in the hands of the system, and does not go.
    pub fn bury(mut self) -> Option<ExitStatus> {
        self.kill();
        if self.ends_within(BURIAL) {
            self.child.wait().ok()
        } else {
            None
        }
    }
}

/// Within such a process: ends it, and what it started, when the program that started it is gone, whatever the
/// plugin is doing. Takes standard input away, so that no plugin reads from it.
///
/// # Errors
/// What the system says.
#[cfg(unix)]
pub fn end_with_parent() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let life = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    let watch = move || {
        loop {
            let mut lives = [PollFd::new(&life, PollFlags::empty())];
            match poll(&mut lives, None) {
                Ok(_) if lives[0].revents().contains(PollFlags::HUP) => break,
                Err(rustix::io::Errno::INTR) => {}
                // The plugin has closed it: nothing can be watched any more, and there is nothing left to close.
                Ok(_) | Err(_) => return std::mem::forget(life),
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
