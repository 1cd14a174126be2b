//! That no input leaves the board in a state that the rules do not know, and that drawing a
//! solution solves.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Board, Lattice};
use proptest::prelude::*;

use super::tests::puzzle;
use super::*;
use crate::generate::generate;
use crate::random::Random;

/// What must hold at any moment.
fn assert_consistent(play: &Play) {
    let graph = play.puzzle.board().graph();
    let mut owner = vec![None; graph.len()];
    for slot in play.pipes.slots() {
        let nodes = play.pipes.nodes(slot);
        for (index, &node) in nodes.iter().enumerate() {
            assert_eq!(owner[node].replace(slot), None, "a node in two places");
            let colour = play.terminal(node);
            match index {
                0 => assert_eq!(colour, Some(play.pipes.colour(slot))),
                _ if index + 1 < nodes.len() => assert_eq!(colour, None),
                _ => assert!(colour.is_none_or(|colour| colour == play.pipes.colour(slot))),
            }
        }
        for pair in nodes.windows(2) {
            assert!(graph.links(pair[0]).iter().any(|link| link.node == pair[1]));
        }
    }
    let held: Vec<_> = (0..graph.len())
        .map(|node| play.pipes.owner(node))
        .collect();
    assert_eq!(owner, held);
    assert!(play.pipe_percent() <= 100);
    // Any state can be restored as it is.
    let drawn = play.drawn();
    let again = Play::resume(play.puzzle.clone(), play.settings, &drawn).expect("a state");
    assert_eq!(again.drawn().len(), drawn.len());
}

fn joins() -> impl Strategy<Value = Join> {
    prop::sample::select(vec![Join::Beside, Join::Cell, Join::Centre])
}

pub(super) fn boards() -> impl Strategy<Value = Puzzle> {
    let plain = Description::default;
    let hex = Description {
        lattice: Lattice::Hex,
        ..plain()
    };
    prop::sample::select(vec![
        puzzle(&["A..B", "..C.", ".BC.", "A..."], plain()),
        puzzle(&["A..B", "C+.#", ".++A", "B..C"], plain()),
        puzzle(
            &["A..B", "..C.", ".BC.", "A..."],
            Description {
                warps: true,
                ..plain()
            },
        ),
        puzzle(
            &["A.", "A."],
            Description {
                warps: true,
                ..plain()
            },
        ),
        puzzle(&["A..B", "..C.", ".BC.", "A..."], hex),
        puzzle(
            &["A.A.", "....", "A..A", "B..B"],
            Description {
                walls: vec![(4, 5)],
                ..plain()
            },
        ),
    ])
}

proptest! {
    #[test]
    fn no_input_leaves_a_broken_state(
        puzzle in boards(),
        inputs in prop::collection::vec((0..6u8, -1.5..5.5f64, -1.5..5.5f64), 1..60),
        fill: bool, margin in 0.0..0.5f64, join in joins(),
    ) {
        let settings = Settings { margin, fill, join, ..Settings::default() };
        let mut play = Play::new(puzzle, settings);
        for (kind, x, y) in inputs {
            match kind {
                0 => play.release(),
                1 => play.press([x, y]),
                2 => play.move_to([x * 1e300, y]),
                _ => play.move_to([x, y]),
            };
            assert_consistent(&play);
        }
    }

    #[test]
    fn drawing_a_solution_turn_by_turn_solves_the_board(
        seed: u64, rows in 4..8usize, cols in 4..8usize, skip_last: bool, jitter in 0.0..0.3f64,
    ) {
        let board = Board::rectangle(rows, cols).expect("a board");
        let Ok((puzzle, solution)) = generate(&board, rows.max(cols), seed) else {
            return Err(TestCaseError::reject("no puzzle"));
        };
        let mut play = Play::new(puzzle, Settings::default());
        let mut random = Random::new(seed);
        for flow in &solution.flows {
            let last = flow.cells.len() - 1 - usize::from(skip_last);
            let way = |i: usize| flow.cells[i] as i64 - flow.cells[i - 1] as i64;
            let turns = (1..last).filter(|&i| way(i) != way(i + 1));
            let mut at = |i: usize| centre(&board, flow.cells[i]).map(|value| value + (random.unit() - 0.5) * jitter);
            play.press(at(0));
            for i in turns.chain([last]) {
                play.move_to(at(i));
                assert_consistent(&play);
            }
            play.release();
        }
        prop_assert!(play.is_solved());
        prop_assert_eq!(play.solution(), solution);
        prop_assert_eq!(play.pipe_percent(), 100);
    }
}
