use fastrand::Rng;
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Board, Cell};

use super::*;
use crate::corridor::Inner;
use crate::inside::lies_inside;
use crate::leg::{Leg, legs};

/// Leaves room for the rounding of points to floating numbers.
const SLACK: f64 = 1e-12;

fn board(lattice: Lattice) -> Board {
    Board::new(Description {
        rows: 6,
        cols: 6,
        lattice,
        ..Description::default()
    })
    .expect("a board")
}

fn leg(board: &Board, cells: &[Cell], end: End) -> Leg {
    legs(board, cells, end).remove(0)
}

fn way(board: &Board, leg: &Leg) -> Vec<Point> {
    let corridor = Corridor::of(board, leg, Inner::default());
    let way = corners(&corridor);
    assert_eq!(
        lies_inside(&corridor, &way, SLACK),
        Ok(()),
        "{leg:?} {way:?}"
    );
    way
}

/// A walk that visits no cell twice, as far as it comes.
fn walk(board: &Board, rng: &mut Rng, cells: usize) -> Vec<Cell> {
    let mut walk = vec![rng.usize(0..board.len())];
    while walk.len() < cells {
        let node = board.graph().nodes_of(walk[walk.len() - 1])[0];
        let next: Vec<Cell> = board
            .graph()
            .links(node)
            .iter()
            .map(|link| board.graph().cell_of(link.node))
            .filter(|cell| !walk.contains(cell))
            .collect();
        match rng.choice(next) {
            Some(cell) => walk.push(cell),
            None => break,
        }
    }
    walk
}

#[test]
fn straight_on_and_staircases_are_one_segment() {
    let board = board(Lattice::Square);
    let segments = |cells: &[Cell]| way(&board, &leg(&board, cells, End::InLast)).len() - 1;
    assert_eq!(segments(&[0, 1]), 1);
    assert_eq!(segments(&[0, 1, 2, 3, 4, 5]), 1);
    assert_eq!(segments(&[0, 1, 7, 8, 14, 15, 21]), 1);
    // Two to the right, one down: just so.
    assert_eq!(segments(&[0, 1, 2, 8, 9, 10, 16, 17]), 1);
    assert_eq!(segments(&[0, 1, 2, 8, 14]), 2);
}

#[test]
fn a_way_that_needs_other_points_is_not_found() {
    // The author's own example of what is missed: a two as on a display of seven segments. At 2/3 it is
    // just found, since there segments of 2 to 1 touch the corners that they go round.
    let board = board(Lattice::Square);
    let cells = [0, 1, 7, 13, 12, 18, 24, 25];
    let leg = leg(&board, &cells, End::BesideTerminal);
    let counts = |numerator, denominator| {
        let inner = Inner::new(numerator, denominator).expect("a share");
        let corridor = Corridor::of(&board, &leg, inner);
        let fewest = crate::minlink::count(&corridor);
        [corridor.turns(), corners(&corridor).len() - 1, fewest]
    };
    assert_eq!(counts(13, 20), [4, 4, 3]);
    assert_eq!(counts(2, 3), [4, 3, 3]);
}

/// The shortest chain when each pair of spots is checked by the exact checker of ways.
fn by_the_checker(board: &Board, leg: &Leg) -> usize {
    let corridor = Corridor::of(board, leg, Inner::default());
    let frame = Frame::new(&corridor, corridor.share);
    let spots = Spots::new(&corridor, &frame);
    let places: Vec<Point> = spots
        .all
        .iter()
        .map(|spot| frame.place(spot.at.map(|value| value as f64)))
        .collect();
    // Each cell's centre is the first of its spots.
    let mut cells: Vec<usize> = Vec::new();
    for &[x, y] in &places {
        let next = cells.last().map_or(0, |cell| cell + 1);
        let begins = leg.centres.get(next);
        let begins = begins.is_some_and(|at| f64::hypot(at[0] - x, at[1] - y) < 1e-9);
        cells.push(if begins { next } else { next - 1 });
    }
    let joined = |from: usize, to: usize| {
        let (first, last) = (cells[from], cells[to]);
        if first == last {
            return true;
        }
        let part = Leg {
            cells: leg.cells[first..=last].to_vec(),
            centres: leg.centres[first..=last].to_vec(),
            end: End::InLast,
        };
        let corridor = Corridor::of(board, &part, Inner::default());
        lies_inside(&corridor, &[places[from], places[to]], SLACK).is_ok()
    };
    let mut segments = vec![usize::MAX; places.len()];
    segments[..spots.sources].fill(0);
    for to in spots.sources..places.len() {
        let before = (0..to).filter(|&from| segments[from] != usize::MAX && joined(from, to));
        if let Some(least) = before.map(|from| segments[from] + 1).min() {
            segments[to] = least;
        }
    }
    segments[spots.first_target()..]
        .iter()
        .copied()
        .min()
        .expect("targets")
}

#[test]
fn no_chain_of_these_points_is_shorter() {
    let mut rng = Rng::with_seed(7);
    for index in 0..60 {
        let lattice = [Lattice::Square, Lattice::Hex][index % 2];
        let end = [End::InLast, End::BesideTerminal][index / 2 % 2];
        let board = board(lattice);
        let length = rng.usize(2..11);
        let cells = walk(&board, &mut rng, length);
        if cells.len() < 2 {
            continue;
        }
        let leg = leg(&board, &cells, end);
        let found = way(&board, &leg).len() - 1;
        assert_eq!(found, by_the_checker(&board, &leg), "{lattice:?} {leg:?}");
        let turns = Corridor::of(&board, &leg, Inner::default()).turns();
        assert!(found <= turns);
    }
}
