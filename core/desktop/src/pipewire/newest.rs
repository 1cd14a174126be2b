//! The newest picture of a monitor, which one thread receives and another one wants.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::changes::{Changes, Part};
use super::presence::LOST;
use super::rows::Layout;
use crate::number::next_number;

/// How often it is checked whether pictures have ended while one is waited for.
const CHECK: Duration = Duration::from_millis(50);

/// Of how many pictures it is kept what has changed, which is about a second. Who looks less often copies.
const KEPT: usize = 64;

/// How long it may take until the end of the connection to PipeWire is known.
pub(crate) const END_KNOWN_WITHIN: Duration = Duration::from_millis(300);

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
    /// The last pictures of this size without one that could not be taken between them, this one last: each with its number
    /// and what it has changed.
    history: VecDeque<(u64, Changes)>,
}

impl Newest {
    /// Keeps a picture. `changes`: since the one before. Returns the memory of that, for the next one.
    pub(super) fn put(&self, layout: Layout, pixels: Vec<u8>, changes: Changes) -> Vec<u8> {
        let size = layout.size();
        let mut state = self.state();
        state.refused = None;
        let before = state.picture.take().unwrap_or_default();
        let mut history = before.history;
        if before.size != size {
            history.clear();
        }
        if history.len() >= KEPT {
            history.pop_front();
        }
        history.push_back((next_number(), changes));
        state.picture = Some(Whole {
            size,
            pixels,
            history,
        });
        drop(state);
        self.changed.notify_all();
        before.pixels
    }

    /// Whether there is a picture, which the next one may be copied from.
    pub(super) fn is_there(&self) -> bool {
        self.state().picture.is_some()
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

    /// Whether pictures have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().end.is_some()
    }

    /// Whether pictures have ended with the connection to PipeWire. Waits a moment: that becomes known at about the same time
    /// as other ends that follow from it.
    pub(crate) fn has_lost_pipewire(&self) -> bool {
        let began = Instant::now();
        let mut state = self.state();
        loop {
            if let Some(reason) = &state.end {
                return reason == LOST;
            }
            let Some(rest) = END_KNOWN_WITHIN.checked_sub(began.elapsed()) else {
                return false;
            };
            state = match self.changed.wait_timeout(state, rest) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
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
    /// Its number, which no other picture has.
    pub(super) fn number(&self) -> u64 {
        self.history.back().map_or(0, |(number, _)| *number)
    }

    /// Whether a part of it may differ from the picture of a number. Of one that is not known, it may.
    pub(super) fn has_changed(&self, since: u64, part: Part) -> bool {
        let known = self.history.iter().position(|(number, _)| *number == since);
        known.is_none_or(|at| {
            let mut later = self.history.range(at + 1..);
            later.any(|(_, changes)| changes.touch(part))
        })
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

    fn put(newest: &Newest, width: u32, value: u8) -> Vec<u8> {
        let pixels = vec![value; width as usize * 4];
        newest.put(layout(width), pixels, Changes::All)
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
        assert!(put(&newest, 2, 1).is_empty());
        let other = seen(&newest, 1, Duration::ZERO).unwrap_err();
        assert!(other.contains("2 x 1"), "{other}");
        assert_eq!(put(&newest, 2, 3), [1; 8]);
        newest.refuse("odd".to_owned());
        assert_eq!(seen(&newest, 1, Duration::ZERO).unwrap_err(), "odd");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| seen(&newest, 1, Duration::from_secs(60)));
            assert!(put(&newest, 1, 2).is_empty());
            assert_eq!(waits.join().unwrap(), Ok(vec![2; 4]));
        });
    }

    #[test]
    fn an_end_is_reported_at_once() {
        let newest = Newest::default();
        put(&newest, 1, 2);
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
    fn the_end_of_pipewire_is_none_of_others() {
        let ended = |reason| {
            let newest = Newest::default();
            newest.end(reason);
            newest.has_lost_pipewire()
        };
        assert!(ended(LOST));
        assert!(!ended("PipeWire has ended the stream"));
        assert!(!Newest::default().has_lost_pipewire());
    }

    #[test]
    fn an_outdated_picture_is_not_given() {
        let newest = Newest::default();
        let get = || {
            let patience = Duration::from_millis(1);
            newest.with(patience, || false, |_| true, |whole| whole.pixels.clone())
        };
        put(&newest, 1, 1);
        assert_eq!(get(), Ok(vec![1; 4]));
        newest.pause();
        assert_eq!(get(), Err(PAUSED.to_owned()));
        put(&newest, 1, 2);
        assert_eq!(get(), Ok(vec![2; 4]));
        // One that can't be taken came after it.
        newest.refuse("too short".to_owned());
        assert_eq!(get(), Err("too short".to_owned()));
    }

    #[test]
    fn changes_are_known_of_the_last_pictures() {
        let newest = Newest::default();
        let part = |column| Part {
            begin: [column, 0],
            end: [column + 1, 1],
        };
        let of = |column| Changes::Parts(vec![part(column)]);
        let put = |width, changes| {
            newest.put(layout(width), vec![0; width as usize * 4], changes);
            let number = newest.with(Duration::ZERO, || false, |_| true, Whole::number);
            number.unwrap()
        };
        let changed = |since, column| {
            let ask = |whole: &Whole| whole.has_changed(since, part(column));
            newest
                .with(Duration::ZERO, || false, |_| true, ask)
                .unwrap()
        };
        let first = put(9, Changes::All);
        assert!(!changed(first, 1) && changed(first + 1, 1) && changed(0, 1));
        let second = put(9, of(1));
        assert!(changed(first, 1) && !changed(first, 2) && !changed(second, 1));
        let third = put(9, of(2));
        assert!(changed(first, 1) && changed(first, 2) && !changed(first, 3));
        assert!(!changed(second, 1) && changed(second, 2));
        // Another size, and one that could not be taken.
        let other = put(8, Changes::none());
        assert!(changed(third, 3) && !changed(other, 3));
        newest.refuse("odd".to_owned());
        let again = put(8, Changes::none());
        assert!(changed(other, 3) && !changed(again, 3));
        // So long ago that it is not kept.
        for _ in 1..KEPT {
            put(8, Changes::none());
        }
        assert!(!changed(again, 3));
        put(8, Changes::none());
        assert!(changed(again, 3));
    }
}
