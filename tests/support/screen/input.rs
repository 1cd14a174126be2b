//! The mouse and the keyboard.

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ChangeWindowAttributesAux, ConnectionExt as _,
    EventMask, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, KeyButMask, MOTION_NOTIFY_EVENT,
    QueryPointerReply, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::Screen;

impl Screen {
    /// Where the pointer is.
    pub fn pointer(&self) -> [i16; 2] {
        let pointer = self.query_pointer();
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
        let pointer = self.query_pointer();
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

    fn query_pointer(&self) -> QueryPointerReply {
        self.connection
            .query_pointer(self.root)
            .expect("the server is there")
            .reply()
            .expect("a pointer")
    }
}
