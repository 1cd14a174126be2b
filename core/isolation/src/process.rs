//! The process of a stage: started, killed, reaped.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use flowpipe_host::instance::Death;
use flowpipe_process::group::ProcessGroup;
use flowpipe_process::status::describe;
use flowpipe_sync::lock;

use crate::Program;
use crate::output::{CapturedOutput, Log};
use crate::wire::Wire;

/// A child process, with functions to kill it from any thread.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    group: ProcessGroup,
    /// Closed when the process is killed, so that no thread blocks on them, even if its children keep the other ends
    /// open.
    sockets: Vec<UnixStream>,
    state: Mutex<ChildState>,
    output: CapturedOutput,
}

#[derive(Debug, Default)]
struct ChildState {
    busy: bool,
    /// Why it was killed during a call.
    killed: Option<String>,
    /// Why it was killed for an invalid packet.
    rejected: Option<String>,
}

/// The host's ends of the connections, and the end that is sent to the process.
pub(crate) struct Ends {
    pub call: Wire,
    pub side: Wire,
    pub their_side: OwnedFd,
}

/// How long a process may take to end after its connection is closed.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// How long a killed process may take to end.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a packet may take to send.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a process for a stage.
///
/// # Errors
/// When the system can't create a process or a socket.
pub(crate) fn start(program: &Program, stage: &str) -> io::Result<(ChildProcess, Ends)> {
    let (call, their_call) = UnixStream::pair()?;
    let (side, their_side) = UnixStream::pair()?;
    let sockets = vec![call.try_clone()?, side.try_clone()?];
    let child = spawn(program, Some(stage), their_call, sockets)?;
    let ends = Ends {
        call: Wire::to_child(call, SEND_TIMEOUT)?,
        side: Wire::to_child(side, SEND_TIMEOUT)?,
        their_side: OwnedFd::from(their_side),
    };
    Ok((child, ends))
}

/// Starts a process that reads manifests, with a connection to it.
///
/// # Errors
/// When the system can't create a process or a socket.
pub(crate) fn start_scanner(program: &Program) -> io::Result<(ChildProcess, Wire)> {
    let (call, their_call) = UnixStream::pair()?;
    let sockets = vec![call.try_clone()?];
    let child = spawn(program, None, their_call, sockets)?;
    Ok((child, Wire::to_child(call, SEND_TIMEOUT)?))
}

fn spawn(
    program: &Program,
    stage: Option<&str>,
    their_call: UnixStream,
    sockets: Vec<UnixStream>,
) -> io::Result<ChildProcess> {
    // Output of plugins is no output of the program, and must not reach its terminal.
    let name = stage.unwrap_or("scan-plugins");
    let (output, [stdout, stderr]) = CapturedOutput::start(name, log(stage))?;
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .args(stage)
        // Only standard input passes the connection to this process alone, and not to others that are started at the
        // same time. The process moves it to another descriptor at once.
        .stdin(Stdio::from(OwnedFd::from(their_call)))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    Ok(ChildProcess {
        group: ProcessGroup::spawn(&mut command)?,
        sockets,
        state: Mutex::default(),
        output,
    })
}

/// Logs printed lines as warnings: plugins have a log, and a line that bypasses it is mostly a panic's.
fn log(stage: Option<&str>) -> Log {
    const TARGET: &str = "flowpipe::output";
    match stage.map(str::to_owned) {
        Some(stage) => Box::new(move |line| tracing::warn!(target: TARGET, stage, "{line}")),
        None => Box::new(|line| tracing::warn!(target: TARGET, "{line}")),
    }
}

