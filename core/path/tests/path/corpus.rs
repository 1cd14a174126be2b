//! Real levels, where they are there: every way lies inside its corridor.

use crate::support::boards::{self, Solved};
use flowpipe_path::{Corridor, End, Inner, Minlink, legs, lies_inside};
use flowpipe_testing::note;

/// Rounding of points to floats.
const SLACK: f64 = 1.0 / (1u64 << 40) as f64;

/// Segments of all flows.
#[derive(Default)]
struct Totals {
    boards: usize,
    flows: usize,
    cells: usize,
    turns: usize,
    fewest: usize,
    better_direction: usize,
}

impl Totals {
    fn add(&mut self, level: &Solved, minlink: &mut Minlink) {
        let board = level.puzzle.board();
        self.boards += 1;
        for flow in &level.solution.flows {
            let back: Vec<_> = flow.cells.iter().rev().copied().collect();
            let [forth, back] = [&flow.cells, &back].map(|cells| {
                let legs = legs(board, cells, End::BesideTerminal);
                let corridors = legs
                    .iter()
                    .map(|leg| Corridor::of(board, leg, Inner::default()));
                let corridors: Vec<_> = corridors.collect();
                let segments: usize = corridors
                    .iter()
                    .map(|corridor| checked(corridor, minlink))
                    .sum();
                let cells: usize = legs.iter().map(|leg| leg.dragged().len() - 1).sum();
                let turns: usize = corridors.iter().map(Corridor::turns).sum();
                (cells, turns, segments)
            });
            self.flows += 1;
            self.cells += forth.0;
            self.turns += forth.1;
            self.fewest += forth.2;
            self.better_direction += forth.2.min(back.2);
        }
    }

    fn print(&self, kind: &str) {
        note!(
            "{} {kind} levels, {} flows: every cell {} segments, turns {}, fewest {}, in the better direction {}",
            self.boards,
            self.flows,
            self.cells,
            self.turns,
            self.fewest,
            self.better_direction
        );
    }
}

/// The segments of a corridor's way, which lies inside.
fn checked(corridor: &Corridor, minlink: &mut Minlink) -> usize {
    let way = minlink.fewest(corridor);
    let inside = lies_inside(corridor, &way.points, SLACK);
    assert_eq!(inside, Ok(()), "{corridor:?} {way:?}");
    assert_eq!(way.segments(), minlink.count(corridor));
    way.segments()
}

#[test]
fn ways_of_real_levels_lie_inside() {
    let Some(levels) = boards::real() else {
        note!("ways of real levels: skipped, there are none here");
        return;
    };
    let mut minlink = Minlink::default();
    let (mut plain, mut others) = (Totals::default(), Totals::default());
    for level in levels {
        let totals = match level.puzzle.board().is_plain_rectangle() {
            true => &mut plain,
            false => &mut others,
        };
        totals.add(&level, &mut minlink);
    }
    assert!(plain.boards + others.boards > 0);
    plain.print("plain");
    others.print("other");
}
