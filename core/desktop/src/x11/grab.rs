//! Pictures of the screen: into memory shared with the server, or over the connection.
//!
//! A look at a window is one round trip: where is it, the pixels of where it was last, where is it now.
//! Only when it has moved is there a second.

use std::sync::Arc;

use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::errors::ReplyError;
use x11rb::protocol::ErrorKind;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    self, ConnectionExt as _, GetGeometryReply, ImageFormat, ImageOrder, Window,
};
use x11rb::rust_connection::RustConnection;

use super::segment::Segment;
use super::{Result, X11, lost, number, place};
use crate::error::DesktopError;
use crate::grabber::{BYTES_PER_PIXEL, Capture, Grab, Picture};
use crate::rect::Rect;
use crate::window::WindowId;

/// How often a capture is repeated within one call, when the window or the screen has changed.
const TRIES: usize = 3;

pub(super) struct X11Grabber {
    x11: Arc<X11>,
    memory: Memory,
    is_plain: bool,
    screen: Rect,
    /// The window examined last, and where it was.
    last: Option<(Window, Rect)>,
}

enum Memory {
    Shared(Segment),
    Plain(Vec<u8>),
}

impl X11Grabber {
    pub(super) fn new(x11: Arc<X11>, is_plain: bool) -> Result<Self> {
        check_layout(&x11)?;
        let mut grabber = Self {
            x11: Arc::clone(&x11),
            memory: Memory::Plain(Vec::new()),
            is_plain,
            screen: Rect::default(),
            last: None,
        };
        let screen = ask_screen(&x11)?;
        grabber.has_screen(screen)?;
        Ok(grabber)
    }

    /// Whether the screen is as large as before; if not, gets ready for its new size.
    fn has_screen(&mut self, asked: Cookie<'_, RustConnection, GetGeometryReply>) -> Result<bool> {
        let root = asked.reply().map_err(lost)?;
        let screen = Rect {
            x: 0,
            y: 0,
            width: u32::from(root.width),
            height: u32::from(root.height),
        };
        if screen == self.screen {
            return Ok(true);
        }
        self.screen = screen;
        let size = bytes_of(screen);
        let shared = (!self.is_plain)
            .then(|| Segment::new(&self.x11, size))
            .flatten();
        self.memory = shared.map_or_else(|| Memory::Plain(Vec::new()), Memory::Shared);
        Ok(false)
    }

    /// Asks for the pixels of a part of the screen.
    fn ask_pixels<'c>(&self, x11: &'c X11, part: Rect) -> Result<PixelRequest<'c>> {
        let (connection, root) = (&x11.connection, x11.root);
        // The server refuses places beyond its numbers like others beyond the screen.
        let [x, y] = [part.x, part.y].map(|at| i16::try_from(at).unwrap_or(i16::MAX));
        let [width, height] =
            [part.width, part.height].map(|length| u16::try_from(length).unwrap_or(u16::MAX));
        let format = ImageFormat::Z_PIXMAP;
        Ok(match &self.memory {
            Memory::Shared(segment) => PixelRequest::Shared(
                connection
                    .shm_get_image(
                        root,
                        x,
                        y,
                        width,
                        height,
                        u32::MAX,
                        format.into(),
                        segment.id(),
                        0,
                    )
                    .map_err(lost)?,
            ),
            Memory::Plain(_) => PixelRequest::Plain(
                connection
                    .get_image(format, root, x, y, width, height, u32::MAX)
                    .map_err(lost)?,
            ),
        })
    }

    /// Waits for the pixels. `false`: the part is not within the screen.
    fn has_pixels(&mut self, asked: PixelRequest<'_>) -> Result<bool> {
        let failure = match asked {
            PixelRequest::Shared(cookie) => cookie.reply().err(),
            PixelRequest::Plain(cookie) => match cookie.reply() {
                Ok(reply) => {
                    self.memory = Memory::Plain(reply.data);
                    None
                }
                Err(error) => Some(error),
            },
        };
        match failure {
            None => Ok(true),
            Some(ReplyError::X11Error(error)) if error.error_kind == ErrorKind::Match => Ok(false),
            Some(error @ ReplyError::X11Error(_)) => Err(DesktopError::Grab {
                reason: error.to_string(),
            }),
            Some(error) => Err(lost(error)),
        }
    }

    fn picture(&self, part: Rect) -> Picture<'_> {
        let bytes = match &self.memory {
            // No request is under way: each grab waits for its answers.
            Memory::Shared(segment) => segment.bytes(),
            Memory::Plain(bytes) => bytes,
        };
        Picture {
            place: part,
            width: part.width,
            height: part.height,
            scale: 1.0,
            pixels: &bytes[..bytes_of(part).min(bytes.len())],
            number: None,
        }
    }
}

