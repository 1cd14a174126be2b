//! `flowpipe play --like KIND`: every kind of game in a real window, played with real pointer events.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_game::kind::{KINDS, Kind};
use flowpipe_game::render::{Button, Header, Layout, Painter, Pixels};
use flowpipe_game::session::{Face, Interlude, Until, View};
use flowpipe_puzzle::Point;
use flowpipe_tests::run;

use crate::play::Game;
use crate::screen::wait_for;

/// Opens a window of a kind, solves its first board cell by cell, and goes on to the second one.
fn plays(kind: &Kind) {
    let game = Game::start(&[(4, 4), (4, 4)], &["--like", kind.name]);
    game.wait_for("layout", 1);
    is_seen(&game, kind, 0, kind.manner.opening.first());
    for step in kind.manner.opening {
        pass(&game, kind, step);
    }
    game.wait_for("ready", 1);
    is_seen(&game, kind, 0, None);
    game.solve(0, true);
    for step in kind.manner.after_win {
        pass(&game, kind, step);
    }
    game.wait_for("ready", 2);
    is_seen(&game, kind, 1, None);
    assert_eq!(game.logged("solved").len(), 1, "{}", kind.name);
}

/// Does what ends a step between boards, after it was seen that it does not end by itself.
fn pass(game: &Game, kind: &Kind, step: &Interlude) {
    let board = game.boards.boards[0].0.board();
    let layout = layout(game, kind, 0);
    let at: Point = match step.until {
        Until::After(_) => return,
        Until::Click => layout.geometry.to_frame([0.5, 0.5]),
        Until::CoverButton => {
            let [middle, _] = step.cover.unwrap().button(board).unwrap();
            layout.geometry.to_frame(middle)
        }
        Until::Next => layout.button(Button::Next).0,
    };
    let ready = game.logged("ready").len();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(game.logged("ready").len(), ready, "{}", kind.name);
    let [x, y] = game.origin;
    game.screen.move_to([x + at[0] as i16, y + at[1] as i16]);
    game.screen.press();
    game.screen.release();
}

/// Waits until the screen shows an empty board as the kind draws it, and what covers it in a step.
fn is_seen(game: &Game, kind: &Kind, board: usize, step: Option<&Interlude>) {
    let puzzle = &game.boards.boards[board].0;
    let (width, height) = kind.look.window(puzzle.board());
    let view = View {
        header: Header::default(),
        face: Face {
            puzzle: Arc::new(puzzle.clone()),
            flows: Vec::new(),
        },
        flip: None,
        cover: step.and_then(|step| step.cover),
    };
    // The lights are those of the game's seed.
    let mut painter = Painter::new(1)
        .with_style(kind.look.style)
        .with_theme(kind.look.theme);
    let expected: Pixels = painter.paint(&view, width, height).unwrap();
    let layout = layout(game, kind, board);
    let places = puzzle.board().cells().flat_map(|cell| {
        let (row, col) = puzzle.board().row_col(cell);
        // Discs, their corners, what is written on them, and lines.
        [[0.5, 0.5], [0.25, 0.25], [0.5, 0.35], [0.0, 0.5]].map(|[x, y]| {
            let [x, y] = layout.geometry.to_frame([col as f64 + x, row as f64 + y]);
            [x, y].map(|at| at as u32)
        })
    });
    let places: Vec<_> = places.collect();
    wait_for(kind.name, || {
        let is_same = |&[x, y]: &[u32; 2]| {
            let seen = game
                .screen
                .pixel([game.origin[0] + x as i16, game.origin[1] + y as i16]);
            expected.at(x, y) == Some(seen)
        };
        places.iter().all(is_same).then_some(())
    });
}

fn layout(game: &Game, kind: &Kind, board: usize) -> Layout {
    let board = game.boards.boards[board].0.board();
    let (width, height) = kind.look.window(board);
    Layout::new(kind.look.style, board, width, height)
}

#[test]
fn every_kind_is_seen_and_played_in_a_window() {
    for kind in &KINDS {
        println!("{}", kind.name);
        plays(kind);
    }
}

#[test]
fn the_kinds_are_listed_and_others_refused() {
    let help = run(&["play", "--help"]).expect(0).stdout;
    let refused = run(&["play", "--like", "another"]).expect(2).stderr;
    for kind in &KINDS {
        assert!(help.contains(kind.name), "{}", kind.name);
        assert!(refused.contains(kind.name), "{}", kind.name);
    }
    let ran = run(&["play", "--like", "popup", "--terminal"]).expect(2);
    assert!(ran.stderr.contains("cannot be used with"), "{ran:#?}");
}
