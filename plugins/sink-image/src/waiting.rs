//! Frames that wait for a message that chooses them. The message may come before or after its frame.

use std::collections::VecDeque;

/// The most messages that wait for their frames.
const MOST_CHOSEN: usize = 64;
/// Of how many frames it is kept that they were chosen.
const MOST_TAKEN: usize = 1024;

/// Frames, and choices of frames with what comes with them, by the frames' numbers.
pub struct Waiting<F, C> {
    frames: VecDeque<(u64, F)>,
    most_frames: usize,
    /// Choices of frames that have not come.
    chosen: VecDeque<(u64, C)>,
    /// The numbers of the frames that were chosen, the newest last.
    taken: VecDeque<u64>,
    /// The largest number of a frame that was dropped.
    dropped: u64,
}

/// What comes of the choice of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice<F, C> {
    /// This frame.
    Waited(F, C),
    /// The frame has not come yet.
    ToCome,
    /// So many choices wait for their frames that the one of this frame was dropped.
    Dropped(u64),
    /// It was chosen before: the first message counts.
    Repeated,
    /// The frame was dropped.
    TooLate,
}

impl<F, C> Waiting<F, C> {
    /// Nothing yet. At most so many frames wait.
    pub fn new(most_frames: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            most_frames,
            chosen: VecDeque::new(),
            taken: VecDeque::new(),
            dropped: 0,
        }
    }

    /// A frame comes. Returned with its choice if it was chosen; otherwise it waits.
    pub fn add(&mut self, number: u64, frame: F) -> Option<(F, C)> {
        if let Some(place) = self.chosen.iter().position(|(it, _)| *it == number)
            && let Some((_, choice)) = self.chosen.remove(place)
        {
            self.take(number);
            return Some((frame, choice));
        }
        while self.frames.len() >= self.most_frames {
            let dropped = self.frames.pop_front();
            self.dropped = self.dropped.max(dropped.map_or(0, |(number, _)| number));
        }
        self.frames.push_back((number, frame));
        None
    }

    /// A frame is chosen. Returned if it waits, and no longer waits then.
    pub fn choose(&mut self, number: u64, choice: C) -> Choice<F, C> {
        if let Some(place) = self.frames.iter().position(|(it, _)| *it == number)
            && let Some((_, frame)) = self.frames.remove(place)
        {
            self.take(number);
            return Choice::Waited(frame, choice);
        }
        if self.taken.contains(&number) || self.chosen.iter().any(|(it, _)| *it == number) {
            return Choice::Repeated;
        }
        if number <= self.dropped {
            return Choice::TooLate;
        }
        let full = self.chosen.len() >= MOST_CHOSEN;
        let oldest = if full { self.chosen.pop_front() } else { None };
        self.chosen.push_back((number, choice));
        oldest.map_or(Choice::ToCome, |(dropped, _)| Choice::Dropped(dropped))
    }

    fn take(&mut self, number: u64) {
        if self.taken.len() >= MOST_TAKEN {
            self.taken.pop_front();
        }
        self.taken.push_back(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_and_its_choice_come_in_any_order() {
        let mut waiting = Waiting::new(2);
        assert_eq!(waiting.choose(1, 'x'), Choice::ToCome);
        assert_eq!(waiting.choose(1, 'y'), Choice::Repeated);
        assert_eq!(waiting.add(1, "a"), Some(("a", 'x')));
        assert_eq!(waiting.add(2, "b"), None);
        assert_eq!(waiting.choose(2, 'z'), Choice::Waited("b", 'z'));
        // A second message of one frame chooses nothing more.
        assert_eq!(waiting.add(3, "c"), None);
        assert_eq!(waiting.choose(2, 'z'), Choice::Repeated);
        assert_eq!(waiting.choose(1, 'z'), Choice::Repeated);
    }

    #[test]
    fn few_frames_and_choices_wait() {
        let mut waiting = Waiting::new(2);
        for number in 1..=4 {
            assert_eq!(waiting.add(number, number), None);
        }
        assert_eq!(waiting.choose(2, ()), Choice::TooLate);
        assert_eq!(waiting.choose(3, ()), Choice::Waited(3, ()));
        for number in 0..10_000_u64 {
            let expected = match number.checked_sub(MOST_CHOSEN as u64) {
                Some(oldest) => Choice::Dropped(100 + oldest),
                None => Choice::ToCome,
            };
            assert_eq!(waiting.choose(100 + number, ()), expected);
        }
        assert_eq!(waiting.chosen.len(), MOST_CHOSEN);
        assert_eq!(waiting.add(10_099, 0), Some((0, ())));
    }
}
