//! A screen in memory (Xvfb) with a real mouse and keyboard (XTEST), with or without a window manager.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

#[path = "screen/input.rs"]
mod input;
#[path = "screen/pictures.rs"]
mod pictures;
#[path = "screen/windows.rs"]
mod windows;

#[path = "wait.rs"]
mod wait;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};
use x11rb::rust_connection::RustConnection;

pub use wait::wait_for;

/// An X server of its own on a free display. It ends when it is dropped.
pub struct Screen {
    server: Child,
    manager: Option<Child>,
    display: String,
    connection: RustConnection,
    root: Window,
}

impl Screen {
    /// Starts the server.
    ///
    /// # Panics
    /// When Xvfb is not installed or does not start.
    pub fn start() -> Self {
        Self::start_of([1280, 1200])
    }

    /// Starts a server whose screen has a width and height in pixels.
    ///
    /// # Panics
    /// As [`Screen::start`].
    pub fn start_of([width, height]: [u16; 2]) -> Self {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0"])
            .arg(format!("{width}x{height}x24"))
            .args(["-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is not installed: `./x test` does it, or install the package `xvfb`");
        let mut number = String::new();
        let stdout = server.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut number)
            .expect("Xvfb prints its display's number");
        assert!(!number.trim().is_empty(), "Xvfb did not start");
        let display = format!(":{}", number.trim());
        let (connection, screen) =
            RustConnection::connect(Some(&display)).expect("a connection to Xvfb");
        let root = connection.setup().roots[screen].root;
        Self {
            server,
            manager: None,
            display,
            connection,
            root,
        }
    }

    /// Starts the server, and in it a window manager: blackbox, where a click gives a window the
    /// keyboard.
    ///
    /// # Panics
    /// When Xvfb or blackbox is not installed or does not start.
    pub fn start_with_manager() -> Self {
        Self::start_with_manager_of([1280, 1200])
    }

    /// The same with a screen of a width and height in pixels.
    ///
    /// # Panics
    /// As [`Screen::start_with_manager`].
    pub fn start_with_manager_of(size: [u16; 2]) -> Self {
        let mut screen = Self::start_of(size);
        let manager = Command::new("blackbox")
            .args(["-display", &screen.display, "-rc", "/dev/null"])
            .env("HOME", "/nonexistent")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("blackbox is not installed: `./x test` does it, or install it by that name");
        screen.manager = Some(manager);
        let ready = screen.atom("_NET_SUPPORTING_WM_CHECK");
        wait_for("window manager", || {
            let property =
                screen
                    .connection
                    .get_property(false, screen.root, ready, AtomEnum::WINDOW, 0, 1);
            let property = property.ok()?.reply().ok()?;
            (property.length > 0).then_some(())
        });
        screen
    }

    /// The number of the server's process.
    pub fn server(&self) -> u32 {
        self.server.id()
    }

    /// What DISPLAY is to be.
    pub fn display(&self) -> &str {
        &self.display
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // They may have ended by themselves; then there is nothing to end.
        if let Some(manager) = &mut self.manager {
            let _ = manager.kill();
            let _ = manager.wait();
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
