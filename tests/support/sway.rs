//! A Wayland compositor with a screen in memory: sway, in a session of its own.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);
/// Sway refuses to be root. Then it is started as this user, who may do nothing.
const NOBODY: u32 = 65534;
/// Lines of its config: windows keep the size that they ask for, at a fixed place.
pub const FLOATING: &str = "for_window [title=\".*\"] floating enable, move absolute position 40 40\n\
                            focus_follows_mouse no\n";
/// The file in its folder with what DISPLAY is to be.
const X_DISPLAY: &str = "x-display";

/// A compositor. It ends when it is dropped.
pub struct Sway {
    compositor: Child,
    folder: tempfile::TempDir,
    socket: PathBuf,
}

impl Sway {
    /// Starts one with a screen of a width and height in pixels and a scale, such as "1.25".
    ///
    /// # Panics
    /// When sway is not installed or does not start.
    pub fn start(size: [u32; 2], scale: &str) -> Self {
        Self::start_with_config(size, scale, FLOATING)
    }

    /// The same with Xwayland, for programs of X11.
    ///
    /// # Panics
    /// As [`Sway::start`], and when Xwayland is not installed.
    pub fn start_with_xwayland(size: [u32; 2], scale: &str) -> Self {
        // Sway starts Xwayland when a program connects.
        let installed = Command::new("Xwayland").arg("-version").output();
        installed.expect(
            "Xwayland is not installed: `./x test` does it, or install the package `xwayland`",
        );
        let display = format!("exec sh -c 'echo $DISPLAY > $HOME/{X_DISPLAY}'");
        let config = format!("{FLOATING}xwayland enable\n{display}\n");
        Self::start_with(size, scale, &config)
    }

    /// The same with lines of its config in place of [`FLOATING`].
    ///
    /// # Panics
    /// As [`Sway::start`].
    pub fn start_with_config(size: [u32; 2], scale: &str, config: &str) -> Self {
        Self::start_with(size, scale, &format!("xwayland disable\n{config}\n"))
    }