impl Grab for X11Grabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let x11 = Arc::clone(&self.x11);
        for _ in 0..TRIES {
            let screen = ask_screen(&x11)?;
            let part = rect.intersection(self.screen);
            let asked = part.map(|part| self.ask_pixels(&x11, part)).transpose()?;
            let has_pixels = asked.map(|asked| self.has_pixels(asked)).transpose()?;
            if !self.has_screen(screen)? {
                continue;
            }
            match (part, has_pixels) {
                (Some(part), Some(true)) => return Ok(Some(self.picture(part))),
                (None, _) => return Ok(None),
                _ => {}
            }
        }
        Err(DesktopError::Grab {
            reason: "the screen keeps changing its size".to_owned(),
        })
    }

    fn grab_window(&mut self, window: WindowId) -> Result<Capture<'_>> {
        let Some(window) = number(window) else {
            return Ok(Capture::Hidden);
        };
        let x11 = Arc::clone(&self.x11);
        for _ in 0..TRIES {
            let expected = self.last.filter(|(last, _)| *last == window);
            let expected = expected.map(|(_, place)| place);
            let part = expected.and_then(|place| place.intersection(self.screen));

            let screen = ask_screen(&x11)?;
            let before = place::ask(&x11, window)?;
            let asked = part.map(|part| self.ask_pixels(&x11, part)).transpose()?;
            let after = place::ask(&x11, window)?;

            let before = before.answer(&x11)?;
            let has_pixels = asked.map(|asked| self.has_pixels(asked)).transpose()?;
            let after = after.answer(&x11)?;
            self.last = after.map(|place| (window, place));
            let Some(place) = after else {
                return Ok(Capture::Hidden);
            };
            if !self.has_screen(screen)? {
                continue;
            }
            if place.intersection(self.screen).is_none() {
                return Ok(Capture::Hidden);
            }
            if let (Some(part), Some(true)) = (part, has_pixels)
                && before == after
                && expected == after
            {
                return Ok(Capture::Shown(self.picture(part)));
            }
        }
        Ok(Capture::Moving)
    }
}

/// Pixels asked for and not had yet.
enum PixelRequest<'c> {
    Shared(Cookie<'c, RustConnection, shm::GetImageReply>),
    Plain(Cookie<'c, RustConnection, xproto::GetImageReply>),
}

fn ask_screen(x11: &X11) -> Result<Cookie<'_, RustConnection, GetGeometryReply>> {
    x11.connection.get_geometry(x11.root).map_err(lost)
}

fn bytes_of(rect: Rect) -> usize {
    rect.width as usize * rect.height as usize * BYTES_PER_PIXEL
}

/// Whether pixels come as blue, green, red and one unused byte, as they do on all but museum pieces.
fn check_layout(x11: &X11) -> Result<()> {
    let setup = x11.connection.setup();
    let screen = &setup.roots[x11.screen];
    let has_four_bytes = setup.pixmap_formats.iter().any(|format| {
        format.depth == screen.root_depth
            && usize::from(format.bits_per_pixel) == BYTES_PER_PIXEL * 8
    });
    let visuals = screen
        .allowed_depths
        .iter()
        .flat_map(|depth| &depth.visuals);
    let is_bgr = visuals
        .filter(|visual| visual.visual_id == screen.root_visual)
        .any(|visual| {
            let masks = (visual.red_mask, visual.green_mask, visual.blue_mask);
            masks == (0x00ff_0000, 0xff00, 0xff)
        });
    if has_four_bytes && is_bgr && setup.image_byte_order == ImageOrder::LSB_FIRST {
        return Ok(());
    }
    Err(DesktopError::Grab {
        reason: format!(
            "a screen of {} bits a pixel in an order that is not known here",
            screen.root_depth
        ),
    })
}
