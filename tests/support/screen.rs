//! A screen in memory (Xvfb) with a real mouse and keyboard (XTEST).

#![expect(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic and say so"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, ImageFormat,
    InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, MapState, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again until there is an answer.
///
/// # Panics
/// When there is none for a minute.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        sleep(Duration::from_millis(2));
    }
}

/// An X server of its own on a free display. It ends when it is dropped.
pub struct Screen {
    server: Child,
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
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x1200x24"])
            .args(["-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is not installed: `./x test` does it, or install the package `xvfb`");
        let mut number = String::new();
        let stdout = server.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut number)
            .expect("Xvfb says its display's number");
        assert!(!number.trim().is_empty(), "Xvfb did not start");
        let display = format!(":{}", number.trim());
        let (connection, screen) =
            RustConnection::connect(Some(&display)).expect("a connection to Xvfb");
        let root = connection.setup().roots[screen].root;
        Self {
            server,
            display,
            connection,
            root,
        }
    }

    /// What DISPLAY is to be.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Waits for a window to be on the screen, gives it the keyboard, and says where its inside
    /// begins.
    pub fn window(&self, title: &str) -> [i16; 2] {
        let window = wait_for("window", || self.find(title));
        let place = self
            .connection
            .translate_coordinates(window, self.root, 0, 0)
            .expect("the server is there")
            .reply()
            .expect("the window is there");
        self.connection
            .set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME)
            .expect("the server is there")
            .check()
            .expect("the window can have the keyboard");
        [place.dst_x, place.dst_y]
    }

    /// Whether a window of that title is on the screen.
    pub fn has_window(&self, title: &str) -> bool {
        self.find(title).is_some()
    }

    fn find(&self, title: &str) -> Option<Window> {
        let tree = self.connection.query_tree(self.root).ok()?.reply().ok()?;
        tree.children.into_iter().find(|&window| {
            // Windows may go while they are asked.
            let (name, text) = (AtomEnum::WM_NAME, AtomEnum::ANY);
            let name = self
                .connection
                .get_property(false, window, name, text, 0, 64);
            let name = name.ok().and_then(|name| name.reply().ok());
            let state = self.connection.get_window_attributes(window);
            let state = state.ok().and_then(|state| state.reply().ok());
            name.is_some_and(|name| name.value == title.as_bytes())
                && state.is_some_and(|state| state.map_state == MapState::VIEWABLE)
        })
    }

    /// Moves the pointer.
    pub fn move_to(&self, [x, y]: [i16; 2]) {
        self.input(MOTION_NOTIFY_EVENT, 0, [x, y]);
    }

    /// Presses the left button.
    pub fn press(&self) {
        self.input(BUTTON_PRESS_EVENT, 1, [0, 0]);
    }

    /// Releases the left button.
    pub fn release(&self) {
        self.input(BUTTON_RELEASE_EVENT, 1, [0, 0]);
    }

    /// Types a key, given by its X11 symbol.
    pub fn key(&self, symbol: u32) {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let map = self
            .connection
            .get_keyboard_mapping(first, last - first + 1)
            .expect("the server is there")
            .reply()
            .expect("a keyboard");
        let place = map
            .keysyms
            .chunks(usize::from(map.keysyms_per_keycode))
            .position(|symbols| symbols.contains(&symbol))
            .expect("a key of that symbol");
        let code = first + place as u8;
        self.input(KEY_PRESS_EVENT, code, [0, 0]);
        self.input(KEY_RELEASE_EVENT, code, [0, 0]);
    }

    fn input(&self, kind: u8, detail: u8, [x, y]: [i16; 2]) {
        self.connection
            .xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0)
            .expect("the server is there")
            .check()
            .expect("XTEST works");
    }

    /// Red, green, blue of a point on the screen.
    pub fn pixel(&self, [x, y]: [i16; 2]) -> [u8; 3] {
        let image = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, self.root, x, y, 1, 1, u32::MAX)
            .expect("the server is there")
            .reply()
            .expect("a pixel");
        [image.data[2], image.data[1], image.data[0]]
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