impl ChildProcess {
    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.group.id()
    }

    /// A call starts.
    pub(crate) fn start_call(&self) {
        lock(&self.state).busy = true;
    }

    /// A call has returned. False: the process was killed meanwhile.
    pub(crate) fn end_call(&self) -> bool {
        let mut state = lock(&self.state);
        state.busy = false;
        state.killed.is_none()
    }

    /// Whether a call is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        lock(&self.state).busy
    }

    /// Kills it because its call does not return, unless the call has just returned.
    pub(crate) fn kill(&self, why: &str) {
        let mut state = lock(&self.state);
        if state.busy && state.killed.is_none() {
            state.killed = Some(why.to_owned());
            self.end();
        }
    }

    /// Kills it because it sent an invalid packet.
    pub(crate) fn reject(&self, why: &str) {
        lock(&self.state).rejected = Some(why.to_owned());
        self.end();
    }

    /// Kills it at once.
    pub(crate) fn end(&self) {
        self.group.kill();
        self.disconnect();
    }

    fn disconnect(&self) {
        for socket in &self.sockets {
            // An error means that the other side is gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Waits for its end, which is near. Returns how it ended.
    pub(crate) fn reap(&self) -> Death {
        let status = self.wait(SHUTDOWN_GRACE);
        self.disconnect();
        // What it printed before it died is logged before its death is reported.
        self.output.finish();
        let ChildState {
            killed, rejected, ..
        } = std::mem::take(&mut *lock(&self.state));
        if let Some(why) = rejected {
            return Death {
                hung: false,
                text: format!("its process was killed for an invalid packet: {why}"),
            };
        }
        match (killed, status) {
            (Some(why), _) => Death {
                hung: true,
                text: format!("{why}; its process was killed"),
            },
            (None, Some(status)) => Death {
                hung: false,
                text: format!("its process {}", describe(status)),
            },
            (None, None) => Death {
                hung: false,
                text: "its process closed its connection to flowpipe, and was killed".to_owned(),
            },
        }
    }

    /// Logs the rest of its output. Call it when the process has ended.
    pub(crate) fn finish_output(&self) {
        self.output.finish();
    }

    /// Whether it has ended. Does not reap it: its id is not reused.
    pub(crate) fn has_ended(&self) -> bool {
        self.group.has_ended()
    }

    /// Kills it unless it ends within this time, and in any case all other processes in its group. Must not be called
    /// after it was reaped. Returns its exit status if it ended by itself.
    pub(crate) fn end_group(&self, limit: Duration) -> Option<ExitStatus> {
        let has_ended = self.group.wait_at_most(limit);
        self.group.kill_group();
        let status = self.wait(REAP_TIMEOUT);
        self.output.finish();
        status.filter(|_| has_ended)
    }

    /// Its exit status; `None`: it did not end by itself and was killed.
    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let has_ended = self.group.wait_at_most(limit);
        if !has_ended {
            self.group.kill();
        }
        // A killed process ends soon: this does not wait long.
        let status = self.group.reap().ok();
        status.filter(|_| has_ended)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.disconnect();
        self.group.kill();
        // Leaves no zombie.
        let _ = self.group.reap();
        self.output.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> ChildProcess {
        let program = Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
        };
        start(&program, "a-stage").unwrap().0
    }

    fn death(script: &str) -> Death {
        shell(script).reap()
    }

    #[test]
    fn reports_how_it_ended() {
        for (script, text) in [
            ("exit 3", "its process exited with code 3"),
            ("kill -SEGV $$", "its process was killed by SIGSEGV"),
            ("kill -ABRT $$", "its process aborted (SIGABRT"),
            (
                "kill -KILL $$",
                "its process was killed by SIGKILL (out of memory?)",
            ),
        ] {
            let death = death(script);
            assert!(death.text.starts_with(text), "{death:?}");
            assert!(!death.hung);
        }
    }

    #[test]
    fn its_children_are_not_waited_for() {
        let child = shell("sleep 60 & echo $!; exit 3");
        let began = Instant::now();
        let death = child.reap();
        assert_eq!(death.text, "its process exited with code 3");
        drop(child);
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn kill_acts_only_during_a_call() {
        let child = shell("exec sleep 60");
        child.kill("too early");
        child.start_call();
        child.kill("it hangs");
        assert!(!child.end_call());
        let death = child.reap();
        assert!(death.hung);
        assert_eq!(death.text, "it hangs; its process was killed");
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let death = death("exec sleep 60");
        assert!(death.text.contains("closed its connection"), "{death:?}");
    }
}
