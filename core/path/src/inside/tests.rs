use flowpipe_puzzle::{Board, place};

use super::*;
use crate::corridor::Inner;
use crate::leg::{End, Leg, legs};

fn leg(cells: &[usize], end: End) -> (Board, Leg) {
    let board = Board::rectangle(4, 4).expect("a board");
    let leg = legs(&board, cells, end).remove(0);
    (board, leg)
}

/// Half of each cell is used, so that the walls lie at quarters.
fn corridor(cells: &[usize], end: End) -> Corridor {
    let (board, leg) = leg(cells, end);
    Corridor::of(&board, &leg, Inner::new(1, 2).expect("a share"))
}

const ROUND_THE_CORNER: [usize; 5] = [0, 1, 2, 6, 10];

#[test]
fn the_border_is_inside_and_not_a_hair_more() {
    let corridor = corridor(&ROUND_THE_CORNER, End::InLast);
    // Along the outer walls, touching them.
    let way = [[0.25, 0.25], [2.75, 0.25], [2.75, 2.75]];
    assert_eq!(lies_inside(&corridor, &way, 0.0), Ok(()));
    let hair = f64::EPSILON;
    let beyond = [[0.25, 0.25], [2.75 + 2.0 * hair, 0.25], [2.75, 2.75]];
    let leaves = Err(CorridorError::Leaves { point: 1 });
    assert_eq!(lies_inside(&corridor, &beyond, 0.0), leaves);
    assert_eq!(lies_inside(&corridor, &beyond, hair), leaves);
    assert_eq!(lies_inside(&corridor, &beyond, 2.0 * hair), Ok(()));
}

#[test]
fn a_line_that_touches_an_inner_corner_passes_it() {
    let corridor = corridor(&ROUND_THE_CORNER, End::InLast);
    // Through the inner corner (2.25, 0.75), from wall to wall.
    let way = [[0.5, 0.5], [1.75, 0.25], [2.75, 1.25], [2.5, 2.5]];
    assert_eq!(lies_inside(&corridor, &way, 0.0), Ok(()));
    let cut = [
        [0.5, 0.5],
        [1.75, 0.25 + f64::EPSILON],
        [2.75, 1.25],
        [2.5, 2.5],
    ];
    let leaves = Err(CorridorError::Leaves { point: 2 });
    assert_eq!(lies_inside(&corridor, &cut, 0.0), leaves);
}

#[test]
fn begin_and_end_are_where_they_belong() {
    let whole = corridor(&ROUND_THE_CORNER, End::InLast);
    let way = |begin, end| [begin, [2.5, 0.5], end];
    let check = |corridor, begin, end| lies_inside(corridor, &way(begin, end), 0.0);
    assert_eq!(check(&whole, [0.5, 0.5], [2.5, 2.5]), Ok(()));
    assert_eq!(
        check(&whole, [0.8, 0.5], [2.5, 2.5]),
        Err(CorridorError::Start)
    );
    let short = Err(CorridorError::Leaves { point: 2 });
    assert_eq!(check(&whole, [0.5, 0.5], [2.5, 2.2]), short);
    let beside = corridor(&ROUND_THE_CORNER, End::BesideTerminal);
    assert_eq!(check(&beside, [0.5, 0.5], [2.5, 1.5]), Ok(()));
    assert_eq!(check(&beside, [0.5, 0.5], [2.5, 1.75]), Ok(()));
    assert_eq!(
        check(&beside, [0.5, 0.5], [2.5, 1.4]),
        Err(CorridorError::End)
    );
    assert_eq!(check(&beside, [0.5, 0.5], [2.5, 1.8]), short);
}

#[test]
fn pieces_come_in_their_order() {
    // Round a block and across itself, as over a bridge at cell 5.
    let corridor = corridor(&[4, 5, 6, 2, 1, 5, 9], End::InLast);
    let whole = [[0.5, 1.5], [2.5, 1.5], [2.5, 0.5], [1.5, 0.5], [1.5, 2.5]];
    assert_eq!(lies_inside(&corridor, &whole, 0.0), Ok(()));
    // At the crossing straight to the end.
    let short = [[0.5, 1.5], [1.5, 1.5], [1.5, 2.5]];
    let refused = lies_inside(&corridor, &short, 0.0);
    assert_eq!(refused, Err(CorridorError::Leaves { point: 2 }));
    // Neighbours that do not follow each other are not joined.
    let back = [[0.5, 1.5], [1.5, 1.5], [1.5, 0.5], [1.5, 2.5]];
    assert!(lies_inside(&corridor, &back, 0.0).is_err());
}

#[test]
fn hexagons_have_slanted_walls() {
    let board = Board::new(flowpipe_puzzle::board::Description {
        rows: 3,
        cols: 3,
        lattice: flowpipe_puzzle::Lattice::Hex,
        ..Default::default()
    })
    .expect("a board");
    let leg = legs(&board, &[3, 4, 5], End::InLast).remove(0);
    let corridor = Corridor::of(&board, &leg, Inner::new(1, 2).expect("a share"));
    let centres = leg.centres.clone();
    assert_eq!(centres[1], place::centre(&board, 4));
    assert_eq!(lies_inside(&corridor, &centres, 0.0), Ok(()));
    // Straight from the first to the last: below the second.
    let cut = [[0.5, 1.9], [2.5, 1.9]];
    assert!(lies_inside(&corridor, &cut, 0.0).is_err());
    assert_eq!(lies_inside(&corridor, &cut, 1.0), Ok(()));
}

#[test]
fn what_is_no_way_is_refused() {
    let corridor = corridor(&ROUND_THE_CORNER, End::InLast);
    let check = |points: &[Point], slack| lies_inside(&corridor, points, slack);
    assert_eq!(check(&[], 0.0), Err(CorridorError::NoPoints));
    assert_eq!(
        check(&[[f64::NAN, 0.5]], 0.0),
        Err(CorridorError::NotFinite)
    );
    assert_eq!(check(&[[0.5, 0.5]], -1.0), Err(CorridorError::NotFinite));
    assert_eq!(
        check(&[[0.5, 0.5]], 0.0),
        Err(CorridorError::Leaves { point: 1 })
    );
    let far = [[0.5, 0.5], [1e300, -1e-300]];
    assert!(check(&far, 0.0).is_err());
}
