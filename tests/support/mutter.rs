//! GNOME's Wayland compositor, Mutter, with a screen in memory, in a session of its own: a bus, PipeWire, and no shell.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);
/// Root starts it as this user, who may do nothing: so it is as on a desktop.
const NOBODY: u32 = 65534;
/// The name of the monitor.
pub const CONNECTOR: &str = "Meta-0";

/// Each draws without a graphics card: several at once would be slow.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A compositor with all that belongs to it. It ends when it is dropped.
pub struct Mutter {
    /// The bus first. They end in the opposite order.
    programs: Vec<Child>,
    folder: tempfile::TempDir,
    /// Given back when all else has ended.
    _alone: MutexGuard<'static, ()>,
}

impl Mutter {
    /// Starts one with a screen of a width and height in pixels and a scale, such as "1.25".
    ///
    /// # Panics
    /// When something of it is not installed or does not start.
    pub fn start(size: [u32; 2], scale: &str) -> Self {
        Self::start_with(&[size], scale)
    }

    /// Starts one with a screen for each size, from left to right. Without a scale where there are several.
    ///
    /// # Panics
    /// As above.
    pub fn start_with(sizes: &[[u32; 2]], scale: &str) -> Self {
        // A test that failed leaves nothing behind that matters to the next.
        let alone = ONE_AT_A_TIME.lock();
        let alone = alone.unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::Builder::new()
            .prefix("flowpipe-mutter")
            .tempdir()
            .expect("a temporary folder");
        let mut mutter = Self {
            programs: Vec::new(),
            folder,
            _alone: alone,
        };
        mutter.configure(sizes[0], scale);
        if is_root() {
            mutter.give_all();
        }
        let config = format!("--config-file={}", mutter.path("bus.conf").display());
        mutter.run("dbus-daemon", &["--nofork", &config]);
        mutter.wait_for(|it| it.path("bus").exists());
        mutter.run("pipewire", &[]);
        mutter.wait_for(|it| it.path("pipewire-0").exists());
        mutter.run("wireplumber", &[]);
        let display = mutter.display();
        let mut arguments = vec![
            "--headless",
            "--wayland",
            "--no-x11",
            "--wayland-display",
            &display,
        ];
        let monitors = sizes
            .iter()
            .map(|[width, height]| format!("{width}x{height}"));
        let monitors: Vec<String> = monitors.collect();
        for monitor in &monitors {
            arguments.extend(["--virtual-monitor", monitor]);
        }
        mutter.run("mutter", &arguments);
        mutter.wait_for(|it| it.wayland_socket().exists() && it.answers());
        if is_root() {
            mutter.open_to_all();
        }
        mutter
    }

    /// Writes what the programs read when they start.
    fn configure(&self, [width, height]: [u32; 2], scale: &str) {
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
        // GNOME scales by fractions only where it is set so. New windows have their places in the middle.
        let settings = "[org/gnome/mutter]\n\
                        experimental-features=['scale-monitor-framebuffer']\n\
                        center-new-windows=true\n\
                        auto-maximize=false\n";
        let monitors = format!(
            "<monitors version=\"2\"><configuration><logicalmonitor>\
             <x>0</x><y>0</y><scale>{scale}</scale><primary>yes</primary>\
             <monitor><monitorspec><connector>{CONNECTOR}</connector><vendor>MetaVendor</vendor>\
             <product>MetaVirtualMonitor</product><serial>0x00</serial></monitorspec>\
             <mode><width>{width}</width><height>{height}</height><rate>60.000</rate></mode></monitor>\
             </logicalmonitor></configuration></monitors>\n"
        );
        let writable = "the temporary folder is writable";
        std::fs::create_dir_all(self.path("glib-2.0/settings")).expect(writable);
        for (name, text) in [
            ("bus.conf", bus.as_str()),
            ("glib-2.0/settings/keyfile", settings),
            ("monitors.xml", &monitors),
        ] {
            std::fs::write(self.path(name), text).expect(writable);
        }
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(self.folder.path(), private).expect("it is this test's folder");
    }

    /// Gives everything in the folder to the user as whom the programs are started.
    fn give_all(&self) {
        for name in ["", "glib-2.0", "glib-2.0/settings"] {
            chown(self.path(name), Some(NOBODY), None).expect("root gives files to others");
        }
    }

