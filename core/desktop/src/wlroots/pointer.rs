//! The pointer, by `wlr-virtual-pointer`.

use std::sync::Arc;
use std::time::Instant;

use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_pointer::ButtonState;
use wayland_client::protocol::wl_registry::WlRegistry;
use wayland_client::{Connection, EventQueue, delegate_dispatch, delegate_noop};
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

use super::globals::IgnoredChanges;
use super::{Wlroots, lost, no_globals};
use flowpipe_guardian::button_code;

use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice};
use crate::rect::Rect;

/// A pointer of its own, beside those of the person.
pub(super) struct VirtualPointer {
    wlroots: Arc<Wlroots>,
    connection: Connection,
    queue: EventQueue<Nothing>,
    pointer: ZwlrVirtualPointerV1,
    began: Instant,
    /// Where it was put last.
    put: Option<[i32; 2]>,
    /// What the compositor maps places to: all monitors together.
    layout: Rect,
}

/// No event is of interest.
struct Nothing;

impl VirtualPointer {
    pub(super) fn new(wlroots: Arc<Wlroots>) -> Result<Self> {
        let connection = wlroots.connection()?;
        let (globals, mut queue) =
            registry_queue_init::<Nothing>(&connection).map_err(|error| no_globals(&error))?;
        let handle = queue.handle();
        let manager: ZwlrVirtualPointerManagerV1 =
            globals
                .bind(&handle, 1..=1, ())
                .map_err(|error| DesktopError::NoInput {
                    reason: format!("the compositor lets no program move the pointer: {error}"),
                })?;
        let pointer = manager.create_virtual_pointer(None, &handle, ());
        // That it was refused shows here.
        queue
            .roundtrip(&mut Nothing)
            .map_err(|error| lost(&error))?;
        Ok(Self {
            layout: layout(&wlroots)?,
            wlroots,
            connection,
            queue,
            pointer,
            began: Instant::now(),
            put: None,
        })
    }

    /// Milliseconds; they may start anywhere and wrap.
    fn now(&self) -> u32 {
        self.began.elapsed().as_millis() as u32
    }

    fn send_button(&mut self, input: Input, state: ButtonState) -> Result<()> {
        let Input::Button(number) = input else {
            return Err(DesktopError::Unsupported("pressing keys"));
        };
        let now = self.now();
        self.pointer.button(now, button_code(number), state);
        self.pointer.frame();
        // What was sent before is executed first, in one go.
        self.queue
            .roundtrip(&mut Nothing)
            .map_err(|error| lost(&error))?;
        Ok(())
    }
}

/// All monitors together.
fn layout(wlroots: &Wlroots) -> Result<Rect> {
    let monitors = wlroots.outputs().monitors()?;
    let places = monitors.iter().map(|monitor| monitor.place);
    Ok(places.reduce(Rect::union).unwrap_or_default())
}

impl InputDevice for VirtualPointer {
    fn place(&mut self) -> Result<[i32; 2]> {
        self.put
            .ok_or(DesktopError::Unsupported("the pointer's place"))
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
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
        self.pointer
            .motion_absolute(self.now(), x, y, width, height);
        self.pointer.frame();
        self.connection
            .flush()
            .map_err(|error| DesktopError::Input(error.to_string()))?;
        self.put = Some(at);
        Ok(())
    }

    fn press(&mut self, input: Input) -> Result<()> {
        // With other monitors, the compositor has put the pointer elsewhere.
        let layout = layout(&self.wlroots)?;
        if layout != self.layout {
            self.layout = layout;
            if let Some(at) = self.put {
                self.put(at)?;
            }
        }
        self.send_button(input, ButtonState::Pressed)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send_button(input, ButtonState::Released)
    }

    fn reports_place(&self) -> bool {
        false
    }

    /// A compositor that draws the pointer itself has it in its pictures, and does not report.
    fn is_captured(&self) -> bool {
        true
    }

    fn display_server(&self) -> Option<DisplayServer> {
        Some(DisplayServer::Wlroots)
    }
}

impl Drop for VirtualPointer {
    fn drop(&mut self) {
        self.pointer.destroy();
        // At the end of the connection it is destroyed too.
        let _ = self.connection.flush();
    }
}

delegate_dispatch!(Nothing: [WlRegistry: GlobalListContents] => IgnoredChanges);
delegate_noop!(Nothing: ignore ZwlrVirtualPointerManagerV1);
delegate_noop!(Nothing: ignore ZwlrVirtualPointerV1);
