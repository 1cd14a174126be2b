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
    /// Of a picture that has its pixels.
    number: Option<u64>,
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
        let number = seen.picture.number;
        let frame = match self.last.take() {
            Some(mut last) if last.shows(seen)? => {
                last.number = number;
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
            number,
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
        let is_known = self.number.is_some() && self.number == picture.number;
        Ok(is_as_large && (is_known || self.frame.pixels() == picture.pixels))
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

#[cfg(test)]
mod tests {
    use flowpipe_desktop::{Picture, Rect};
    use flowpipe_plugin::harness::Harness;
    use flowpipe_plugin::{Cancel, Capture, Host, Next, harness};
    use serde_json::json;

    use super::*;
    use crate::config::Config;

    /// A stage that sends pictures of one pixel, each with a number.
    struct Pictures {
        sent: Sent,
        rest: std::vec::IntoIter<(Option<u64>, u8)>,
    }

    const PICTURES: [(Option<u64>, u8); 9] = [
        (Some(1), 5),
        // The number says that it is the same: it is not looked at.
        (Some(1), 6),
        // Another number, with the same pixels. It counts from then on.
        (Some(2), 5),
        (Some(2), 6),
        (Some(1), 7),
        // Without a number, the pixels count.
        (None, 7),
        (None, 8),
        (Some(1), 8),
        (Some(3), 9),
    ];

    impl Capture for Pictures {
        const NAME: &'static str = "capture-numbered";
        type Config = Config;

        fn new(config: Config, _host: &Host) -> Result<Self> {
            Ok(Self {
                sent: Sent::new(config.skip_identical, config.resend, String::new()),
                rest: PICTURES.to_vec().into_iter(),
            })
        }

        fn capture(&mut self, sink: &mut FrameSink<'_, '_>, _: &Cancel<'_>) -> Result<Next> {
            let Some((number, value)) = self.rest.next() else {
                return Ok(Next::End);
            };
            let place = Rect {
                x: 0,
                y: 0,
                width: 1,
                height: 1,
            };
            let pixels = &[value; 4];
            let picture = Picture {
                place,
                width: 1,
                height: 1,
                scale: 1.0,
                pixels,
                number,
            };
            let seen = Seen {
                picture,
                source: "test",
                window: None,
                title: None,
            };
            let now_ns = sink.host().now_ns();
            self.sent.offer(&seen, &[], now_ns, sink)?;
            Ok(Next::More)
        }
    }

    /// The values that are sent, none where nothing is.
    fn sent(resend: &str) -> Vec<Option<u8>> {
        let config = json!({ "resend": resend });
        let mut stage: Harness = harness!(Pictures, config).unwrap();
        let value = |_: &_| {
            let emitted = stage.tick().unwrap().pop()?;
            Some(emitted.frame.unwrap().pixels()[0])
        };
        PICTURES.iter().map(value).collect()
    }

    #[test]
    fn pictures_of_one_number_are_the_same() {
        let five = Some(5);
        let new = [
            five,
            None,
            None,
            None,
            Some(7),
            None,
            Some(8),
            None,
            Some(9),
        ];
        assert_eq!(sent("60m"), new);
        // The same frame again, of a newer time.
        let (seven, eight) = (Some(7), Some(8));
        let all = [five, five, five, five, seven, seven, eight, eight, Some(9)];
        assert_eq!(sent("0ms"), all);
    }
}
