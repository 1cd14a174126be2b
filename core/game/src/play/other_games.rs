//! Rules that other games have.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::place::centre;
use proptest::prelude::*;

use super::properties::boards;
use super::tests::{TWO, drag, draw, pipe, puzzle};
use super::*;
use crate::event::{Event, Reason};

fn play(rows: &[&str], settings: Settings) -> Play {
    Play::new(puzzle(rows, Description::default()), settings)
}

fn joined_by(join: Join) -> Settings {
    Settings {
        join,
        ..Settings::default()
    }
}

const PERMANENT: Settings = Settings {
    margin: 0.1,
    fill: true,
    join: Join::Beside,
    permanent: true,
};

#[test]
fn a_pipe_that_ends_beside_its_terminal_is_joined_in_some_games() {
    for (join, is_joined) in [
        (Join::Beside, true),
        (Join::Cell, false),
        (Join::Centre, false),
    ] {
        let mut play = play(&TWO, joined_by(join));
        draw(&mut play, &[0, 2]);
        assert_eq!(play.is_complete(0), is_joined, "{join:?}");
        assert_eq!(pipe(&play, 0).len(), if is_joined { 4 } else { 3 });
        // A stroke into the cell goes on from there.
        draw(&mut play, &[2, 3]);
        assert!(play.is_complete(0), "{join:?}");
    }
}

#[test]
fn a_terminal_is_reached_at_its_centre_in_some_games() {
    for (join, is_joined) in [(Join::Cell, true), (Join::Centre, false)] {
        let mut play = play(&TWO, joined_by(join));
        drag(&mut play, &[0, 2]);
        // Into the cell by a fifth, and out again.
        play.move_to([3.2, 0.5]);
        assert_eq!(play.is_complete(0), is_joined, "{join:?}");
        play.move_to([2.5, 0.5]);
        // Into it again, and from there to its middle.
        play.move_to([3.2, 0.5]);
        play.move_to([3.3, 0.6]);
        play.release();
        assert!(play.is_complete(0), "{join:?}");
    }
}

#[test]
fn permanent_pipes_only_grow_at_their_ends() {
    let mut play = play(&TWO, PERMANENT);
    let permanent = |cell| Event::Refused {
        cell: Some(cell),
        reason: Reason::Permanent,
    };
    draw(&mut play, &[0, 1]);
    // Neither of the terminals begins it again, nor does its middle.
    for cell in [0, 3] {
        assert_eq!(draw(&mut play, &[cell, 8]), [permanent(cell)]);
    }
    assert_eq!(pipe(&play, 0), [0, 1]);
    // It goes on from its end, and not back.
    let events = drag(&mut play, &[1, 2, 1]);
    assert_eq!(events[2..], [permanent(1)]);
    play.release();
    // Released beside its terminal it was joined, for good.
    assert!(play.is_complete(0));
    for cell in [0, 1, 2, 3] {
        assert_eq!(draw(&mut play, &[cell, cell]), [permanent(cell)]);
    }
    play.restart();
    draw(&mut play, &[3, 0]);
    assert_eq!(pipe(&play, 0), [3, 2, 1, 0]);
}

#[test]
fn permanent_pipes_cross_and_spoil_the_board() {
    let mut play = play(&["ABA", "...", "CBC"], PERMANENT);
    draw(&mut play, &[6, 3, 4, 5, 8]);
    assert!(play.is_complete(2));
    let events = drag(&mut play, &[1, 4, 7]);
    let crossed = Event::Crossed { colour: 2, cell: 4 };
    assert_eq!(
        events[1..3],
        [crossed, Event::Extended { colour: 1, cell: 4 }]
    );
    play.release();
    assert_eq!(pipe(&play, 2), [6, 3, 4, 5, 8]);
    assert_eq!(pipe(&play, 1), [1, 4, 7]);
    assert_eq!(play.flows_joined(), 2);
    // Not even with all flows joined.
    draw(&mut play, &[0, 3, 4, 5, 2]);
    assert_eq!(play.flows_joined(), 3);
    assert!(!play.is_solved() && play.pipe_percent() <= 100);
    play.restart();
    assert!(play.drawn().is_empty());
}

proptest! {
    /// Whatever is done, each pipe goes on as it began, and a board with a crossing is never solved.
    #[test]
    fn nothing_takes_permanent_lines_away(
        puzzle in boards(),
        inputs in prop::collection::vec((0..6u8, -0.5..5.5f64, -0.5..5.5f64), 1..80),
    ) {
        let mut play = Play::new(puzzle, PERMANENT);
        let mut was: Vec<Vec<Node>> = play.pipes.all().to_vec();
        let mut is_crossed = false;
        for (kind, x, y) in inputs {
            let events = match kind {
                0 => play.release(),
                1 => play.press([x, y]),
                _ => play.move_to([x, y]),
            };
            is_crossed |= events.iter().any(|event| matches!(event, Event::Crossed { .. }));
            for (was, is) in was.iter().zip(play.pipes.all()) {
                // A lone terminal is no pipe.
                prop_assert!(was.len() < 2 || is.starts_with(was), "{was:?} {is:?}");
                let mut nodes = is.clone();
                nodes.sort_unstable();
                nodes.dedup();
                prop_assert_eq!(nodes.len(), is.len(), "a node twice in one pipe");
                for pair in is.windows(2) {
                    let links = play.puzzle.board().graph().links(pair[0]);
                    prop_assert!(links.iter().any(|link| link.node == pair[1]));
                }
            }
            was = play.pipes.all().to_vec();
            prop_assert!(play.pipe_percent() <= 100);
            prop_assert!(!(is_crossed && play.is_solved()));
        }
    }

    /// Every way to a terminal's centre joins.
    #[test]
    fn a_drag_to_the_centre_joins_in_every_game(
        join in prop::sample::select(vec![Join::Beside, Join::Cell, Join::Centre]),
        permanent: bool,
    ) {
        let settings = Settings { join, permanent, ..Settings::default() };
        let mut play = play(&TWO, settings);
        for cells in [[0, 3], [4, 7]] {
            play.press(centre(play.puzzle.board(), cells[0]));
            play.move_to(centre(play.puzzle.board(), cells[1]));
            play.release();
        }
        prop_assert_eq!(play.flows_joined(), 2);
    }
}
