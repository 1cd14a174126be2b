//! How pointer events reach the board.

use std::time::Duration;

use flowpipe_puzzle::Point;
use serde::Serialize;

use crate::play::Settings;
use crate::random::Random;

/// One pointer event, at a point in board units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "event", content = "at", rename_all = "snake_case")]
pub enum Pointer {
    /// The pointer goes down.
    Press(Point),
    /// The pointer is somewhere else now.
    Move(Point),
    /// The pointer goes up.
    Release(Point),
}

/// How the game takes its input: real games differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Every event as it arrives, and nothing between two of them, as desktop games do: a jump of
    /// more than a cell is lost.
    Events,
    /// One sample of the pointer a frame, 60 a second, with the straight line between two samples, as
    /// phones and web games do. Presses and releases are taken in order, each where it happened.
    #[default]
    Frames,
    /// The same, but between two samples only straight ways along a row or a column are filled in; of
    /// others the cells between are lost.
    Straight,
    /// One sample of the pointer a frame, and nothing between two of them: a jump of more than a cell is
    /// lost.
    Samples,
    /// No drags: a click takes a pipe up, the pointer draws without a button, with the straight line
    /// between two events, and a second click puts the pipe down. Every event as it arrives.
    Clicks,
}

impl Input {
    /// The rules of dragging for this kind of input.
    #[must_use]
    pub fn settings(self) -> Settings {
        Settings {
            fill: matches!(self, Self::Frames | Self::Clicks),
            ..Settings::default()
        }
    }
}

/// The time between two samples, in the real game.
pub const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Events on their way to the board. Times are since the start of the session.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    input: Input,
    /// The time between two samples.
    frame: Duration,
    /// The share of moves that are lost, from 0 to 1.
    drop: f64,
    random: Random,
    waiting: Vec<Pointer>,
    /// When the board takes what waits.
    due: Option<Duration>,
}

impl Queue {
    pub(super) fn new(input: Input, frame: Duration, drop: f64, seed: u64) -> Self {
        Self {
            input,
            frame,
            drop,
            random: Random::new(seed),
            waiting: Vec::new(),
            due: None,
        }
    }

    /// Takes an event in; `false` if it is lost.
    pub(super) fn push(&mut self, now: Duration, pointer: Pointer) -> bool {
        let is_move = matches!(pointer, Pointer::Move(_));
        if is_move && self.random.unit() < self.drop {
            return false;
        }
        match self.waiting.last_mut() {
            // A look sees where the pointer is, not how it came there.
            Some(last @ Pointer::Move(_)) if is_move => *last = pointer,
            _ => self.waiting.push(pointer),
        }
        self.due.get_or_insert(match self.input {
            Input::Events | Input::Clicks => now,
            Input::Frames | Input::Straight | Input::Samples => next_frame(now, self.frame),
        });
        true
    }

    /// When the board takes what waits, if something does.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// What the board takes, in order.
    pub(super) fn take(&mut self) -> Vec<Pointer> {
        self.due = None;
        std::mem::take(&mut self.waiting)
    }
}

/// The first look after a time.
fn next_frame(now: Duration, frame: Duration) -> Duration {
    let frame = frame.as_nanos().max(1);
    let passed = now.as_nanos() / frame + 1;
    Duration::from_nanos((passed * frame) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Pointer::{Move, Press, Release};
    use super::*;

    const A: Point = [0.5, 0.5];
    const B: Point = [1.5, 0.5];
    const C: Point = [2.5, 0.5];

    #[test]
    fn frames_see_the_last_place_and_every_press() {
        let mut queue = Queue::new(Input::Frames, FRAME, 0.0, 0);
        for pointer in [Press(A), Move(B), Move(C), Release(C), Press(A), Move(B)] {
            assert!(queue.push(Duration::ZERO, pointer));
        }
        assert_eq!(queue.due(), Some(FRAME));
        let seen = [Press(A), Move(C), Release(C), Press(A), Move(B)];
        assert_eq!(queue.take(), seen);
        assert_eq!(queue.due(), None);
        queue.push(FRAME, Move(C));
        assert_eq!(queue.due(), Some(FRAME * 2));
    }

    #[test]
    fn events_are_due_at_once() {
        let mut queue = Queue::new(Input::Events, FRAME, 0.0, 0);
        let now = Duration::from_millis(5);
        queue.push(now, Move(A));
        assert_eq!(queue.due(), Some(now));
    }

    #[test]
    fn only_moves_are_lost_and_about_the_share_asked_for() {
        let mut queue = Queue::new(Input::Events, FRAME, 0.1, 7);
        let kept = (0..10_000)
            .filter(|_| queue.push(Duration::ZERO, Move(A)))
            .count();
        assert!((8_800..9_200).contains(&kept), "{kept} of 10000 kept");
        let mut deaf = Queue::new(Input::Frames, FRAME, 1.0, 7);
        assert!(deaf.push(Duration::ZERO, Press(A)));
        assert!(!deaf.push(Duration::ZERO, Move(B)));
        assert!(deaf.push(Duration::ZERO, Release(C)));
        assert_eq!(deaf.take(), [Press(A), Release(C)]);
    }

    proptest! {
        /// Presses and releases come out as they went in, with the last place before each.
        #[test]
        fn order_is_kept(kinds in prop::collection::vec(0..3u8, 0..40)) {
            let mut queue = Queue::new(Input::Frames, FRAME, 0.0, 0);
            let all: Vec<Pointer> = kinds
                .iter()
                .enumerate()
                .map(|(index, kind)| {
                    let at = [index as f64, 0.0];
                    match kind { 0 => Press(at), 1 => Release(at), _ => Move(at) }
                })
                .collect();
            for &pointer in &all {
                queue.push(Duration::ZERO, pointer);
            }
            let expected: Vec<Pointer> = all
                .iter()
                .zip(all.iter().skip(1).map(Some).chain([None]))
                .filter(|pair| !matches!(pair, (Move(_), Some(Move(_)))))
                .map(|(&pointer, _)| pointer)
                .collect();
            prop_assert_eq!(queue.take(), expected);
        }
    }
}
