//! PipeWire and what connects programs, in a folder of its own.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; no test passes by waiting.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// It ends when it is dropped.
pub(super) struct Daemon {
    /// They end in the opposite order.
    programs: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Daemon {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut daemon = Self {
            programs: Vec::new(),
            folder,
        };
        let bus = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>\
             <allow own=\"*\"/></policy></busconfig>",
            daemon.path("bus").display()
        );
        std::fs::write(daemon.path("bus.conf"), bus).unwrap();
        let config = format!("--config-file={}", daemon.path("bus.conf").display());
        daemon.run("dbus-daemon", &["--nofork", &config], "bus");
        daemon.run("pipewire", &[], "pipewire-0");
        daemon.run("wireplumber", &[], "");
        daemon
    }

    /// Starts a program, and waits for its socket.
    fn run(&mut self, program: &str, arguments: &[&str], socket: &str) {
        let started = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env(
                "DBUS_SESSION_BUS_ADDRESS",
                format!("unix:path={}", self.path("bus").display()),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.programs.push(started.unwrap_or_else(|error| {
            panic!("{program}: {error}: `./x test` installs it, or install packages-test.txt")
        }));
        let began = Instant::now();
        while !self.path(socket).exists() {
            assert!(began.elapsed() < PATIENCE, "{program} is not ready");
            sleep(Duration::from_millis(2));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path("pipewire-0")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            // It may have ended by itself; then there is nothing to end.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
