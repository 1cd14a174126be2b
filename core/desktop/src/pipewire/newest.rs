//! The newest picture of a monitor, which one thread receives and another one wants.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::rows::{BYTES_PER_PIXEL, Layout};
use crate::rect::Rect;

/// How often it is checked whether pictures have ended while one is waited for.
const CHECK: Duration = Duration::from_millis(50);

/// Why nothing comes.
pub(crate) const PAUSED: &str =
    "PipeWire has paused it: check that WirePlumber runs, which connects programs";

/// A picture, or why there is none.
#[derive(Default)]
pub(crate) struct Newest {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    picture: Option<Whole>,
    /// Why none comes any more.
    end: Option<String>,
    /// Why the latest one was not taken.
    refused: Option<String>,
}

/// A picture of a whole monitor or window.
#[derive(Default)]
pub(crate) struct Whole {
    pub size: [u32; 2],
    /// Rows without gaps, four bytes a pixel: blue, green, red, one unused.
    pub pixels: Vec<u8>,
}

impl Newest {
    /// Keeps a picture. Returns the memory of the one before, for the next one.
    pub(super) fn put(&self, layout: Layout, pixels: Vec<u8>) -> Vec<u8> {
        let size = layout.size();
        let mut state = self.state();
        state.refused = None;
        let before = state.picture.replace(Whole { size, pixels });
        drop(state);
        self.changed.notify_all();
        before.unwrap_or_default().pixels
    }

    /// Forgets the picture: while nothing comes, it may be outdated.
    pub(super) fn pause(&self) {
        self.refuse(PAUSED.to_owned());
    }

    /// A picture came that can't be taken: the one before is outdated.
    pub(super) fn refuse(&self, reason: String) {
        let mut state = self.state();
        state.picture = None;
        state.refused = Some(reason);
    }

    /// No picture comes any more. The first reason counts.
    pub(super) fn end(&self, reason: &str) {
        self.state().end.get_or_insert_with(|| reason.to_owned());
        self.changed.notify_all();
    }

    /// Gives the newest picture, if it is one that is wanted; otherwise waits for one. `has_ended`: whether what sends them
    /// has ended.
    ///
    /// # Errors
    /// Why there is none, or none that is wanted.
    pub(crate) fn with<T>(
        &self,
        patience: Duration,
        has_ended: impl Fn() -> bool,
        is_wanted: impl Fn(&Whole) -> bool,
        give: impl FnOnce(&Whole) -> T,
    ) -> Result<T, String> {
        let began = Instant::now();
        let mut state = self.state();
        loop {
            if let Some(reason) = &state.end {
                return Err(reason.clone());
            }
            if has_ended() {
                return Err("the pictures have ended".to_owned());
            }
            match &state.picture {
                Some(picture) if is_wanted(picture) => return Ok(give(picture)),
                _ => {}
            }
            let Some(rest) = patience.checked_sub(began.elapsed()) else {
                return Err(state.lack());
            };
            state = match self.changed.wait_timeout(state, rest.min(CHECK)) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here can be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Whole {
    /// Copies the pixels of a part of the screen that lies on a monitor of a place, of which this is the picture. Returns how
    /// many there are to the right and down.
    pub(crate) fn cut(&self, monitor: Rect, part: Rect, to: &mut Vec<u8>) -> [u32; 2] {
        let [columns, rows] = [
            (part.x, part.width, monitor.x, monitor.width, self.size[0]),
            (part.y, part.height, monitor.y, monitor.height, self.size[1]),
        ]
        .map(|(at, length, from, of, pixels)| {
            let scale = f64::from(pixels) / f64::from(of);
            let begin = f64::from(at.abs_diff(from)) * scale;
            let end = begin + f64::from(length) * scale;
            // The part lies on the monitor, so that neither is beyond its pixels.
            let [begin, end] = [begin, end].map(|it| (it.round() as u32).min(pixels));
            begin as usize..end as usize
        });
        to.clear();
        let row = self.size[0] as usize * BYTES_PER_PIXEL;
        let bytes = columns.start * BYTES_PER_PIXEL..columns.end * BYTES_PER_PIXEL;
        for pixels in self
            .pixels
            .chunks_exact(row)
            .take(rows.end)
            .skip(rows.start)
        {
            to.extend_from_slice(&pixels[bytes.clone()]);
        }
        [columns.len() as u32, rows.len() as u32]
    }
}

impl State {
    /// Why no picture has come in time.
    fn lack(&self) -> String {
        match (&self.refused, &self.picture) {
            (Some(reason), _) => reason.clone(),
            (None, Some(Whole { size: [x, y], .. })) => {
                format!("the compositor still sends pictures of {x} x {y} pixels")
            }
            (None, None) => "the compositor sends no picture".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: u32) -> Layout {
        Layout::new(width, 1, false).unwrap()
    }

    fn seen(newest: &Newest, width: u32, patience: Duration) -> Result<Vec<u8>, String> {
        newest.with(
            patience,
            || false,
            |it| it.size == [width, 1],
            |it| it.pixels.clone(),
        )
    }

    #[test]
    fn a_wanted_picture_is_waited_for() {
        let newest = Newest::default();
        let none = seen(&newest, 1, Duration::ZERO).unwrap_err();
        assert_eq!(none, "the compositor sends no picture");
        assert!(newest.put(layout(2), vec![1; 8]).is_empty());
        let other = seen(&newest, 1, Duration::ZERO).unwrap_err();
        assert!(other.contains("2 x 1"), "{other}");
        assert_eq!(newest.put(layout(2), vec![3; 8]), [1; 8]);
        newest.refuse("odd".to_owned());
        assert_eq!(seen(&newest, 1, Duration::ZERO).unwrap_err(), "odd");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| seen(&newest, 1, Duration::from_secs(60)));
            assert!(newest.put(layout(1), vec![2; 4]).is_empty());
            assert_eq!(waits.join().unwrap(), Ok(vec![2; 4]));
        });
    }

    #[test]
    fn an_end_is_reported_at_once() {
        let newest = Newest::default();
        newest.put(layout(1), vec![2; 4]);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| seen(&newest, 9, Duration::from_secs(60)));
            newest.end("over");
            newest.end("again");
            assert_eq!(waits.join().unwrap(), Err("over".to_owned()));
        });
        assert_eq!(seen(&newest, 1, Duration::ZERO), Err("over".to_owned()));
        let newest = Newest::default();
        let ended = newest.with(Duration::from_secs(60), || true, |_| true, |_| ());
        assert!(ended.is_err());
    }

    #[test]
    fn an_outdated_picture_is_not_given() {
        let newest = Newest::default();
        let get = || {
            let patience = Duration::from_millis(1);
            newest.with(patience, || false, |_| true, |whole| whole.pixels.clone())
        };
        newest.put(layout(1), vec![1; 4]);
        assert_eq!(get(), Ok(vec![1; 4]));
        newest.pause();
        assert_eq!(get(), Err(PAUSED.to_owned()));
        newest.put(layout(1), vec![2; 4]);
        assert_eq!(get(), Ok(vec![2; 4]));
        // One that can't be taken came after it.
        newest.refuse("too short".to_owned());
        assert_eq!(get(), Err("too short".to_owned()));
    }
}
