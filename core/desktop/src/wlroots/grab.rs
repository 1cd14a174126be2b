//! Pictures of the screen, by `wlr-screencopy`. The compositor copies when it next draws the monitor: up to one display
//! frame later. The pointer is in it only where the compositor draws it itself, without the display's hardware.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use flowpipe_wayland::{Globals, answer, counted};
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_shm::WlShm;
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, WEnum, delegate_noop};
use wayland_protocols_wlr::screencopy::v1::client::zwlr_screencopy_frame_v1::{
    self, Flags, ZwlrScreencopyFrameV1,
};
use wayland_protocols_wlr::screencopy::v1::client::zwlr_screencopy_manager_v1::{
    self, ZwlrScreencopyManagerV1,
};

use super::Wlroots;
use super::buffer::{Buffer, BufferLayout};
use super::outputs::{Output, Outputs};
use super::sway::Settling;
use crate::error::{DesktopError, Result};
use crate::grabber::{BYTES_PER_PIXEL, Capture, Grab, Picture, swap_red_and_blue};
use crate::rect::Rect;
use crate::window::WindowId;

pub(super) struct WlrootsGrabber {
    wlroots: Arc<Wlroots>,
    /// Of the same connection as the queue.
    outputs: Outputs,
    queue: EventQueue<Copying>,
    shm: WlShm,
    manager: ZwlrScreencopyManagerV1,
    buffer: Option<Buffer>,
    /// Of the captured window.
    settling: Settling,
    /// The pixels of the last picture, if those of the buffer are laid out otherwise.
    pixels: Vec<u8>,
}

/// The progress of one picture.
#[derive(Default)]
struct Copying {
    layout: Option<BufferLayout>,
    is_upside_down: bool,
    end: Option<CopyEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyEnd {
    Ready,
    Failed,
}

/// The newest version that is used here. Later ones add damage and memory of graphics cards.
const SCREENCOPY_VERSION: u32 = 1;
/// How long the compositor may give no picture of a monitor, as while the monitor is changed or switched on.
const SETTLING: Duration = Duration::from_secs(2);
/// How long it is given between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

impl WlrootsGrabber {
    pub(super) fn new(wlroots: Arc<Wlroots>) -> Result<Self> {
        let connection = wlroots.connection()?;
        let globals = Globals::of(&connection)?;
        let queue = connection.new_event_queue();
        let outputs = Outputs::new(&connection)?.ok_or_else(|| DesktopError::Grab {
            reason: "the compositor gives no pictures any more".to_owned(),
        })?;
        let handle = queue.handle();
        let missing = |what: &str| DesktopError::Grab {
            reason: format!("the compositor gives no pictures: it has no {what}"),
        };
        let shm = globals.bind(&handle, 1);
        let manager = globals.bind(&handle, SCREENCOPY_VERSION);
        Ok(Self {
            manager: manager.ok_or_else(|| missing("wlr-screencopy"))?,
            shm: shm.ok_or_else(|| missing("shared memory"))?,
            queue,
            outputs,
            wlroots,
            buffer: None,
            settling: Settling::default(),
            pixels: Vec::new(),
        })
    }

    /// Copies a part of a monitor into the buffer. `Ok(None)`: the compositor could not, as when the monitor has just
    /// been changed.
    fn copy(&mut self, output: &Output, part: Rect) -> Result<Option<Copying>> {
        let handle = self.queue.handle();
        // The part is on the monitor.
        let [x, y] = [
            part.x - output.monitor.place.x,
            part.y - output.monitor.place.y,
        ];
        let [width, height] =
            [part.width, part.height].map(|it| i32::try_from(it).unwrap_or(i32::MAX));
        let request = zwlr_screencopy_manager_v1::Request::CaptureOutputRegion {
            overlay_cursor: 0,
            output: output.proxy.clone(),
            x,
            y,
            width,
            height,
        };
        let frame = counted::create(&self.manager, request, &handle, ());
        let copying = self.finish(&frame);
        frame.destroy();
        copying
    }

    fn finish(&mut self, frame: &ZwlrScreencopyFrameV1) -> Result<Option<Copying>> {
        let handle = self.queue.handle();
        let mut copying = Copying::default();
        let mut is_asked = false;
        let (shm, kept) = (&self.shm, &mut self.buffer);
        answer::wait(&mut self.queue, &mut copying, |copying| {
            if let (Some(layout), false) = (copying.layout, is_asked) {
                let buffer = match kept.take().filter(|it| it.layout == layout) {
                    Some(buffer) => buffer,
                    None => Buffer::new(layout, shm, &handle)?,
                };
                frame.copy(&kept.insert(buffer).proxy);
                is_asked = true;
            }
            Ok::<_, DesktopError>(copying.end.is_some())
        })?;
        let is_ready = copying.end == Some(CopyEnd::Ready) && is_asked;
        Ok(is_ready.then_some(copying))
    }

