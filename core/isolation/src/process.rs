//! The process of a stage: started, killed, reaped.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_host::instance::Death;
use flowpipe_process::host;
use flowpipe_process::status::describe;
use flowpipe_process::supervised::{SHUTDOWN_GRACE, Supervised};
use flowpipe_sync::lock;

use crate::Program;
use crate::output::{CapturedOutput, Log};
use crate::wire::Wire;

/// A child process with its process group, and functions to kill them from any thread. Nothing in the group outlives
/// the process: a plugin may fork, and a copy holds the other ends of the connections.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    supervised: Supervised,
    /// Closed when the process is killed or has ended, so that no thread blocks on them, even if another process keeps
    /// the other ends open.
    sockets: Arc<Vec<UnixStream>>,
    state: Mutex<ChildState>,
    output: CapturedOutput,
}

#[derive(Debug, Default)]
struct ChildState {
    busy: bool,
    /// Why it was killed during a call.
    killed: Option<String>,
    /// What it was killed for, if that was not a call: an invalid packet, or too many frames.
    rejected: Option<String>,
}

/// The host's ends of the connections, and the end that is sent to the process.
pub(crate) struct Ends {
    pub call: Wire,
    pub side: Wire,
    pub their_side: OwnedFd,
}

/// How long the packets of a process that has ended may take to arrive, if a process outside of its group keeps the
/// other ends open.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

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
        .env(host::VARIABLE, std::process::id().to_string())
        // Only standard input passes the connection to this process alone, and not to others that are started at the
        // same time. The process moves it to another descriptor at once.
        .stdin(Stdio::from(OwnedFd::from(their_call)))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    let sockets = Arc::new(sockets);
    let connection = Arc::downgrade(&sockets);
    // Otherwise a copy of the process would keep the connections open, and a crash would look like a hang.
    let disconnect_at_end = move || {
        std::thread::sleep(DRAIN_TIMEOUT);
        // They are closed if this process value is gone.
        if let Some(sockets) = connection.upgrade() {
            disconnect(&sockets);
        }
    };
    Ok(ChildProcess {
        supervised: Supervised::spawn(&format!("{name}/end"), command, disconnect_at_end)?,
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
        self.supervised.id()
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
        self.end_for(format!(" for an invalid packet: {why}"));
    }

    /// Kills it because it holds more than it may.
    pub(crate) fn exceed(&self, why: &str) {
        self.end_for(format!(": {why}"));
    }

    fn end_for(&self, why: String) {
        lock(&self.state).rejected = Some(why);
        self.end();
    }

    /// Kills it and its group at once.
    pub(crate) fn end(&self) {
        self.supervised.kill();
        self.disconnect();
    }

    fn disconnect(&self) {
        disconnect(&self.sockets);
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
                text: format!("its process was killed{why}"),
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

    /// Whether it has ended. Does not reap it: its id is not reused.
    pub(crate) fn has_ended(&self) -> bool {
        self.supervised.has_ended()
    }

    /// Reaps it, as [`Self::wait`] does, and logs the rest of its output.
    pub(crate) fn wait_with_output(&self, limit: Duration) -> Option<ExitStatus> {
        let status = self.wait(limit);
        self.output.finish();
        status
    }

    /// Kills it unless it ends within this time, and in any case all other processes in its group. Its exit status;
    /// `None`: it did not end by itself.
    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        self.supervised.end_within(limit)
    }
}

fn disconnect(sockets: &[UnixStream]) {
    for socket in sockets {
        // An error means that the other side is gone.
        let _ = socket.shutdown(Shutdown::Both);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.disconnect();
        self.wait_with_output(Duration::ZERO);
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
    fn its_children_are_killed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note");
        let script = format!("sleep 60 & echo $! > {}; exit 3", note.display());
        let child = shell(&script);
        let began = Instant::now();
        let death = child.reap();
        assert_eq!(death.text, "its process exited with code 3");
        assert!(began.elapsed() < Duration::from_secs(10));
        let left = std::fs::read_to_string(note).unwrap();
        until_gone(&left);
    }

    /// The children hold the other end of the connection too.
    #[test]
    fn its_end_is_the_end_of_the_connection() {
        // The second starts a session of its own, out of the reach of a signal to the group.
        for script in [
            "exec 3<&0; sleep 60 <&3 & exit 3",
            "exec 3<&0; setsid sleep 10 <&3 & sleep 0.3; exit 3",
        ] {
            let program = Program {
                path: "/bin/sh".into(),
                // A shell gives what it starts in the background no standard input.
                arguments: vec!["-c".into(), script.into()],
            };
            let (child, ends) = start(&program, "a-stage").unwrap();
            let mut wire = ends.call;
            let began = Instant::now();
            assert!(wire.receive::<u32>().unwrap().is_none());
            assert!(began.elapsed() < Duration::from_secs(5));
            assert_eq!(child.reap().text, "its process exited with code 3");
        }
    }

    #[test]
    fn a_killed_process_takes_its_children_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note");
        let script = format!("sleep 60 & echo $! > {}; wait", note.display());
        let child = shell(&script);
        let mut left = String::new();
        while !left.ends_with('\n') {
            left = std::fs::read_to_string(&note).unwrap_or_default();
        }
        child.end();
        until_gone(&left);
    }

    fn until_gone(process: &str) {
        let began = Instant::now();
        let stat = format!("/proc/{}/stat", process.trim());
        // A zombie that its parent has not waited for is gone too.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            // It would end by itself after a minute.
            assert!(began.elapsed() < Duration::from_secs(30), "{process}");
            std::thread::sleep(Duration::from_millis(5));
        }
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
