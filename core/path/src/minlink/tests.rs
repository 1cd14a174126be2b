use flowpipe_puzzle::Board;

use super::*;
use crate::corridor::Inner;
use crate::leg::{End, legs};

fn corridor(cells: &[usize], inner: Inner) -> Corridor {
    let board = Board::rectangle(8, 16).expect("a board");
    Corridor::of(&board, &legs(&board, cells, End::InLast)[0], inner)
}

#[test]
fn a_straight_way_leads_through_the_middle() {
    let way = fewest(&corridor(&[0, 1, 2, 3], Inner::default()));
    assert_eq!(way.points, [[0.5, 0.5], [3.5, 0.5]]);
    assert_eq!(way.width, 0);
}

#[test]
fn a_bend_that_one_line_passes_takes_the_narrowest_corridor() {
    let bend = corridor(&[0, 1, 17], Inner::default());
    let way = fewest(&bend);
    assert_eq!(way.segments(), 1);
    assert!(way.width > 0 && way.width < Corridor::STEPS, "{way:?}");
    assert_eq!(count(&bend.narrowed(way.width - 1)), 2);
}

#[test]
fn a_third_just_admits_the_staircase() {
    // Cells (0,0) (1,0) (2,0) (2,1) (3,1) (4,1) (4,2) …: two to the right, one down.
    let cells: Vec<usize> = (0..5)
        .flat_map(|stair| {
            let corner = 16 * stair + 2 * stair;
            [corner, corner + 1, corner + 2]
        })
        .collect();
    let exact = corridor(&cells, Inner::default());
    assert_eq!(count(&exact), 1);
    assert_eq!(fewest(&exact).width, Corridor::STEPS);
    let less = corridor(&cells, Inner::new(333, 500).expect("a share"));
    assert!(count(&less) > 1);
    let more = corridor(&cells, Inner::new(3, 4).expect("a share"));
    assert!(fewest(&more).width < Corridor::STEPS);
}

#[test]
fn long_numbers_give_the_same_windows() {
    let board = Board::rectangle(40, 40).expect("a board");
    // A meander of ever changing stairs.
    let mut cells = vec![0];
    let mut at = [0, 0];
    for (index, run) in [3, 1, 2, 4, 1, 3, 2, 1, 5, 2, 3, 1, 4, 2]
        .iter()
        .enumerate()
    {
        for _ in 0..*run {
            at[index % 2] += 1;
            cells.push(at[1] * 40 + at[0]);
        }
    }
    let leg = &legs(&board, &cells, End::InLast)[0];
    for (numerator, denominator) in [(2, 3), (333, 500), (997, 1000)] {
        let inner = Inner::new(numerator, denominator).expect("a share");
        let corridor = &Corridor::of(&board, leg, inner);
        let frame = &Frame::new(corridor, corridor.share_narrowed(Corridor::STEPS - 1));
        fn of<N: Number>(corridor: &Corridor, frame: &Frame) -> Option<(usize, Vec<Point>)> {
            let mut windows = Windows::<N>::default();
            windows.open(corridor, frame, usize::MAX)?;
            let points = points::choose(&windows, corridor, frame)?;
            Some((windows.count(), points))
        }
        let any = of::<BigInt>(corridor, frame).expect("any length");
        for shorter in [of::<i64>(corridor, frame), of::<i128>(corridor, frame)] {
            let Some(shorter) = shorter else { continue };
            assert_eq!(shorter.0, any.0);
            let nearly = |(a, b): (&Point, &Point)| (0..2).all(|i| (a[i] - b[i]).abs() < 1e-12);
            assert!(
                shorter.1.iter().zip(&any.1).all(nearly),
                "{shorter:?} {any:?}"
            );
        }
    }
}

#[test]
fn to_try_every_part_of_a_window_changes_nothing_where_the_corridor_does_not_cross_itself() {
    let board = Board::rectangle(9, 9).expect("a board");
    let mut random = fastrand::Rng::with_seed(5);
    let (mut minlink, mut compared) = (Minlink::default(), 0);
    while compared < 2000 {
        let mut cells = vec![random.usize(..81)];
        while cells.len() < 25 {
            let touches = |&cell: &usize| board.touch(cells[cells.len() - 1], cell);
            let free = (0..81).filter(touches).filter(|cell| !cells.contains(cell));
            let free: Vec<usize> = free.collect();
            if free.is_empty() {
                break;
            }
            cells.push(free[random.usize(..free.len())]);
        }
        let end = [End::BesideTerminal, End::InLast][compared % 2];
        for leg in &legs(&board, &cells, end) {
            let mut corridor = Corridor::of(&board, leg, Inner::default());
            assert!(!corridor.crosses_itself);
            let count = minlink.count(&corridor);
            corridor.crosses_itself = true;
            assert_eq!(minlink.count(&corridor), count, "{cells:?}");
            compared += 1;
        }
    }
}

#[test]
fn a_way_over_a_bridge_and_back_across_it() {
    // West through a bridge, round three right angles, and north through it.
    let board = Board::rectangle(6, 8).expect("a board");
    let cells = [15, 14, 13, 12, 20, 21, 13, 5];
    let leg = &legs(&board, &cells, End::InLast)[0];
    let back: Vec<usize> = cells.iter().rev().copied().collect();
    let back = &legs(&board, &back, End::InLast)[0];
    for (numerator, denominator) in [(1, 2), (2, 3), (9, 10), (999, 1000)] {
        let inner = Inner::new(numerator, denominator).expect("a share");
        let corridors = [leg, back].map(|leg| Corridor::of(&board, leg, inner));
        assert!(corridors.iter().all(|corridor| corridor.crosses_itself));
        assert_eq!(count(&corridors[0]), count(&corridors[1]));
        for corridor in &corridors {
            let way = fewest(corridor);
            let inside = crate::inside::lies_inside(corridor, &way.points, (-40f64).exp2());
            assert_eq!(inside, Ok(()));
        }
    }
}
