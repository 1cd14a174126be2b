//! Whole plans, for every kind of board: they pass the checker of strokes, lie inside their corridors,
//! and solve the board in the practice game.

use flowpipe_game::{Play, Settings};
use flowpipe_generate::Kind;
use flowpipe_path::{Config, Corridor, End, Method, Warps, inner_of, legs, lies_inside, plan};
use flowpipe_puzzle::message::{Profile, Stops, Stroke};
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Cell, Flow};
use flowpipe_testing::note;
use proptest::prelude::*;

use crate::support::boards::{self, Solved};

/// Room for the rounding of points to floating numbers.
const SLACK: f64 = 1.0 / (1_u64 << 40) as f64;

/// Plays strokes in a game that takes its input as a profile describes.
fn play(board: &Solved, strokes: &[Stroke], profile: Profile) -> Play {
    let fill = match profile {
        Profile::Segments | Profile::Turns | Profile::Clicks => true,
        Profile::Events | Profile::Cells | Profile::Frames | Profile::Slow => false,
    };
    let settings = Settings {
        fill,
        ..Settings::default()
    };
    let mut play = Play::new(board.puzzle.clone(), settings);
    let mut held = false;
    for stroke in strokes {
        let (&first, rest) = stroke.points.split_first().unwrap();
        if held {
            play.move_to(first);
        } else {
            play.press(first);
        }
        for &point in rest {
            play.move_to(point);
        }
        held = stroke.held;
        if !held {
            play.release();
        }
    }
    play
}

/// Checks the strokes of one way of planning against all that they have to keep. Returns how many segments
/// they have.
fn check(board: &Solved, method: Method, profile: Profile, config: &Config) -> usize {
    let flows = &board.solution.flows;
    let strokes = plan(&board.puzzle, flows, method, config, profile);
    let what = || {
        let puzzle = board.puzzle.board().description();
        let class = &board.class;
        format!("{class}: {method:?} {profile:?} {puzzle:?} {strokes:?}")
    };
    check_strokes(&board.puzzle, &board.solution, &strokes)
        .unwrap_or_else(|refusals| panic!("{} {}", refusals[0], what()));
    let play = play(board, &strokes, profile);
    let missing = board.solution.missing(&play.drawn());
    assert!(play.is_solved(), "{} {missing:?}", what());
    assert_eq!(play.solution(), board.solution, "{}", what());

    let every_cell = profile.needs_every_cell() || profile.stops() == Stops::Cells;
    for stroke in &strokes {
        assert!(
            !every_cell || stroke.points.len() >= stroke.cells.len(),
            "{stroke:?}"
        );
        // Exact, so it takes its time; other profiles have the same ways, or ways along the grid.
        if method.is_grid() || profile != Profile::Events {
            continue;
        }
        let leg = leg(board, flows, stroke);
        let lattice = board.puzzle.board();
        let corridor = Corridor::of(lattice, &leg, inner_of(lattice, config.inner));
        let inside = lies_inside(&corridor, &stroke.points, SLACK);
        assert_eq!(inside, Ok(()), "{} {stroke:?}", what());
    }
    strokes.iter().map(|stroke| stroke.points.len() - 1).sum()
}

/// The leg that a stroke draws.
fn leg(board: &Solved, flows: &[Flow], stroke: &Stroke) -> flowpipe_path::Leg {
    let ends = [End::BesideTerminal, End::InLast];
    let flows = flows.iter().filter(|flow| flow.colour == stroke.colour);
    let runs = flows.flat_map(|flow| {
        let turned: Vec<Cell> = flow.cells.iter().rev().copied().collect();
        [flow.cells.clone(), turned]
    });
    let legs = runs.flat_map(|run| ends.map(|end| legs(board.puzzle.board(), &run, end)));
    let mut legs = legs.flatten();
    let same = |leg: &flowpipe_path::Leg| leg.dragged() == stroke.cells;
    legs.find(same).unwrap()
}

/// All ways of planning for one board. Segments of the four methods.
fn check_all(board: &Solved) -> [usize; 4] {
    let segments = Method::ALL.map(|method| {
        let config = Config::default();
        for profile in Profile::ALL {
            check(board, method, profile, &config);
        }
        let others = Config {
            skip_last_terminal: false,
            order: false,
            ..config
        };
        check(board, method, Profile::Segments, &others);
        let held = Config {
            warps: Warps::GoOn,
            ..config
        };
        check(board, method, Profile::Events, &held);
        check(board, method, Profile::Segments, &config)
    });
    assert!(segments.is_sorted_by(|more, fewer| more >= fewer));
    segments
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    prop::collection::vec(prop::sample::select(Kind::ALL.to_vec()), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn plans_of_made_boards(cols in 4..9_usize, rows in 4..9_usize, kinds in kinds(), seed: u64) {
        let Some(board) = boards::made(cols, rows, &kinds, seed) else {
            return Err(TestCaseError::reject("no such board"));
        };
        check_all(&board);
    }

    #[test]
    fn plans_for_other_widths(
        cols in 4..8_usize, kinds in kinds(), seed: u64, share in 0.1..0.79_f64, method in 2..4_usize,
    ) {
        let Some(board) = boards::made(cols, 6, &kinds, seed) else {
            return Err(TestCaseError::reject("no such board"));
        };
        let config = Config { inner: share.try_into().unwrap(), ..Config::default() };
        for profile in [Profile::Events, Profile::Segments] {
            check(&board, Method::ALL[method], profile, &config);
        }
    }
}

#[test]
fn plans_of_real_boards() {
    let Some(boards) = boards::real() else {
        note!("skipped: no real levels");
        return;
    };
    let mut sums = [0; 4];
    for board in &boards {
        for (sum, segments) in sums.iter_mut().zip(check_all(board)) {
            *sum += segments;
        }
    }
    note!(
        "{} boards, segments of {:?}: {sums:?}",
        boards.len(),
        Method::ALL
    );
}
