//! A child process with all that it starts: killed and reaped together.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A child process that leads a process group of its own: Ctrl-C in a terminal does not reach it.
///
/// Any thread may use it. Dropping it does nothing to the process: call [`Self::reap_group`].
#[derive(Debug)]
pub struct ProcessGroup {
    id: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Set when the process is reaped: the system may reuse its id from then on.
    status: Option<ExitStatus>,
}

/// How long a thread that waits with a limit sleeps between two checks: first, and at most.
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

    /// The id of the process, which is that of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its standard input; `None` if it is not a pipe, or was taken before.
    pub fn take_stdin(&self) -> Option<ChildStdin> {
        self.state().child.stdin.take()
    }

    /// Its standard output; `None` if it is not a pipe, or was taken before.
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.state().child.stdout.take()
    }

    /// Its standard error; `None` if it is not a pipe, or was taken before.
    pub fn take_stderr(&self) -> Option<ChildStderr> {
        self.state().child.stderr.take()
    }

    /// Whether the process has ended. Does not reap it.
    pub fn has_ended(&self) -> bool {
        let mut state = self.state();
        state.status.is_some() || has_ended(&mut state)
    }

    /// Waits for the end of the process, at most for this time. Returns whether it has ended. Does not reap it.
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

    /// Waits for the end of the process without a limit. Does not reap it.
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

    /// Kills the process and all that is in its group. On systems without process groups, the process alone.
    pub fn kill_group(&self) {
        let mut state = self.state();
        if state.status.is_none() {
            kill_group(&mut state);
        }
    }

    /// Reaps the process, and kills what is left in its group before the system may reuse its id. Waits for the end of
    /// the process, which must be near: every other call waits meanwhile.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn reap_group(&self) -> io::Result<ExitStatus> {
        let mut state = self.state();
        if state.status.is_none() {
            kill_group(&mut state);
        }
        let status = state.child.wait()?;
        state.status = Some(status);
        Ok(status)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    // The system's ids are positive and fit.
    rustix::process::Pid::from_raw(id.cast_signed()).unwrap_or(rustix::process::Pid::INIT)
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
        assert_eq!(group.reap_group().unwrap().code(), Some(3));
        assert!(group.has_ended());
        group.wait();
        group.kill_group();
    }

    #[test]
    fn one_that_does_not_end_is_waited_for_no_longer_than_the_limit() {
        let group = shell("exec sleep 60");
        assert!(!group.wait_at_most(Duration::from_millis(10)));
        group.kill_group();
        assert!(group.wait_at_most(Duration::from_secs(10)));
        assert_eq!(group.reap_group().unwrap().code(), None);
    }

    #[test]
    fn what_it_started_is_killed_with_it() {
        let group = shell("sleep 1000 & echo $!; exit 0");
        let mut line = String::new();
        let mut stdout = BufReader::new(group.take_stdout().unwrap());
        stdout.read_line(&mut line).unwrap();
        group.wait();
        group.reap_group().unwrap();
        // The pipe ends when nobody holds its other end any more.
        let began = Instant::now();
        assert_eq!(stdout.read_line(&mut String::new()).unwrap(), 0);
        assert!(began.elapsed() < Duration::from_secs(500));
    }
}
