//! Keys, by `virtual-keyboard`: a keyboard of its own, beside those of the person.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};

use flowpipe_wayland::Globals;
use rustix::fs::{MemfdFlags, memfd_create};
use wayland_client::protocol::wl_keyboard::{KeyState, KeymapFormat};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{Dispatch, Proxy as _, QueueHandle};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1;

use flowpipe_guardian::Input;

use crate::error::{DesktopError, Result};
use crate::key_code;

/// A keyboard without modifiers.
pub(super) struct VirtualKeyboard {
    keyboard: ZwpVirtualKeyboardV1,
}

impl VirtualKeyboard {
    /// Creates one that has a key for each symbol that has a name. That it is refused shows at the next answer.
    ///
    /// # Errors
    /// When the compositor has no virtual keyboards.
    pub(super) fn new<S>(globals: &Globals, handle: &QueueHandle<S>) -> Result<Self>
    where
        S: Dispatch<WlSeat, ()>
            + Dispatch<ZwpVirtualKeyboardManagerV1, ()>
            + Dispatch<ZwpVirtualKeyboardV1, ()>
            + 'static,
    {
        let refused = |error: &dyn std::fmt::Display| {
            DesktopError::Input(format!(
                "the compositor lets no program press keys: {error}"
            ))
        };
        let seat: WlSeat = globals
            .bind(handle, 1)
            .ok_or_else(|| refused(&"it has no seat"))?;
        let manager: ZwpVirtualKeyboardManagerV1 = globals
            .bind(handle, 1)
            .ok_or_else(|| refused(&"it has no virtual keyboards"))?;
        let text = keymap();
        let file = file(&text).map_err(|error| refused(&error))?;
        let keyboard = manager.create_virtual_keyboard(&seat, handle, ());
        // With the zero at its end.
        let length = text.len() as u32 + 1;
        keyboard.keymap(KeymapFormat::XkbV1 as u32, file.as_fd(), length);
        keyboard.modifiers(0, 0, 0, 0);
        Ok(Self { keyboard })
    }

    /// Presses or releases a key. `time`: in milliseconds, from any start.
    pub(super) fn send(&self, time: u32, code: u8, state: KeyState) {
        self.keyboard.key(time, key_code::linux(code), state as u32);
    }

    /// The requests that release keys, on the connection that has created it.
    pub(super) fn releases(&self) -> Vec<(Input, Vec<u8>)> {
        let keyboard = self.keyboard.id().protocol_id();
        let codes = key_code::all().map(|(code, _)| code);
        codes
            .map(|code| (Input::Key(code), release(keyboard, code)))
            .collect()
    }

    pub(super) fn destroy(&self) {
        self.keyboard.destroy();
    }
}

/// The request to release a key, by the protocol: the object, the length of the request and its number, then its arguments.
/// Compositors compare no times.
fn release(keyboard: u32, code: u8) -> Vec<u8> {
    const KEY: u32 = 1;
    const LENGTH: u32 = 20;
    let time = 0;
    let state = KeyState::Released as u32;
    let words = [
        keyboard,
        LENGTH << 16 | KEY,
        time,
        key_code::linux(code),
        state,
    ];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// A keymap in the format of XKB: one symbol on each key, whatever modifiers are down. Types and actions are those that
/// every compositor and program has, also X servers that run in the compositor.
fn keymap() -> String {
    let mut names = String::new();
    let mut symbols = String::new();
    for (code, key) in key_code::all() {
        // Writing to a string does not fail.
        let _ = writeln!(names, "<K{code}> = {code};");
        let _ = writeln!(symbols, "key <K{code}> {{ [ 0x{:x} ] }};", key.symbol);
    }
    format!(
        "xkb_keymap {{\n\
         xkb_keycodes \"flowpipe\" {{\nminimum = 8;\nmaximum = 255;\n{names}}};\n\
         xkb_types \"flowpipe\" {{ include \"complete\" }};\n\
         xkb_compatibility \"flowpipe\" {{ include \"complete\" }};\n\
         xkb_symbols \"flowpipe\" {{\n{symbols}}};\n\
         }};\n"
    )
}

/// A file in memory with a text, and a zero at its end.
fn file(text: &str) -> std::io::Result<OwnedFd> {
    let file = memfd_create("flowpipe-keymap", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.as_bytes())?;
    file.write_all(&[0])?;
    Ok(file.into())
}
