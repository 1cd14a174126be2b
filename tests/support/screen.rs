//! A screen in memory (Xvfb) with a real mouse and keyboard (XTEST), with or without a window manager.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic and say so"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, CLIENT_MESSAGE_EVENT,
    ChangeWindowAttributesAux, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _,
    CreateGCAux, CreateWindowAux, EventMask, ImageFormat, InputFocus, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, KeyButMask, MOTION_NOTIFY_EVENT, MapState, PropMode, Rectangle, StackMode,
    Window, WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

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
            .expect("Xvfb says its display's number");
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

    /// Opens a plain window of one colour: its title, where its inside begins, its size.
    pub fn open(&self, title: &str, [x, y]: [i16; 2], size: [u16; 2], colour: [u8; 3]) -> Window {
        let window = self.connection.generate_id().expect("an id");
        let background = CreateWindowAux::new().background_pixel(pixel(colour));
        let [width, height] = size;
        self.connection
            .create_window(
                x11rb::COPY_DEPTH_FROM_PARENT,
                window,
                self.root,
                x,
                y,
                width,
                height,
                0,
                WindowClass::INPUT_OUTPUT,
                x11rb::COPY_FROM_PARENT,
                &background,
            )
            .expect("the server is there");
        self.rename(window, title);
        // "The user chose place and size": then managers leave them.
        let (hints, kind) = (AtomEnum::WM_NORMAL_HINTS, AtomEnum::WM_SIZE_HINTS);
        let mut chosen = [0_u32; 18];
        chosen[0] = 0b11;
        self.connection
            .change_property32(PropMode::REPLACE, window, hints, kind, &chosen)
            .expect("the server is there");
        self.connection
            .map_window(window)
            .expect("the server is there")
            .check()
            .expect("a window can be mapped");
        wait_for("window", || self.find(title));
        window
    }

    /// Gives a window another title.
    pub fn rename(&self, window: Window, title: &str) {
        let (name, kind) = (AtomEnum::WM_NAME, AtomEnum::STRING);
        self.connection
            .change_property8(PropMode::REPLACE, window, name, kind, title.as_bytes())
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Paints a rectangle of a window: from where, which size, which colour.
    pub fn paint(&self, window: Window, [x, y]: [i16; 2], size: [u16; 2], colour: [u8; 3]) {
        let context = self.connection.generate_id().expect("an id");
        let foreground = CreateGCAux::new().foreground(pixel(colour));
        let [width, height] = size;
        let rectangle = Rectangle {
            x,
            y,
            width,
            height,
        };
        self.connection
            .create_gc(context, window, &foreground)
            .expect("the server is there");
        self.connection
            .poly_fill_rectangle(window, context, &[rectangle])
            .expect("the server is there");
        self.connection
            .free_gc(context)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Closes a window that [`Screen::open`] opened.
    pub fn close(&self, window: Window) {
        self.connection
            .destroy_window(window)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Asks the manager to minimise a window; without one, takes it off the screen.
    pub fn minimise(&self, title: &str) {
        let window = wait_for("window", || self.find(title));
        if self.manager.is_none() {
            self.connection
                .unmap_window(window)
                .expect("the server is there")
                .check()
                .expect("the window is there");
            return;
        }
        let (iconic, change) = (3, self.atom("WM_CHANGE_STATE"));
        let event = ClientMessageEvent {
            response_type: CLIENT_MESSAGE_EVENT,
            format: 32,
            sequence: 0,
            window,
            type_: change,
            data: [iconic, 0, 0, 0, 0].into(),
        };
        let to = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection
            .send_event(false, self.root, to, event)
            .expect("the server is there")
            .check()
            .expect("the manager can be told");
    }

    /// Asks for another place of a window's corner: its inside's, or with a manager its frame's.
    pub fn move_window(&self, title: &str, [x, y]: [i16; 2]) {
        let to = ConfigureWindowAux::new().x(i32::from(x)).y(i32::from(y));
        self.configure(title, &to);
    }

    /// Asks for another size of a window's inside.
    pub fn resize_window(&self, title: &str, [width, height]: [u16; 2]) {
        let to = ConfigureWindowAux::new()
            .width(u32::from(width))
            .height(u32::from(height));
        self.configure(title, &to);
    }

    /// Asks for a window to be put over all others.
    pub fn raise_window(&self, title: &str) {
        let to = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.configure(title, &to);
    }

    /// A request of the window's own, which the manager, where there is one, sees first.
    fn configure(&self, title: &str, to: &ConfigureWindowAux) {
        let window = wait_for("window", || self.find(title));
        self.connection
            .configure_window(window, to)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    fn atom(&self, name: &str) -> u32 {
        self.connection
            .intern_atom(false, name.as_bytes())
            .expect("the server is there")
            .reply()
            .expect("an atom")
            .atom
    }

    fn find(&self, title: &str) -> Option<Window> {
        let tree = self.connection.query_tree(self.root).ok()?.reply().ok()?;
        let mut windows = tree.children;
        // With a manager, windows lie in frames, at most so deep.
        for _ in 0..3 {
            let found = windows.iter().find(|&&window| self.is_shown(window, title));
            if found.is_some() {
                return found.copied();
            }
            let children = windows.iter().filter_map(|&window| {
                let tree = self.connection.query_tree(window).ok()?.reply().ok()?;
                Some(tree.children)
            });
            windows = children.flatten().collect();
        }
        None
    }

    fn is_shown(&self, window: Window, title: &str) -> bool {
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
    }

    /// Where the pointer is.
    pub fn pointer(&self) -> [i16; 2] {
        let pointer = self
            .connection
            .query_pointer(self.root)
            .expect("the server is there")
            .reply()
            .expect("a pointer");
        [pointer.root_x, pointer.root_y]
    }

    /// From now on counts what the pointer does in a window.
    pub fn count_pointer_events(&self, window: Window) {
        let mask = EventMask::POINTER_MOTION | EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE;
        let attributes = ChangeWindowAttributesAux::new().event_mask(mask);
        self.connection
            .change_window_attributes(window, &attributes)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// How many moves, presses and releases there were since it was asked last.
    pub fn pointer_events(&self) -> usize {
        // The answer comes after all events before it.
        self.pointer();
        let next = || {
            self.connection
                .poll_for_event()
                .expect("the server is there")
        };
        std::iter::from_fn(next)
            .filter(|event| {
                matches!(
                    event,
                    Event::MotionNotify(_) | Event::ButtonPress(_) | Event::ButtonRelease(_)
                )
            })
            .count()
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

    /// Presses a button and keeps it down.
    pub fn hold_button(&self, button: u8) {
        self.input(BUTTON_PRESS_EVENT, button, [0, 0]);
    }

    /// Whether a button is down, from 1 to 5.
    pub fn is_held(&self, button: u8) -> bool {
        let pointer = self
            .connection
            .query_pointer(self.root)
            .expect("the server is there")
            .reply()
            .expect("a pointer");
        let first = u16::from(KeyButMask::BUTTON1);
        u16::from(pointer.mask) & (first << (button - 1)) != 0
    }

    /// Whether a key is down, given by its X11 symbol.
    pub fn key_is_down(&self, symbol: u32) -> bool {
        let keys = self
            .connection
            .query_keymap()
            .expect("the server is there")
            .reply()
            .expect("a keyboard")
            .keys;
        let code = self.key_code(symbol);
        keys[usize::from(code / 8)] & (1 << (code % 8)) != 0
    }

    /// Whether the left button is down.
    pub fn button_is_down(&self) -> bool {
        self.is_held(1)
    }

    /// Types a key, given by its X11 symbol.
    pub fn key(&self, symbol: u32) {
        self.hold_key(symbol);
        self.release_key(symbol);
    }

    /// Presses a key and keeps it down.
    pub fn hold_key(&self, symbol: u32) {
        self.input(KEY_PRESS_EVENT, self.key_code(symbol), [0, 0]);
    }

    /// Lets a key go.
    pub fn release_key(&self, symbol: u32) {
        self.input(KEY_RELEASE_EVENT, self.key_code(symbol), [0, 0]);
    }

    /// A key's number on this screen's keyboard, given by its X11 symbol.
    pub fn key_code(&self, symbol: u32) -> u8 {
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
        first + place as u8
    }

    fn input(&self, kind: u8, detail: u8, [x, y]: [i16; 2]) {
        self.connection
            .xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0)
            .expect("the server is there")
            .check()
            .expect("XTEST works");
    }

    /// Writes what the screen shows into a file, as a portable pixmap (PPM).
    pub fn picture(&self, path: &std::path::Path) {
        let size = self
            .connection
            .get_geometry(self.root)
            .expect("the server is there")
            .reply()
            .expect("a screen has a size");
        let image = self
            .connection
            .get_image(
                ImageFormat::Z_PIXMAP,
                self.root,
                0,
                0,
                size.width,
                size.height,
                u32::MAX,
            )
            .expect("the server is there")
            .reply()
            .expect("a picture");
        let mut ppm = format!("P6 {} {} 255\n", size.width, size.height).into_bytes();
        let pixels = image.data.chunks_exact(4);
        ppm.extend(pixels.flat_map(|bgra| [bgra[2], bgra[1], bgra[0]]));
        std::fs::write(path, ppm).expect("a file can be written");
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
        // They may have ended by themselves; then there is nothing to end.
        if let Some(manager) = &mut self.manager {
            let _ = manager.kill();
            let _ = manager.wait();
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A colour (red, green, blue) as the server takes it.
fn pixel([red, green, blue]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, red, green, blue])
}
