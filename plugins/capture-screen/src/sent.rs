//! Which captures are sent on.

use flowpipe_plugin::message::Rectangle;
use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::{Format, Frame, FrameSink, Result};

use crate::interval::Interval;
use crate::target::Seen;

/// Sends pictures on, except for those that show nothing new.
pub struct Sent {
    skip_identical: bool,
    resend_ns: i64,
    /// What the desktop is called.
    desktop: String,
    last: Option<Last>,
}

/// The picture that was sent last.
struct Last {
    frame: Frame,
    note: FrameNote,
    captured_ns: i64,
}

impl Sent {
    /// Nothing sent yet, of a desktop of that name. Even with `skip_identical`, the same picture is sent again after
    /// `resend`.
    pub fn new(skip_identical: bool, resend: Interval, desktop: String) -> Self {
        Self {
            skip_identical,
            resend_ns: resend.as_nanos(),
            desktop,
            last: None,
        }
    }

    /// Sends what was seen, captured at that time of the host, if it is to be sent. Where the pixels are
    /// those of the last frame, it is that frame that is sent.
    ///
    /// # Errors
    /// When memory is short, or no stage takes frames any more.
    pub fn offer(
        &mut self,
        seen: &Seen<'_>,
        covered: &[Rectangle],
        captured_ns: i64,
        sink: &mut FrameSink<'_, '_>,
    ) -> Result<()> {
        let note = note(seen)
            .with_desktop(&self.desktop)
            .with_covered(covered.to_vec());
        let frame = match self.last.take() {
            Some(last) if last.shows(seen)? => {
                let is_due = captured_ns.saturating_sub(last.captured_ns) >= self.resend_ns;
                if self.skip_identical && last.note == note && !is_due {
                    self.last = Some(last);
                    return Ok(());
                }
                last.frame
            }
            // What is left of the last frame is given back before the next is asked for.
            last => {
                drop(last);
                copy(seen, sink)?
            }
        };
        sink.emit(&frame, &note, captured_ns)?;
        self.last = Some(Last {
            frame,
            note,
            captured_ns,
        });
        Ok(())
    }
}

impl Last {
    /// Whether its pixels are those that were seen.
    fn shows(&self, seen: &Seen<'_>) -> Result<bool> {
        let (info, picture) = (self.frame.info()?, &seen.picture);
        let is_as_large = (info.width, info.height) == (picture.width, picture.height);
        Ok(is_as_large && self.frame.pixels() == picture.pixels)
    }
}

/// The pixels in a frame of the host.
fn copy(seen: &Seen<'_>, sink: &FrameSink<'_, '_>) -> Result<Frame> {
    let picture = &seen.picture;
    let mut frame = sink.new_frame(Format::Bgra8, picture.width, picture.height)?;
    frame.pixels_mut()?.copy_from_slice(picture.pixels);
    Ok(frame)
}

fn note(seen: &Seen<'_>) -> FrameNote {
    let place = seen.picture.place;
    let mut note = FrameNote::of(seen.source)
        .with_origin([place.x, place.y].map(f64::from))
        .with_size([place.width, place.height])
        .with_scale(seen.picture.scale);
    note.title = seen.title.map(str::to_owned);
    note.window = seen.window.map(|window| window.0);
    note
}
