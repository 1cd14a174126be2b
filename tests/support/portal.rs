//! A desktop portal in a session of its own: a bus, PipeWire, and the portal of wlroots' compositors, which shows the screen
//! of a sway. It asks nobody.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::sway::Sway;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session with all that belongs to it. It ends when it is dropped.
pub struct PortalSession {
    /// The bus first. They end in the opposite order.
    programs: Vec<Child>,
    folder: tempfile::TempDir,
    pub sway: Sway,
}

impl PortalSession {
    /// Starts one with a screen of a width and height in pixels and a scale, such as "1.25".
    ///
    /// # Panics
    /// When something of it is not installed or does not start.
    pub fn start(size: [u32; 2], scale: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("flowpipe-portal")
            .tempdir()
            .expect("a temporary folder");
        let mut session = Self {
            programs: Vec::new(),
            folder,
            sway: Sway::start(size, scale),
        };
        session.configure();
        let config = format!("--config-file={}", session.path("bus.conf").display());
        session.run("dbus-daemon", &["--nofork", &config]);
        session.wait_for(|it| it.path("bus").exists());
        session.run("pipewire", &[]);
        session.wait_for(|it| it.path("pipewire-0").exists());
        session.run("wireplumber", &[]);
        session.run("/usr/libexec/xdg-permission-store", &[]);
        session.build_shim();
        let shim = session.path("shim.so");
        let mut wlr = Command::new("/usr/libexec/xdg-desktop-portal-wlr");
        session.start_program(wlr.env("LD_PRELOAD", shim));
        session.wait_for(|it| it.has("org.freedesktop.impl.portal.desktop.wlr"));
        session.run("/usr/libexec/xdg-desktop-portal", &[]);
        session.wait_for(|it| it.has("org.freedesktop.portal.Desktop"));
        session
    }

    /// Writes what the programs read when they start.
    fn configure(&self) {
        let bus = format!(
            "<busconfig>\n\
             <type>session</type>\n\
             <listen>unix:path={}</listen>\n\
             <auth>EXTERNAL</auth>\n\
             <policy context=\"default\">\n\
             <allow user=\"*\"/>\n\
             <allow send_destination=\"*\"/>\n\
             <allow receive_sender=\"*\"/>\n\
             <allow own=\"*\"/>\n\
             </policy>\n\
             </busconfig>\n",
            self.path("bus").display()
        );
        let chooser = "[screencast]\nchooser_type=none\noutput_name=HEADLESS-1\n";
        let writable = "the temporary folder is writable";
        std::fs::create_dir_all(self.path("xdg-desktop-portal-wlr")).expect(writable);
        for (name, text) in [
            ("bus.conf", bus.as_str()),
            ("xdg-desktop-portal-wlr/config", chooser),
        ] {
            std::fs::write(self.path(name), text).expect(writable);
        }
    }

    /// Builds what makes the portal work without a graphics card.
    fn build_shim(&self) {
        let source = self.path("shim.c");
        std::fs::write(&source, include_str!("screencopy_shim.c")).expect("it is writable");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([self.path("shim.so"), source])
            .arg("-ldl")
            .status()
            .expect("a C compiler is installed: `./x test` does it, or install packages.txt");
        assert!(built.success(), "it compiles");
    }

    /// Starts a program in the session.
    ///
    /// # Panics
    /// When it is not installed.
    pub fn run(&mut self, program: &str, arguments: &[&str]) {
        self.start_program(Command::new(program).args(arguments));
    }

    fn start_program(&mut self, command: &mut Command) {
        self.set(command);
        let started = command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("GSETTINGS_BACKEND", "memory")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.programs.push(started.unwrap_or_else(|error| {
            panic!("{command:?}: {error}: `./x test` installs it, or install packages-test.txt")
        }));
    }

    /// Waits until something of the session is ready.
    ///
    /// # Panics
    /// When it is not, or a program has ended.
    pub fn wait_for(&mut self, is_ready: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_ready(self) {
            for program in &mut self.programs {
                let ended = program.try_wait().expect("it was started");
                assert!(ended.is_none(), "{program:?} did not start: {ended:?}");
            }
            assert!(began.elapsed() < PATIENCE, "the session is not ready");
            sleep(Duration::from_millis(10));
        }
    }

    /// Whether a name on the bus has an owner.
    pub fn has(&self, name: &str) -> bool {
        let mut gdbus = Command::new("gdbus");
        self.set(&mut gdbus);
        let asked = gdbus
            .args(["call", "--session", "--dest", "org.freedesktop.DBus"])
            .args(["--object-path", "/org/freedesktop/DBus"])
            .args(["--method", "org.freedesktop.DBus.NameHasOwner", name])
            .output()
            .expect("gdbus is installed: `./x test` does it");
        asked.stdout.starts_with(b"(true")
    }

    /// Ends the portal, as when it crashes.
    pub fn crash(&mut self) {
        end(self.programs.last_mut());
    }

    /// The address of the session's bus.
    pub fn bus(&self) -> String {
        format!("unix:path={}", self.path("bus").display())
    }

    /// A path in the session's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder in which what the portal gives for the next time is kept.
    pub fn state(&self) -> PathBuf {
        self.path("state/flowpipe")
    }

    /// Has a program started in it, and not on an X server. The variable of sway's own interface is not set.
    pub fn set(&self, command: &mut Command) {
        command
            .env("DBUS_SESSION_BUS_ADDRESS", self.bus())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("WAYLAND_DISPLAY", self.sway.wayland_socket())
            .env("XDG_SESSION_TYPE", "wayland")
            .env("XDG_CURRENT_DESKTOP", "sway")
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("DISPLAY")
            .env_remove("SWAYSOCK")
            .env_remove("WAYLAND_SOCKET");
    }
}

impl Drop for PortalSession {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            end(Some(program));
        }
    }
}

fn end(program: Option<&mut Child>) {
    if let Some(program) = program {
        // It may have ended by itself; then there is nothing to end.
        let _ = program.kill();
        let _ = program.wait();
    }
}
