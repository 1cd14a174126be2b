//! How fast to drag, found out by what the game takes.

use std::collections::VecDeque;

use flowpipe_plugin::puzzle::message::{Pace, Stroke};
use flowpipe_plugin::puzzle::{Colour, Puzzle};

use crate::config::{Named, PaceChoice};

/// From fast to slow. Display frames last 16.7 ms: a look that comes late must not meet the pointer
/// beyond the turn.
const LEVELS: [Pace; 4] = [
    pace(0.5, 0.0, 0.0, 1),
    pace(0.5, 18.0, 0.0, 1),
    pace(0.34, 25.0, 5.0, 2),
    pace(0.25, 45.0, 25.0, 3),
];
/// Strokes that a level is judged by.
const WINDOW: usize = 40;
/// More than this share of strokes missed is too much. A few in a hundred fail anywhere.
const TOO_MANY: f64 = 0.08;

const fn pace(step: f64, dwell_ms: f64, ends_ms: f64, repeats: u32) -> Pace {
    Pace {
        step,
        dwell_ms,
        ends_ms,
        repeats,
    }
}

/// Chooses the pace.
pub struct Finder {
    fixed: Option<Pace>,
    level: usize,
    /// Whether each of the latest strokes at this level was missed.
    missed: VecDeque<bool>,
    /// What was played last: not known yet whether it was taken.
    last: Option<(Puzzle, Vec<Colour>)>,
}

impl Finder {
    pub fn new(choice: &PaceChoice) -> Self {
        let (fixed, level) = match choice {
            PaceChoice::Given(pace) => (Some(*pace), 0),
            PaceChoice::Named(Named::Auto) => (None, 0),
            PaceChoice::Named(Named::Fast) => (Some(LEVELS[0]), 0),
            PaceChoice::Named(Named::Frames) => (Some(LEVELS[1]), 1),
            PaceChoice::Named(Named::Careful) => (Some(LEVELS[2]), 2),
            PaceChoice::Named(Named::Slow) => (Some(LEVELS[3]), 3),
        };
        Self {
            fixed,
            level,
            missed: VecDeque::new(),
            last: None,
        }
    }

    /// The pace for these strokes. What is asked for again on the same board was missed before.
    pub fn choose(&mut self, puzzle: &Puzzle, strokes: &[Stroke]) -> Pace {
        if let Some(pace) = self.fixed {
            return pace;
        }
        if let Some((before, played)) = self.last.take() {
            let again = |colour: &Colour| strokes.iter().any(|stroke| stroke.colour == *colour);
            let same = before == *puzzle;
            self.missed
                .extend(played.iter().map(|colour| same && again(colour)));
            while self.missed.len() > WINDOW {
                self.missed.pop_front();
            }
            let missed = self.missed.iter().filter(|&&missed| missed).count();
            // One alone is chance, whatever its share.
            if missed > 1 && missed as f64 > TOO_MANY * self.missed.len() as f64 {
                self.slow_down();
            }
        }
        self.pace()
    }

    /// Notes that strokes were played to their end.
    pub fn played(&mut self, puzzle: &Puzzle, strokes: &[Stroke]) {
        let colours = strokes.iter().map(|stroke| stroke.colour).collect();
        self.last = Some((puzzle.clone(), colours));
    }

    fn pace(&self) -> Pace {
        LEVELS[self.level.min(LEVELS.len() - 1)]
    }

    fn slow_down(&mut self) {
        if self.level + 1 < LEVELS.len() {
            self.level += 1;
            self.missed.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::{Board, Rules, Terminal};

    use super::*;

    fn puzzle(first: usize) -> Puzzle {
        let terminals = [first, first + 1].map(|cell| Terminal { cell, colour: 0 });
        let board = Board::rectangle(3, 3).unwrap();
        Puzzle::new(board, terminals.to_vec(), Rules::default()).unwrap()
    }

    fn strokes(colours: &[Colour]) -> Vec<Stroke> {
        let stroke = |&colour| Stroke {
            colour,
            cells: Vec::new(),
            points: Vec::new(),
        };
        colours.iter().map(stroke).collect()
    }

    fn auto() -> Finder {
        Finder::new(&PaceChoice::Named(Named::Auto))
    }

    fn play(finder: &mut Finder, puzzle: &Puzzle, colours: &[Colour]) -> Pace {
        let strokes = strokes(colours);
        let pace = finder.choose(puzzle, &strokes);
        finder.played(puzzle, &strokes);
        pace
    }

    #[test]
    fn many_misses_slow_down_and_luck_does_not() {
        let mut finder = auto();
        let all: Vec<Colour> = (0..8).collect();
        for first in 0..5 {
            assert_eq!(play(&mut finder, &puzzle(first), &all), LEVELS[0]);
        }
        // One of 41: chance.
        assert_eq!(play(&mut finder, &puzzle(4), &[3]), LEVELS[0]);
        assert_eq!(play(&mut finder, &puzzle(5), &all), LEVELS[0]);
        // Four of 40: too many.
        assert_eq!(play(&mut finder, &puzzle(5), &[0, 1, 2, 3]), LEVELS[1]);
        // Taken at the new pace, which stays.
        for first in 0..3 {
            assert_eq!(play(&mut finder, &puzzle(first), &all), LEVELS[1]);
        }
    }

    #[test]
    fn it_ends_at_the_slowest() {
        let mut finder = auto();
        let paces: Vec<Pace> = (0..7)
            .map(|_| play(&mut finder, &puzzle(0), &[0, 1, 2]))
            .collect();
        assert_eq!(paces[..4], LEVELS);
        assert!(paces[4..].iter().all(|pace| *pace == LEVELS[3]));
    }

    #[test]
    fn what_is_given_stays() {
        let mut finder = Finder::new(&PaceChoice::Named(Named::Frames));
        for _ in 0..5 {
            assert_eq!(play(&mut finder, &puzzle(0), &[0, 1, 2]), LEVELS[1]);
        }
    }
}