    fn start_with(size: [u32; 2], scale: &str, more: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("flowpipe-sway")
            .tempdir()
            .expect("a temporary folder");
        let [width, height] = size;
        let config = format!(
            "output HEADLESS-1 resolution {width}x{height} scale {scale}\n\
             default_border normal 2\n{more}"
        );
        let path = folder.path().join("config");
        std::fs::write(&path, config).expect("the temporary folder is writable");
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(folder.path(), Some(NOBODY), None).expect("root gives files to others");
        }
        let mut command = as_its_user("sway".as_ref());
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).expect("it is this test's folder");
        let compositor = command
            .arg("--config")
            .arg(&path)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", folder.path())
            .env("XDG_RUNTIME_DIR", folder.path())
            .env("WLR_BACKENDS", "headless")
            .env("WLR_LIBINPUT_NO_DEVICES", "1")
            .env("WLR_RENDERER", "pixman")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sway is not installed: `./x test` does it, or install the package `sway`");
        let mut sway = Self {
            compositor,
            folder,
            socket: PathBuf::new(),
        };
        let began = Instant::now();
        while !sway.is_ready() {
            let ended = sway.compositor.try_wait().expect("it was started");
            assert!(ended.is_none(), "sway did not start: {ended:?}");
            assert!(began.elapsed() < PATIENCE, "sway is not ready");
            sleep(Duration::from_millis(10));
        }
        if is_root {
            sway.open_to_all();
        }
        sway
    }

    /// Lets isolated stages connect too: those of root give up root's rights.
    fn open_to_all(&self) {
        for (path, mode) in [
            (self.folder.path(), 0o755),
            (&self.wayland_socket(), 0o777),
            (&self.socket, 0o777),
        ] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("root may do that");
        }
    }

    /// Looks for its sockets.
    fn is_ready(&mut self) -> bool {
        let files = std::fs::read_dir(self.folder.path()).expect("it is there");
        let names: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().into_owned());
        let socket = names
            .iter()
            .find(|path| name(path).is_some_and(|it| it.starts_with("sway-ipc")));
        let display = names
            .iter()
            .any(|path| name(path).is_some_and(|it| it == self.display()));
        self.socket = socket.cloned().unwrap_or_default();
        display && socket.is_some()
    }

    /// Has it stand still, or go on.
    ///
    /// # Panics
    /// When it has ended.
    pub fn stand_still(&self, is_still: bool) {
        let process = rustix::process::Pid::from_child(&self.compositor);
        let signal = match is_still {
            true => rustix::process::Signal::STOP,
            false => rustix::process::Signal::CONT,
        };
        rustix::process::kill_process(process, signal).expect("sway runs");
    }

    /// What WAYLAND_DISPLAY is to be.
    pub fn display(&self) -> String {
        "wayland-1".to_owned()
    }

    /// The variables by which programs find it.
    pub fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("XDG_RUNTIME_DIR", self.folder.path().to_owned()),
            ("WAYLAND_DISPLAY", self.display().into()),
            ("SWAYSOCK", self.socket.clone()),
        ]
    }

    /// The socket on which it answers.
    pub fn wayland_socket(&self) -> PathBuf {
        self.folder.path().join(self.display())
    }

    /// The folder of its user.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The socket of its own interface.
    pub fn own_socket(&self) -> &Path {
        &self.socket
    }

    /// Has a program started in it, and not on an X server.
    pub fn set(&self, command: &mut Command) {
        command
            .envs(self.variables())
            .env("XDG_SESSION_TYPE", "wayland")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_SOCKET");
    }

    /// The command of a program on its Xwayland, which lets in no user but its own. That user may not run what is in the
    /// folders of others, so this is a copy.
    ///
    /// # Panics
    /// When it was started without Xwayland, or the program can't be copied.
    pub fn xwayland_command(&self, program: &Path) -> Command {
        let copy = self.folder.path().join("program");
        std::fs::copy(program, &copy).expect("it is copied");
        let began = Instant::now();
        let display = loop {
            let text = std::fs::read_to_string(self.folder.path().join(X_DISPLAY));
            match text.unwrap_or_default().trim() {
                "" => sleep(Duration::from_millis(10)),
                display => break display.to_owned(),
            }
            assert!(began.elapsed() < PATIENCE, "there is no Xwayland");
        };
        let mut command = as_its_user(copy.as_ref());
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("DISPLAY", display);
        command
    }

    /// Runs one of sway's commands.
    ///
    /// # Panics
    /// When it fails.
    pub fn command(&self, text: &str) {
        let mut swaymsg = Command::new("swaymsg");
        self.set(&mut swaymsg);
        let ran = swaymsg.arg(text).output().expect("swaymsg comes with sway");
        assert!(ran.status.success(), "{text}: {ran:?}");
    }

    /// Runs one of sway's commands that has to fail. Returns why it did, in sway's words.
    ///
    /// # Panics
    /// When it does not fail.
    pub fn refused(&self, text: &str) -> String {
        let mut swaymsg = Command::new("swaymsg");
        self.set(&mut swaymsg);
        let ran = swaymsg.args(["--raw", text]).output();
        let ran = ran.expect("swaymsg comes with sway");
        assert!(!ran.status.success(), "{text}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// The titles of the windows, as sway reports them.
    ///
    /// # Panics
    /// When sway does not answer.
    pub fn tree(&self) -> String {
        let mut swaymsg = Command::new("swaymsg");
        self.set(&mut swaymsg);
        let ran = swaymsg.args(["-t", "get_tree"]).output();
        let ran = ran.expect("swaymsg comes with sway");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

/// The command of a program as the user of the compositor.
fn as_its_user(program: &OsStr) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(program);
    command
}

impl Drop for Sway {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.compositor.kill();
        let _ = self.compositor.wait();
    }
}