    /// Lets isolated stages connect too: those of root give up root's rights.
    fn open_to_all(&self) {
        for (path, mode) in [
            (self.folder.path(), 0o755),
            (&self.wayland_socket(), 0o777),
            (&self.pipewire_socket(), 0o777),
        ] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("root may do that");
        }
    }

    fn run(&mut self, program: &str, arguments: &[&str]) {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            let user = NOBODY.to_string();
            command.args([
                "--reuid",
                &user,
                "--regid",
                &user,
                "--clear-groups",
                program,
            ]);
            command
        } else {
            Command::new(program)
        };
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("DBUS_SESSION_BUS_ADDRESS", self.bus())
            .env("GSETTINGS_BACKEND", "keyfile");
        self.programs.push(start_silent(&mut command));
    }

    fn wait_for(&mut self, is_ready: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_ready(self) {
            for program in &mut self.programs {
                let ended = program.try_wait().expect("it was started");
                assert!(ended.is_none(), "{program:?} did not start: {ended:?}");
            }
            assert!(began.elapsed() < PATIENCE, "Mutter is not ready");
            sleep(Duration::from_millis(10));
        }
    }

    /// Whether it answers on the bus.
    fn answers(&self) -> bool {
        ["DisplayConfig", "RemoteDesktop", "ScreenCast"]
            .iter()
            .all(|name| {
                let path = format!("/org/gnome/Mutter/{name}");
                let service = format!("org.gnome.Mutter.{name}");
                let asked = self.call(&service, &path, "org.freedesktop.DBus.Peer.Ping", &[]);
                asked.is_some()
            })
    }

    /// Calls a method on the bus. `None`: it failed.
    pub fn call(
        &self,
        service: &str,
        path: &str,
        method: &str,
        arguments: &[&str],
    ) -> Option<String> {
        let mut gdbus = Command::new("gdbus");
        self.set(&mut gdbus);
        let asked = gdbus
            .args([
                "call",
                "--session",
                "--dest",
                service,
                "--object-path",
                path,
            ])
            .args(["--method", method])
            .args(arguments)
            .output()
            .expect("gdbus is installed: `./x test` does it");
        let answer = String::from_utf8_lossy(&asked.stdout).into_owned();
        asked.status.success().then_some(answer)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What WAYLAND_DISPLAY is to be.
    pub fn display(&self) -> String {
        "wayland-1".to_owned()
    }

    /// The address of the session's bus.
    pub fn bus(&self) -> String {
        format!("unix:path={}", self.path("bus").display())
    }

    /// The socket on which PipeWire answers.
    pub fn pipewire_socket(&self) -> PathBuf {
        self.path("pipewire-0")
    }

    /// The socket on which the compositor answers.
    pub fn wayland_socket(&self) -> PathBuf {
        self.path(&self.display())
    }

    /// Has a program started in it, and not on an X server.
    pub fn set(&self, command: &mut Command) {
        command
            .env("DBUS_SESSION_BUS_ADDRESS", self.bus())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("WAYLAND_DISPLAY", self.display())
            .env("XDG_SESSION_TYPE", "wayland")
            .env("XDG_CURRENT_DESKTOP", "GNOME")
            .env_remove("DISPLAY")
            .env_remove("SWAYSOCK")
            .env_remove("WAYLAND_SOCKET");
    }

    /// Ends the compositor, as when it crashes.
    pub fn crash(&mut self) {
        end(self.programs.last_mut());
    }

    /// Kills PipeWire, through which the compositor sends pictures.
    pub fn kill_pipewire(&mut self) {
        const PIPEWIRE: usize = 1;
        end(self.programs.get_mut(PIPEWIRE));
    }

    /// Kills WirePlumber, without which PipeWire connects nobody.
    pub fn kill_wireplumber(&mut self) {
        const WIREPLUMBER: usize = 2;
        end(self.programs.get_mut(WIREPLUMBER));
    }

    /// Turns the monitor and sets its scale. `transform`: 0 upright, 1 by 90 degrees.
    ///
    /// # Panics
    /// When the compositor refuses.
    pub fn set_monitor(&self, size: [u32; 2], scale: &str, transform: u32) {
        let path = "/org/gnome/Mutter/DisplayConfig";
        let service = "org.gnome.Mutter.DisplayConfig";
        let call = |method: &str, arguments: &[&str]| {
            let method = format!("{service}.{method}");
            self.call(service, path, &method, arguments)
        };
        let state = call("GetCurrentState", &[]).expect("it answers");
        let serial = state
            .trim_start_matches("(uint32 ")
            .split(',')
            .next()
            .expect("a serial number");
        let [width, height] = size;
        let monitors = format!(
            "[(0, 0, {scale}, uint32 {transform}, true, [('{CONNECTOR}', '{width}x{height}@60.000', \
             @a{{sv}} {{}})])]"
        );
        let applied = call("ApplyMonitorsConfig", &[serial, "1", &monitors, "{}"]);
        assert!(applied.is_some(), "{state}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn end(program: Option<&mut Child>) {
    if let Some(program) = program {
        // It may have ended by itself; then there is nothing to end.
        let _ = program.kill();
        let _ = program.wait();
    }
}

/// Starts a program of a session. What it prints is of no use.
///
/// # Panics
/// When it is not installed.
pub fn start_silent(command: &mut Command) -> Child {
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("{program}: {error}: `./x test` installs it, or install packages-test.txt")
    })
}

impl Drop for Mutter {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            end(Some(program));
        }
    }
}
