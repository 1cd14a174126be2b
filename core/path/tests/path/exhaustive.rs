//! The fewest segments are the fewest: against exhaustion on small corridors.

use flowpipe_path::{Corridor, End, Inner, Minlink, lies_inside};
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Board, Lattice};
use num_bigint::BigInt;

use crate::support::{oracle, walks};

const ENDS: [End; 2] = [End::BesideTerminal, End::InLast];

fn inners(lattice: Lattice) -> Vec<Inner> {
    let inner = |numerator, denominator| Inner::new(numerator, denominator).expect("a share");
    match lattice {
        Lattice::Square => vec![inner(2, 3), inner(17, 25), inner(1, 2), inner(9, 10)],
        // No more than 7/10 of a hexagon are used.
        Lattice::Hex => vec![inner(2, 3), inner(17, 25), inner(1, 2), inner(7, 10)],
    }
}

fn board(lattice: Lattice) -> Board {
    let description = Description {
        rows: 80,
        cols: 80,
        lattice,
        ..Description::default()
    };
    Board::new(description).expect("a board")
}

/// Compares the corridors of one walk, with both ends and all widths, with exhaustive search.
struct Comparison {
    lattice: Lattice,
    board: Board,
    minlink: Minlink,
    compared: usize,
    by_count: Vec<usize>,
}

impl Comparison {
    fn new(lattice: Lattice) -> Self {
        Self {
            lattice,
            board: board(lattice),
            minlink: Minlink::default(),
            compared: 0,
            by_count: vec![0; 16],
        }
    }

    fn compare(&mut self, walk: &[u8], only_deepest: bool) {
        for end in ENDS {
            for inner in inners(self.lattice) {
                self.compare_one(walk, end, inner, only_deepest);
            }
        }
    }

    fn compare_one(&mut self, walk: &[u8], end: End, inner: Inner, only_deepest: bool) {
        let leg = walks::leg(self.lattice, walk, end);
        let corridor = Corridor::of(&self.board, &leg, inner);
        let polygons = walks::polygons(self.lattice, walk, end, inner);
        let exhausted = |only_deepest| {
            oracle::fewest::<i128>(&polygons, only_deepest)
                .or_else(|| oracle::fewest::<BigInt>(&polygons, only_deepest))
        };
        let expected = exhausted(true);
        if !only_deepest {
            // With nothing left out it is the same.
            assert_eq!(exhausted(false), expected, "{walk:?} {end:?} {inner}");
        }
        let count = self.minlink.count(&corridor);
        assert_eq!(Some(count), expected, "{walk:?} {end:?} {inner}");
        let way = self.minlink.fewest(&corridor);
        assert_eq!(way.segments(), count);
        let inside = lies_inside(&corridor, &way.points, (-40f64).exp2());
        assert_eq!(inside, Ok(()), "{walk:?} {end:?} {inner} {way:?}");
        self.compared += 1;
        self.by_count[count] += 1;
    }

    fn print(&self, what: &str) {
        println!(
            "{what}: {} corridors alike, by segments {:?}",
            self.compared, self.by_count
        );
    }
}

/// All walks; of those with more cells than `whole`, only the deepest chords of each level go on.
fn all_up_to(lattice: Lattice, cells: usize, whole: usize) {
    let mut comparison = Comparison::new(lattice);
    for steps in 1..cells {
        for walk in walks::all(lattice, steps) {
            comparison.compare(&walk, steps >= whole);
        }
        comparison.print(&format!("{lattice:?}, up to {} cells", steps + 1));
    }
}

fn random(lattice: Lattice, walks: usize, cells: std::ops::RangeInclusive<usize>, seed: u64) {
    let mut comparison = Comparison::new(lattice);
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..walks {
        let steps = random.usize(cells.clone()) - 1;
        let walk = walks::random(lattice, steps, &mut random);
        comparison.compare(&walk, true);
    }
    comparison.print(&format!("{lattice:?}, random, {cells:?} cells"));
}

#[test]
fn all_square_corridors_of_up_to_seven_cells() {
    all_up_to(Lattice::Square, 7, 7);
}

#[test]
fn all_hex_corridors_of_up_to_four_cells() {
    all_up_to(Lattice::Hex, 4, 4);
}

#[test]
fn random_square_corridors() {
    random(Lattice::Square, 50, 8..=12, 1);
}

#[test]
fn random_hex_corridors() {
    random(Lattice::Hex, 12, 5..=8, 2);
}

#[test]
#[ignore = "minutes"]
fn all_hex_corridors_of_up_to_seven_cells() {
    all_up_to(Lattice::Hex, 7, 5);
}

#[test]
#[ignore = "minutes"]
fn many_random_square_corridors() {
    random(Lattice::Square, 3000, 8..=12, 3);
}

#[test]
#[ignore = "minutes"]
fn many_random_hex_corridors() {
    random(Lattice::Hex, 1000, 5..=12, 4);
}
