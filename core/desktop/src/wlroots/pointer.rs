//! The pointer, by `wlr-virtual-pointer`, and on the same connection the keyboard, once a key is to be pressed.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_guardian::PreparedReleases;
use flowpipe_wayland::{Globals, answer};
use wayland_client::protocol::wl_keyboard::KeyState;
use wayland_client::protocol::wl_pointer::ButtonState;
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{Connection, EventQueue, delegate_noop};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

use super::Wlroots;
use super::keyboard::VirtualKeyboard;
use super::outputs::Outputs;
use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice, PlaceReports, button_code};
use crate::rect::Rect;

/// A pointer of its own, beside those of the person.
pub(super) struct WlrootsPointer {
    wlroots: Arc<Wlroots>,
    connection: Connection,
    outputs: Outputs,
    globals: Globals,
    queue: EventQueue<Nothing>,
    manager: ZwlrVirtualPointerManagerV1,
    /// `None`: it was neither moved nor pressed yet.
    pointer: Option<ZwlrVirtualPointerV1>,
    /// `None`: no key was pressed yet.
    keyboard: Option<(VirtualKeyboard, Arc<PreparedReleases>)>,
    began: Instant,
    /// Where it was put last.
    put: Option<[i32; 2]>,
    /// What the compositor maps places to: all monitors together.
    layout: Rect,
    /// How many buttons and keys are down.
    held: usize,
}

/// Programs of a session that had no keyboard learn only now that there is one, and ask for its keys.
const KEYBOARD_KNOWN_AFTER: Duration = Duration::from_millis(100);

/// No event is of interest.
struct Nothing;

impl WlrootsPointer {
    pub(super) fn new(wlroots: Arc<Wlroots>) -> Result<Self> {
        let connection = wlroots.connection()?;
        let globals = Globals::of(&connection)?;
        let queue = connection.new_event_queue();
        let manager = globals.bind(&queue.handle(), 1);
        let manager = manager.ok_or_else(|| DesktopError::NoInput {
            reason: "the compositor lets no program move the pointer: it has no virtual pointers"
                .to_owned(),
        })?;
        let outputs = Outputs::new(&connection)?;
        let mut outputs = outputs.ok_or_else(|| DesktopError::NoInput {
            reason: "the compositor does not report where its monitors are".to_owned(),
        })?;
        outputs.all()?;
        Ok(Self {
            wlroots,
            layout: outputs.layout()?,
            outputs,
            held: 0,
            connection,
            globals,
            queue,
            manager,
            pointer: None,
            keyboard: None,
            began: Instant::now(),
            put: None,
        })
    }

    /// The pointer, from its first use on: a run that does not begin leaves the compositor alone.
    fn pointer(&mut self) -> &ZwlrVirtualPointerV1 {
        let create = || {
            let handle = self.queue.handle();
            self.manager.create_virtual_pointer(None, &handle, ())
        };
        self.pointer.get_or_insert_with(create)
    }

    /// Waits until the compositor has done what was sent.
    fn roundtrip(&mut self) -> Result<()> {
        answer::roundtrip(&self.connection, &mut self.queue, &mut Nothing)?;
        Ok(())
    }

    /// Milliseconds; they may start anywhere and wrap.
    fn now(&self) -> u32 {
        self.began.elapsed().as_millis() as u32
    }

    /// Notes where the monitors are now. Returns whether that has changed.
    fn renew_layout(&mut self) -> Result<bool> {
        let layout = self.outputs.layout()?;
        Ok(std::mem::replace(&mut self.layout, layout) != layout)
    }

    /// A move, which is sent with what follows.
    fn queue_place(&mut self, at: [i32; 2]) -> Result<()> {
        let Rect {
            x,
            y,
            width,
            height,
        } = self.layout;
        // The middle of a pixel, in halves of it.
        let half = |at: i32, from: i32| u32::try_from(2 * (i64::from(at) - i64::from(from)) + 1);
        let (Ok(x), Ok(y)) = (half(at[0], x), half(at[1], y)) else {
            return Err(DesktopError::Input(format!(
                "{}, {} is beyond the monitors",
                at[0], at[1]
            )));
        };
        let (width, height) = (width.saturating_mul(2), height.saturating_mul(2));
        let now = self.now();
        let pointer = self.pointer();
        pointer.motion_absolute(now, x, y, width, height);
        pointer.frame();
        Ok(())
    }

