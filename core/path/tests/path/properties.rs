//! Rules that hold for the fewest segments of every corridor, also of those that cross themselves.

use flowpipe_path::{Corridor, End, Inner, Leg, Minlink, Way, lies_inside};
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Board, Direction, Lattice, place};
use proptest::prelude::*;

/// Rounding of points to floats.
const SLACK: f64 = 1.0 / (1u64 << 40) as f64;

fn board(lattice: Lattice) -> Board {
    let description = Description {
        rows: 3,
        cols: 3,
        lattice,
        ..Description::default()
    };
    Board::new(description).expect("a board")
}

/// A leg that takes these turns (0 straight on), never back.
fn leg(lattice: Lattice, first: u8, turns: &[u8], end: End) -> Leg {
    let ways = match lattice {
        Lattice::Square => 4,
        Lattice::Hex => 6,
    };
    let (mut way, mut at) = (first % ways, [4.5, 5.0]);
    let mut centres = vec![at];
    for turn in [&0].into_iter().chain(turns) {
        // Straight on, then the turns to the right from the sharpest to the left on.
        let turned = [0, 1, ways - 1, 2, ways - 2][usize::from(*turn) % usize::from(ways - 1)];
        way = (way + turned) % ways;
        let [dx, dy] = place::offset(lattice, Direction(way));
        at = [at[0] + dx, at[1] + dy];
        centres.push(at);
    }
    Leg {
        cells: vec![0; centres.len()],
        end: if centres.len() < 3 { End::InLast } else { end },
        centres,
    }
}

fn reversed(leg: &Leg) -> Leg {
    let mut reversed = leg.clone();
    reversed.centres.reverse();
    reversed
}

fn lattices() -> impl Strategy<Value = Lattice> {
    prop_oneof![Just(Lattice::Square), Just(Lattice::Hex)]
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::BesideTerminal), Just(End::InLast)]
}

fn turns() -> impl Strategy<Value = Vec<u8>> {
    let turn = prop_oneof![2 => Just(0u8), 3 => 1u8..5];
    prop::collection::vec(turn, 0..40)
}

/// Staircases, where many lines go through many corners exactly.
fn staircases() -> impl Strategy<Value = Vec<u8>> {
    let stair = prop::collection::vec(0usize..4, 1..20);
    stair.prop_map(|runs| {
        let mut turns = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            turns.extend(vec![0; *run]);
            turns.push(1 + (index % 2) as u8);
        }
        turns
    })
}

fn inners() -> impl Strategy<Value = Inner> {
    let common = [(2, 3), (17, 25), (1, 2), (9, 10)];
    let any = (1u32..1000, 2u32..=1000).prop_filter("less than all", |(n, d)| n < d);
    let fraction = prop_oneof![prop::sample::select(common.to_vec()), any];
    fraction.prop_map(|(n, d)| Inner::new(n, d).expect("a share"))
}

fn way_of(corridor: &Corridor) -> Result<Way, TestCaseError> {
    let mut minlink = Minlink::default();
    let way = minlink.fewest(corridor);
    let count = minlink.count(corridor);
    prop_assert_eq!(way.segments(), count);
    prop_assert!(count <= corridor.turns());
    prop_assert_eq!(
        lies_inside(corridor, &way.points, SLACK),
        Ok(()),
        "{:?}",
        way
    );
    if way.width == 0 {
        prop_assert_eq!(count, corridor.turns());
    } else {
        let kept_to = corridor.narrowed(way.width);
        prop_assert_eq!(
            lies_inside(&kept_to, &way.points, SLACK),
            Ok(()),
            "{:?}",
            way
        );
        prop_assert_eq!(minlink.count(&kept_to), count);
        if way.width > 1 {
            prop_assert!(minlink.count(&corridor.narrowed(way.width - 1)) > count);
        }
    }
    Ok(way)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn ways_lie_inside_and_are_as_narrow_as_declared(
        lattice in lattices(),
        first in 0u8..6,
        turns in prop_oneof![turns(), staircases()],
        end in ends(),
        inner in inners(),
    ) {
        let leg = leg(lattice, first, &turns, end);
        way_of(&Corridor::of(&board(lattice), &leg, inner))?;
    }

    #[test]
    fn a_wider_corridor_needs_no_more_segments(
        lattice in lattices(),
        turns in prop_oneof![turns(), staircases()],
        end in ends(),
        mut inners in prop::collection::vec(inners(), 2..6),
    ) {
        let (board, leg) = (board(lattice), leg(lattice, 1, &turns, end));
        inners.sort_by(|a, b| a.share().total_cmp(&b.share()));
        let counts: Vec<usize> = inners
            .iter()
            .map(|&inner| Minlink::default().count(&Corridor::of(&board, &leg, inner)))
            .collect();
        prop_assert!(counts.is_sorted_by(|a, b| a >= b), "{inners:?} {counts:?}");
    }

    #[test]
    fn from_cell_to_cell_both_directions_are_alike(
        lattice in lattices(),
        turns in prop_oneof![turns(), staircases()],
        inner in inners(),
    ) {
        let (board, leg) = (board(lattice), leg(lattice, 2, &turns, End::InLast));
        let count = |leg| Minlink::default().count(&Corridor::of(&board, leg, inner));
        prop_assert_eq!(count(&leg), count(&reversed(&leg)));
    }

    #[test]
    fn to_turn_the_board_changes_nothing(
        turns in prop_oneof![turns(), staircases()],
        end in ends(),
        inner in inners(),
    ) {
        let board = board(Lattice::Square);
        let count = |first| {
            let leg = leg(Lattice::Square, first, &turns, end);
            Minlink::default().count(&Corridor::of(&board, &leg, inner))
        };
        prop_assert!((1..4).all(|first| count(first) == count(0)));
    }
}
