//! Where the pointer is on a monitor, which a compositor says beside its pictures. The pictures themselves are not looked
//! at, and come seldom. What it says is not trusted.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use pipewire::spa::sys::{SPA_META_Cursor, spa_buffer, spa_meta_cursor};

use super::format::{self, Agreed};
use super::metadata::metadata;
use super::newest::PAUSED;
use super::remote::Remote;
use super::stream::{Receiver, Stream};

/// How often a place is reported at most, each second. Mutter draws a picture for many of them, without a graphics card
/// by the processor.
const MOST_A_SECOND: u32 = 10;
/// How long it may take until they come: programs of the session may have to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How far beyond the monitor the pointer can be while a part of its picture is on the monitor, in pixels.
const REACH: i64 = 1 << 10;

/// What is done with reports.
pub(crate) trait CursorReports: Send {
    /// The pointer is at a part of the width and height of what is shown.
    fn report(&self, part: [f64; 2]);
    /// Whether reports may come now.
    fn run(&self, is_running: bool);
    /// No report comes any more.
    fn end(&self, reason: &str);
}

/// A stream of reports. It ends when this is dropped.
pub(crate) struct Cursor {
    #[cfg_attr(
        not(feature = "portal"),
        expect(dead_code, reason = "it is kept alone")
    )]
    stream: Stream,
    #[cfg(feature = "portal")]
    is_running: Arc<AtomicBool>,
}

/// Who else receives the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherReceiver {
    /// Nobody.
    None,
    /// Maybe a capture. All that receive from a node get the same pictures in the same memory, as the first one has agreed on
    /// them: so this one asks for what a capture asks for.
    #[cfg(feature = "portal")]
    Capture,
}

impl Cursor {
    /// Begins to receive from a node, and waits until they may come.
    ///
    /// # Errors
    /// Why there will be no reports.
    pub(crate) fn open(
        node: u32,
        remote: Remote,
        other: OtherReceiver,
        reports: Box<dyn CursorReports>,
    ) -> Result<Self, String> {
        let is_running = Arc::new(AtomicBool::new(false));
        let (agreed, is_agreed) = channel();
        let receiver = CursorReceiver {
            reports,
            other,
            size: Cell::new(None),
            agreed,
            is_running: Arc::clone(&is_running),
        };
        let stream = Stream::open(node, remote, Box::new(receiver))?;
        match is_agreed.recv_timeout(PATIENCE) {
            Ok(Ok(())) => Ok(Self {
                stream,
                #[cfg(feature = "portal")]
                is_running,
            }),
            Ok(Err(reason)) => Err(reason),
            Err(_) => Err(PAUSED.to_owned()),
        }
    }

    /// Receives nothing until [`Self::resume`]. While nobody receives, a compositor stops, and sends a picture to who begins
    /// then; to who joins others it sends the next one that has changed.
    #[cfg(feature = "portal")]
    pub(crate) fn pause(&mut self) {
        const CHECKS: u32 = 100;
        const CHECK: Duration = Duration::from_millis(3);
        self.stream.set_active(false);
        for _ in 0..CHECKS {
            if !self.is_running.load(Ordering::Acquire) {
                break;
            }
            std::thread::sleep(CHECK);
        }
    }

    /// Receives again.
    #[cfg(feature = "portal")]
    pub(crate) fn resume(&mut self) {
        self.stream.set_active(true);
    }
}

struct CursorReceiver {
    reports: Box<dyn CursorReports>,
    other: OtherReceiver,
    /// Of the pictures, in their pixels.
    size: Cell<Option<[u32; 2]>>,
    agreed: Sender<Result<(), String>>,
    is_running: Arc<AtomicBool>,
}

impl CursorReceiver {
    fn answer(&self, answer: Result<(), String>) {
        // Nobody waits for it any more.
        let _ = self.agreed.send(answer);
    }
}

