//! A child process with all that it starts: watched, killed and reaped together.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A child process that leads a process group of its own, so that Ctrl-C in a terminal is not for it.
///
/// Any thread may use it. Dropping it does nothing to the process: call [`Self::kill_group`] and [`Self::reap`].
#[derive(Debug)]
pub struct ProcessGroup {
    id: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Set when the process is reaped: from then on its number may be another's.
    status: Option<ExitStatus>,
}

/// How often a process is looked at while a thread waits for its end with a limit: first, and at most.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(10));

impl ProcessGroup {
    /// Starts a command.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn()?;
        Ok(Self {
            id: child.id(),
            state: Mutex::new(State {
                child,
                status: None,
            }),
        })
    }

    /// The number of the process, which is that of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its standard input, if it is a pipe that nobody has taken yet.
    pub fn take_stdin(&self) -> Option<ChildStdin> {
        self.state().child.stdin.take()
    }

    /// Its standard output, if it is a pipe that nobody has taken yet.
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.state().child.stdout.take()
    }

    /// Its standard error, if it is a pipe that nobody has taken yet.
    pub fn take_stderr(&self) -> Option<ChildStderr> {
        self.state().child.stderr.take()
    }

    /// Whether the process has ended. It is not reaped by this.
    pub fn has_ended(&self) -> bool {
        let mut state = self.state();
        state.status.is_some() || has_ended(&mut state)
    }

    /// Waits for the end of the process, at most so long. Whether it has ended; it is not reaped by this.
    pub fn wait_at_most(&self, limit: Duration) -> bool {
        let began = Instant::now();
        let (mut interval, longest) = POLL_INTERVAL;
        while !self.has_ended() {
            if began.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(interval);
            interval = (interval * 2).min(longest);
        }
        true
    }

    /// Waits for the end of the process, however long that takes. It is not reaped by this.
    pub fn wait(&self) {
        #[cfg(unix)]
        {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            if self.state().status.is_some() {
                return;
            }
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let process = WaitId::Pid(pid(self.id));
            // Another error means that it is reaped.
            while let Err(rustix::io::Errno::INTR) = waitid(process.clone(), options) {}
        }
        #[cfg(not(unix))]
        while !self.wait_at_most(Duration::from_secs(1)) {}
    }

    /// Kills the process. What it has started continues.
    pub fn kill(&self) {
        let mut state = self.state();
        if state.status.is_none() {
            // It fails when it has ended.
            let _ = state.child.kill();
        }
    }

    /// Kills the process and all that is in its group. On systems without process groups, the process alone.
    pub fn kill_group(&self) {
        let mut state = self.state();
        if state.status.is_none() {
            kill_group(&mut state);
        }
    }

    /// Reaps the process: waits for its end, which must be near, since every other call waits meanwhile.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn reap(&self) -> io::Result<ExitStatus> {
        reap(&mut self.state())
    }

    /// Reaps the process as [`Self::reap`] does, and kills what is left in its group before its number is free.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn reap_group(&self) -> io::Result<ExitStatus> {
        let mut state = self.state();
        if state.status.is_none() {
            kill_group(&mut state);
        }
        reap(&mut state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reap(state: &mut State) -> io::Result<ExitStatus> {
    let status = state.child.wait()?;
    state.status = Some(status);
    Ok(status)
}

#[cfg(unix)]
fn has_ended(state: &mut State) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(Pid::from_child(&state.child)), options) {
        Ok(ended) => ended.is_some(),
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

#[cfg(not(unix))]
fn has_ended(state: &mut State) -> bool {
    !matches!(state.child.try_wait(), Ok(None))
}

fn kill_group(state: &mut State) {
    #[cfg(unix)]
    {
        let leader = rustix::process::Pid::from_child(&state.child);
        // It fails when nobody is left in it.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
    // It fails when it has ended.
    let _ = state.child.kill();
}

#[cfg(unix)]
fn pid(id: u32) -> rustix::process::Pid {
    // The system's numbers are positive and fit.
    rustix::process::Pid::from_raw(id.cast_signed()).unwrap_or(rustix::process::Pid::INIT)
}

/// Has the system kill the process when the thread that starts it ends, and so with the program. On Linux only: other
/// systems can't.
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
        // SAFETY: between fork and exec it makes one system call, and takes no memory.
        unsafe { command.pre_exec(kill_at_end) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> ProcessGroup {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        ProcessGroup::spawn(&mut command).unwrap()
    }

    #[test]
    fn its_status_is_there_after_its_end() {
        let group = shell("exit 3");
        group.wait();
        assert!(group.has_ended());
        assert_eq!(group.reap().unwrap().code(), Some(3));
        assert!(group.has_ended());
        group.wait();
        group.kill();
        group.kill_group();
    }

    #[test]
    fn one_that_does_not_end_is_waited_for_no_longer_than_the_limit() {
        let group = shell("exec sleep 60");
        assert!(!group.wait_at_most(Duration::from_millis(10)));
        group.kill();
        assert!(group.wait_at_most(Duration::from_secs(10)));
        assert_eq!(group.reap_group().unwrap().code(), None);
    }

    #[test]
    fn what_it_started_is_killed_with_it() {
        let group = shell("sleep 60 & echo $!; exit 0");
        let mut line = String::new();
        let mut stdout = BufReader::new(group.take_stdout().unwrap());
        stdout.read_line(&mut line).unwrap();
        group.wait();
        group.reap_group().unwrap();
        // The pipe ends when nobody holds its other end any more.
        assert_eq!(stdout.read_line(&mut String::new()).unwrap(), 0);
    }
}