    fn send_input(&mut self, input: Input, is_down: bool) -> Result<()> {
        match input {
            Input::Button(number) => self.send_button(number, is_down)?,
            Input::Key(code) => self.send_key(code, is_down)?,
        }
        self.held = match is_down {
            true => self.held + 1,
            false => self.held.saturating_sub(1),
        };
        // What was sent before is executed first, in one go.
        self.roundtrip()
    }

    fn send_button(&mut self, number: u8, is_down: bool) -> Result<()> {
        let code = button_code(number)?;
        let state = match is_down {
            true => ButtonState::Pressed,
            false => ButtonState::Released,
        };
        let now = self.now();
        let pointer = self.pointer();
        pointer.button(now, code, state);
        pointer.frame();
        Ok(())
    }

    fn send_key(&self, code: u8, is_down: bool) -> Result<()> {
        let state = match is_down {
            true => KeyState::Pressed,
            false => KeyState::Released,
        };
        match &self.keyboard {
            Some((keyboard, _)) => keyboard.send(self.now(), code, state),
            None if is_down => {
                let reason = "a key is pressed before the keyboard is prepared";
                return Err(DesktopError::Input(reason.to_owned()));
            }
            // Nothing was pressed.
            None => {}
        }
        Ok(())
    }
}

impl InputDevice for WlrootsPointer {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        Ok(None)
    }

    fn place_reports(&mut self) -> Result<PlaceReports> {
        let why = "wlroots' protocols do not have it";
        Ok(PlaceReports::Never(why.to_owned()))
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        let is_changed = self.renew_layout()?;
        if is_changed && self.held > 0 {
            // What it is pressed in may be elsewhere now.
            return Err(DesktopError::Input(
                "the monitors have changed while something was pressed: start the run again; click once if the button \
                 is still down"
                    .to_owned(),
            ));
        }
        self.queue_place(at)?;
        answer::flush(&self.queue)?;
        self.put = Some(at);
        Ok(())
    }

    fn prepare_keys(&mut self) -> Result<bool> {
        if self.keyboard.is_some() {
            return Ok(false);
        }
        let failed = |error: std::io::Error| DesktopError::Input(error.to_string());
        let keyboard = VirtualKeyboard::new(&self.globals, &self.queue.handle())?;
        let socket = self.connection.backend().poll_fd().try_clone_to_owned();
        let prepared = PreparedReleases {
            socket: UnixStream::from(socket.map_err(failed)?),
            releases: keyboard.releases(),
            time_from_end: None,
        };
        // That it was refused shows here.
        self.roundtrip()?;
        std::thread::sleep(KEYBOARD_KNOWN_AFTER);
        self.keyboard = Some((keyboard, Arc::new(prepared)));
        Ok(true)
    }

    fn press(&mut self, input: Input) -> Result<()> {
        // With other monitors, the compositor has put the pointer elsewhere. What it says of one that has just come is not
        // waited for: a press must follow what has decided on it.
        let layout = self.outputs.layout_at_once()?;
        if layout != Some(self.layout) {
            self.layout = layout.unwrap_or(self.layout);
            return Err(DesktopError::MonitorsChanged);
        }
        // The seat has one pointer for all mice: a person may have moved it. The compositor does both at once.
        if let (Input::Button(_), Some(at)) = (input, self.put) {
            self.queue_place(at)?;
        }
        self.send_input(input, true)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_input(input, false)
    }

    /// A compositor that draws the pointer itself has it in its pictures, and does not report.
    fn is_captured(&self) -> bool {
        true
    }

    fn display_server(&self) -> Option<DisplayServer> {
        let keyboard = self.keyboard.as_ref();
        let prepared = keyboard.map(|(_, prepared)| Arc::clone(prepared));
        let clean_up = self.wlroots.clean_up.lock();
        Some(DisplayServer::Wlroots {
            socket: self.wlroots.socket.clone(),
            keyboard: prepared,
            clean_up: clean_up.unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }
}

impl Drop for WlrootsPointer {
    fn drop(&mut self) {
        if let Some((keyboard, _)) = &self.keyboard {
            keyboard.destroy();
        }
        if let Some(pointer) = &self.pointer {
            pointer.destroy();
        }
        // At the end of the connection they are destroyed too.
        let _ = self.connection.flush();
    }
}

delegate_noop!(Nothing: ignore WlSeat);
delegate_noop!(Nothing: ignore ZwpVirtualKeyboardManagerV1);
delegate_noop!(Nothing: ignore ZwpVirtualKeyboardV1);
delegate_noop!(Nothing: ignore ZwlrVirtualPointerManagerV1);
delegate_noop!(Nothing: ignore ZwlrVirtualPointerV1);