    /// The picture that was copied last.
    fn picture(&mut self, part: Rect, is_upside_down: bool) -> Option<Picture<'_>> {
        let buffer = self.buffer.as_ref()?;
        let layout = buffer.layout;
        let row = layout.width as usize * BYTES_PER_PIXEL;
        let is_plain = row == layout.stride as usize && !is_upside_down && !layout.is_red_first();
        let pixels = if is_plain {
            buffer.bytes()
        } else {
            self.pixels.clear();
            let rows = buffer.bytes().chunks_exact(layout.stride as usize);
            let mut append = |bytes: &[u8]| self.pixels.extend_from_slice(&bytes[..row]);
            match is_upside_down {
                true => rows.rev().for_each(&mut append),
                false => rows.for_each(&mut append),
            }
            if layout.is_red_first() {
                swap_red_and_blue(&mut self.pixels);
            }
            &self.pixels
        };
        Some(Picture::of(part, [layout.width, layout.height], pixels))
    }
}

impl Grab for WlrootsGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let end = Instant::now() + SETTLING;
        let (part, copying) = loop {
            let outputs = self.outputs.all()?;
            // A picture is of one monitor: of the one that has most of the part asked for.
            let places = outputs.iter().map(|output| (output.monitor.place, output));
            let Some((part, output)) = rect.largest_part(places) else {
                return Ok(None);
            };
            let name = &output.monitor.name;
            if !output.is_upright {
                return Err(DesktopError::Grab {
                    reason: format!(
                        "the monitor {name} is turned or mirrored: set its transform to normal"
                    ),
                });
            }
            match self.copy(output, part)? {
                Some(copying) => break (part, copying),
                None if Instant::now() < end => sleep(PAUSE),
                None => {
                    return Err(DesktopError::Grab {
                        reason: format!(
                            "the compositor has given no picture of {name} for {SETTLING:?}: switch the monitor on, and \
                             let nothing switch it off while flowpipe runs"
                        ),
                    });
                }
            }
        };
        Ok(self.picture(part, copying.is_upside_down))
    }

    fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>> {
        let wlroots = Arc::clone(&self.wlroots);
        let sway = wlroots.sway()?;
        let tree = sway.tree()?;
        let (Some(before), Some(sizes)) = (tree.place(window), tree.sizes(window)) else {
            return Ok(Capture::Hidden);
        };
        if !self.settling.is_settled(window, sizes, Instant::now()) {
            return Ok(Capture::Moving);
        }
        let Some(picture) = self.grab(before)? else {
            return Ok(Capture::Hidden);
        };
        match sway.tree()?.place(window) {
            Some(after) if after == before => Ok(Capture::Shown(picture)),
            Some(_) => Ok(Capture::Moving),
            None => Ok(Capture::Hidden),
        }
    }
}

impl Dispatch<ZwlrScreencopyFrameV1, ()> for Copying {
    fn event(
        copying: &mut Self,
        _: &ZwlrScreencopyFrameV1,
        event: zwlr_screencopy_frame_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            zwlr_screencopy_frame_v1::Event::Buffer {
                format: WEnum::Value(format),
                width,
                height,
                stride,
            } => {
                copying.layout = Some(BufferLayout {
                    format,
                    width,
                    height,
                    stride,
                });
            }
            // A format that is not even known.
            zwlr_screencopy_frame_v1::Event::Buffer { .. }
            | zwlr_screencopy_frame_v1::Event::Failed => copying.end = Some(CopyEnd::Failed),
            zwlr_screencopy_frame_v1::Event::Flags { flags } => {
                copying.is_upside_down = flags == WEnum::Value(Flags::YInvert);
            }
            zwlr_screencopy_frame_v1::Event::Ready { .. } => copying.end = Some(CopyEnd::Ready),
            _ => {}
        }
    }
}

delegate_noop!(Copying: ignore WlShm);
delegate_noop!(Copying: ignore WlShmPool);
delegate_noop!(Copying: ignore WlBuffer);
delegate_noop!(Copying: ignore ZwlrScreencopyManagerV1);
