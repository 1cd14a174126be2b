//! Keys: which are held down, and their codes.

use std::sync::Arc;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, GetKeyboardMappingReply};

use super::{Result, X11, lost};
use crate::hotkey::Hotkey;
use crate::key::Key;

/// A key that is asked about.
pub(super) struct X11Hotkey {
    pub x11: Arc<X11>,
    pub key: Key,
}

impl Hotkey for X11Hotkey {
    fn is_pressed(&mut self) -> Result<bool> {
        is_down(&self.x11, self.key)
    }
}

/// Whether a key with that symbol is held down.
fn is_down(x11: &X11, key: Key) -> Result<bool> {
    let asked = x11.connection.query_keymap().map_err(lost)?;
    let mapping = mapping(x11)?;
    // One bit a key code.
    let down = asked.reply().map_err(lost)?.keys;
    let is_down = |code: usize| {
        down.get(code / 8)
            .is_some_and(|byte| byte & (1 << (code % 8)) != 0)
    };
    let first = usize::from(x11.connection.setup().min_keycode);
    let width = usize::from(mapping.keysyms_per_keycode).max(1);
    let codes = mapping.keysyms.chunks(width).zip(first..);
    Ok(codes
        .filter(|(symbols, _)| symbols.contains(&key.symbol))
        .any(|(_, code)| is_down(code)))
}

/// The code of the key that gives that symbol without another key. `None`: there is none.
pub(super) fn code(x11: &X11, key: Key) -> Result<Option<u8>> {
    let mapping = mapping(x11)?;
    let width = usize::from(mapping.keysyms_per_keycode).max(1);
    let mut codes = mapping
        .keysyms
        .chunks(width)
        .zip(x11.connection.setup().min_keycode..);
    let found = codes.find(|(symbols, _)| symbols.first() == Some(&key.symbol));
    Ok(found.map(|(_, code)| code))
}

fn mapping(x11: &X11) -> Result<&GetKeyboardMappingReply> {
    if let Some(mapping) = x11.keyboard.get() {
        return Ok(mapping);
    }
    let setup = x11.connection.setup();
    let count = setup.max_keycode - setup.min_keycode + 1;
    let asked = x11
        .connection
        .get_keyboard_mapping(setup.min_keycode, count);
    let mapping = asked.map_err(lost)?.reply().map_err(lost)?;
    Ok(x11.keyboard.get_or_init(|| mapping))
}