impl Receiver for CursorReceiver {
    fn formats(&self) -> Option<Vec<Vec<u8>>> {
        match self.other {
            OtherReceiver::None => format::offered(Some(MOST_A_SECOND), true),
            #[cfg(feature = "portal")]
            OtherReceiver::Capture => format::offered(None, true),
        }
    }

    fn maps_pictures(&self) -> bool {
        false
    }

    fn agree(&self, format: Result<Agreed, String>) -> Vec<Vec<u8>> {
        let size = format.as_ref().ok().map(|it| it.layout.size());
        self.size.set(size);
        let wanted = match (self.other, &format) {
            #[cfg(feature = "portal")]
            (OtherReceiver::Capture, Ok(agreed)) => format::pictures(agreed, true),
            _ => vec![format::few_buffers(), format::cursor()],
        };
        if let Err(reason) = format {
            self.answer(Err(reason));
        }
        wanted.into_iter().flatten().collect()
    }

    unsafe fn take(&self, buffer: Option<&spa_buffer>) -> bool {
        // SAFETY: as the caller promises, and a cursor consists of numbers.
        let cursor = buffer.and_then(|buffer| unsafe { metadata(buffer, SPA_META_Cursor) });
        let part = cursor.and_then(|cursor| part(&cursor, self.size.get()?));
        if let Some(part) = part {
            self.reports.report(part);
        }
        false
    }

    fn forget(&self, _buffer: *const spa_buffer) {}

    fn runs(&self, is_running: bool) {
        self.is_running.store(is_running, Ordering::Release);
        if is_running {
            self.answer(Ok(()));
        }
        self.reports.run(is_running);
    }

    fn end(&self, reason: &str) {
        self.answer(Err(reason.to_owned()));
        self.reports.end(reason);
    }
}

/// The part of the width and height at which the pointer is. `None`: it is elsewhere or hidden, or can't be there.
fn part(cursor: &spa_meta_cursor, size: [u32; 2]) -> Option<[f64; 2]> {
    let axes = [(cursor.position.x, size[0]), (cursor.position.y, size[1])];
    let is_possible = |&(at, length): &(i32, u32)| {
        length > 0 && (-REACH..i64::from(length) + REACH).contains(&i64::from(at))
    };
    let is_there = cursor.id != 0 && axes.iter().all(is_possible);
    is_there.then(|| axes.map(|(at, length)| f64::from(at) / f64::from(length)))
}

#[cfg(test)]
mod tests {
    use pipewire::spa::sys::spa_point;
    use proptest::prelude::*;

    use super::*;

    fn cursor(id: u32, x: i32, y: i32) -> spa_meta_cursor {
        spa_meta_cursor {
            id,
            flags: u32::MAX,
            position: spa_point { x, y },
            hotspot: spa_point {
                x: i32::MIN,
                y: i32::MAX,
            },
            // Its picture would lie far beyond.
            bitmap_offset: u32::MAX,
        }
    }

    #[test]
    fn a_place_is_a_part_of_the_picture() {
        let size = [1000, 500];
        assert_eq!(part(&cursor(1, 250, 100), size), Some([0.25, 0.2]));
        // A part of its picture is still on the monitor.
        assert_eq!(part(&cursor(7, -10, 505), size), Some([-0.01, 1.01]));
        assert_eq!(part(&cursor(0, 250, 100), size), None, "not there");
        assert_eq!(part(&cursor(1, 250, 100), [0, 500]), None);
        for [x, y] in [[i32::MIN, 0], [0, i32::MAX], [-1025, 0], [0, 1524]] {
            assert_eq!(part(&cursor(1, x, y), size), None, "{x}, {y}");
        }
    }

    proptest! {
        #[test]
        fn no_part_is_far_away(id: u32, x: i32, y: i32, width: u32, height: u32) {
            let part = part(&cursor(id, x, y), [width, height]);
            let limit = REACH as f64 + 1.0;
            prop_assert!(part.is_none_or(|part| part.iter().all(|it| it.abs() <= limit)));
        }
    }
}
