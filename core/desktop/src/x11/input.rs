//! The mouse and the keyboard of X11: the crate enigo controls them, and the server is asked here what it reports of them.

use std::sync::Arc;

use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};

use super::{Result, X11, lost};
use crate::input::system::SystemInput;
use crate::input::{DisplayServer, Input, InputDevice};

/// The mouse and the keyboard of an X server.
pub(super) struct X11Input {
    x11: Arc<X11>,
    system: SystemInput,
    /// The buttons that were down at the last question.
    held: Vec<u8>,
}

impl X11Input {
    pub(super) fn new(x11: Arc<X11>) -> Result<Self> {
        let system = SystemInput::new(Some(x11.display()))?;
        Ok(Self {
            x11,
            system,
            held: Vec::new(),
        })
    }
}

impl InputDevice for X11Input {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        let pointer = self.x11.connection.query_pointer(self.x11.root);
        let pointer = pointer.map_err(lost)?.reply().map_err(lost)?;
        // Xwayland knows of a button only what happens over its own windows.
        self.held = match self.x11.is_xwayland {
            true => Vec::new(),
            false => held(u16::from(pointer.mask)),
        };
        Ok(Some([pointer.root_x, pointer.root_y].map(i32::from)))
    }

    fn held_buttons(&self) -> Vec<u8> {
        self.held.clone()
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        self.system.put(at)
    }

    fn press(&mut self, input: Input) -> Result<()> {
        self.system.press(input)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.system.release(input)
    }

    fn display_server(&self) -> Option<DisplayServer> {
        self.system.display_server()
    }
}

/// The buttons in the server's mask. The wheel, 4 and 5, is never held.
fn held(mask: u16) -> Vec<u8> {
    let masks = [
        KeyButMask::BUTTON1,
        KeyButMask::BUTTON2,
        KeyButMask::BUTTON3,
    ];
    let buttons = (1..).zip(masks.map(u16::from));
    let held = buttons.filter(|(_, button)| mask & button != 0);
    held.map(|(number, _)| number).collect()
}
