use flowpipe_puzzle::board::Description;

use super::*;
use crate::leg::legs;

fn corridor(cells: &[usize], end: End) -> Corridor {
    let board = Board::rectangle(4, 4).expect("a board");
    Corridor::of(&board, &legs(&board, cells, end)[0], Inner::default())
}

fn placed(corridor: &Corridor) -> Vec<[Point; 2]> {
    let frame = Frame::new(corridor, corridor.share);
    let gate = |&gate| {
        frame
            .gate(corridor, gate)
            .map(|end| frame.place(end.map(|c| c as f64)))
    };
    corridor.gates.iter().map(gate).collect()
}

fn nearly(a: Point, b: Point) -> bool {
    (0..2).all(|axis| (a[axis] - b[axis]).abs() < 1e-12)
}

#[test]
fn a_straight_run_is_one_piece() {
    let corridor = corridor(&[0, 1, 2, 3], End::InLast);
    let [near, far] = [5.0 / 6.0, 3.0 + 1.0 / 6.0];
    let [top, bottom] = [1.0 / 6.0, 5.0 / 6.0];
    let gates = placed(&corridor);
    assert_eq!(gates.len(), 2);
    // Left of who goes east is north.
    assert!(nearly(gates[0][0], [near, top]) && nearly(gates[0][1], [near, bottom]));
    assert!(nearly(gates[1][0], [far, top]) && nearly(gates[1][1], [far, bottom]));
    assert_eq!(corridor.turns(), 1);
}

#[test]
fn beside_the_terminal_half_a_square_is_enough() {
    // Straight on it begins at the middle line.
    let straight = corridor(&[0, 1, 2, 3], End::BesideTerminal);
    let gates = placed(&straight);
    assert!(nearly(gates[1][0], [2.5, 1.0 / 6.0]));
    assert!(straight.fork.is_none());
    // After a turn there are two ways into it.
    let turned = corridor(&[0, 1, 2, 6], End::BesideTerminal);
    assert_eq!(turned.last(), 2);
    assert_eq!(turned.turns(), 1);
    let fork = turned.fork.expect("a fork");
    let frame = Frame::new(&turned, turned.share);
    let place = |gate| {
        frame
            .gate(&turned, gate)
            .map(|end| frame.place(end.map(|c| c as f64)))
    };
    let entry = 2.0 + 1.0 / 6.0;
    let [left, right] = place(fork.near);
    assert!(nearly(left, [entry, 0.5]) && nearly(right, [entry, 5.0 / 6.0]));
    let [left, right] = place(fork.far[1]);
    assert!(nearly(left, [2.0 + 5.0 / 6.0, 0.5]) && nearly(right, [entry, 0.5]));
}

#[test]
fn an_outer_wall_has_the_corner_between_two_gates() {
    let corridor = corridor(&[0, 1, 5, 4], End::InLast);
    let frame = Frame::new(&corridor, corridor.share);
    // Gates: out of 0, into 1, out of 1, into 5, out of 5, into 4.
    assert_eq!(corridor.gates.len(), 6);
    let wall = |gate, side| frame.wall(&corridor, gate, side).collect::<Vec<_>>();
    assert_eq!(wall(1, 0), [frame.corner(&corridor, 1, 1)]);
    assert_eq!(wall(1, 1), Vec::<[i64; 2]>::new());
    assert_eq!(wall(2, 0), Vec::<[i64; 2]>::new());
}

#[test]
fn corners_are_small_whole_numbers() {
    let corridor = corridor(&[0, 1, 5], End::InLast);
    let frame = Frame::new(&corridor, corridor.share);
    // A cell is three units wide, so the inner square two.
    assert_eq!(frame.corner(&corridor, 0, 2), [1, -1]);
    assert_eq!(frame.corner(&corridor, 2, 0), [2, -2]);
    let half = corridor.narrowed(Corridor::STEPS / 2);
    assert!((half.inner() - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn hexagons_stay_in_the_pointers_squares() {
    let board = Board::new(Description {
        rows: 4,
        cols: 4,
        lattice: Lattice::Hex,
        ..Description::default()
    })
    .expect("a board");
    let leg = &legs(&board, &[5, 6, 10], End::InLast)[0];
    let wide = Corridor::of(&board, leg, Inner::new(9, 10).expect("a share"));
    assert_eq!(wide.inner(), 0.7);
    // A corridor's corners are in cells of the leg.
    for gate in placed(&wide).concat() {
        let cell = place::cell_at(&board, gate).expect("a cell");
        assert!(leg.cells.contains(&cell), "{gate:?}");
    }
}
