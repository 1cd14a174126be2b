//! What is seen in terminals of several sizes, and what keys and the mouse do.

use std::sync::Arc;

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Board, Cell, Flow, Lattice, Puzzle, Rules, Solution, Terminal as Dot};
use ratatui::Terminal as Ratatui;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::generate::generate;
use crate::render::{Header, paint};
use crate::session::{FLIP, Face, Flip, Input, Level, Levels, Log, Options, PAUSE};

fn puzzle(rows: usize, cols: usize) -> (Puzzle, Solution) {
    let board = Board::rectangle(rows, cols).expect("a board");
    generate(&board, rows.midpoint(cols), 1).expect("a puzzle")
}

/// The first flow whole, and of every other one half.
fn half_played((puzzle, solution): (Puzzle, Solution)) -> View {
    let mut flows = solution.flows;
    for flow in flows.iter_mut().skip(1) {
        flow.cells.truncate(flow.cells.len().div_ceil(2).max(2));
    }
    let face = Face {
        puzzle: Arc::new(puzzle),
        flows,
    };
    let header = Header {
        title: "level 3".to_owned(),
        note: "a note".to_owned(),
        flows: 1,
        moves: 7,
        best: None,
        pipe_percent: 50,
    };
    View {
        header,
        face,
        flip: None,
        cover: None,
    }
}

fn seen(view: &View, colours: Colours, (width, height): (u16, u16)) -> Ratatui<TestBackend> {
    let mut terminal = Ratatui::new(TestBackend::new(width, height)).expect("a terminal");
    let cursor = Some(view.face.puzzle.terminals()[0].cell);
    terminal
        .draw(|frame| picture::draw(view, cursor, colours, frame.buffer_mut()))
        .expect("drawn");
    terminal
}

fn snapshot(name: &str, view: &View, colours: Colours, size: (u16, u16)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    let terminal = seen(view, colours, size);
    settings.bind(|| insta::assert_snapshot!(name, terminal.backend()));
}

#[test]
fn boards_half_played() {
    let (small, large) = (half_played(puzzle(5, 5)), half_played(puzzle(18, 15)));
    snapshot("small", &small, Colours::All, (40, 16));
    snapshot("small_without_colours", &small, Colours::None, (40, 16));
    snapshot("small_with_much_room", &small, Colours::All, (60, 26));
    snapshot("large", &large, Colours::All, (80, 40));
    snapshot("large_with_little_room", &large, Colours::All, (80, 24));
    snapshot("too_small", &large, Colours::All, (80, 20));
}

#[test]
fn odd_boards() {
    let description = |lattice| Description {
        rows: 4,
        cols: 4,
        lattice,
        ..Description::default()
    };
    let odd = Description {
        warps: true,
        holes: vec![5],
        bridges: vec![10],
        walls: vec![(0, 1)],
        ..description(Lattice::Square)
    };
    for (name, description, cells) in [
        ("odd", odd, vec![4, 7, 11, 10, 9, 8]),
        ("hexes", description(Lattice::Hex), vec![0, 1, 2, 6, 5, 9]),
    ] {
        let board = Board::new(description).expect("a board");
        let ends = [cells[0], 15].map(|cell| Dot { cell, colour: 0 });
        let puzzle = Puzzle::new(board, ends.to_vec(), Rules::default()).expect("a puzzle");
        let flows = vec![Flow { colour: 0, cells }];
        let solution = Solution { flows };
        snapshot(
            name,
            &half_played((puzzle, solution)),
            Colours::All,
            (34, 14),
        );
    }
}

#[test]
fn a_flip_squeezes_the_board() {
    let from = half_played(puzzle(5, 5));
    for (name, share) in [("flip_begins", 0.25), ("flip_ends", 0.8)] {
        let mut view = half_played(puzzle(6, 6));
        view.face.flows.clear();
        let from = Arc::new(from.face.clone());
        view.flip = Some(Flip { from, share });
        snapshot(name, &view, Colours::All, (40, 16));
    }
}

#[test]
fn terminals_have_their_colour_and_the_cursor_is_marked() {
    let view = half_played(puzzle(5, 5));
    for colours in [Colours::All, Colours::None] {
        let terminal = seen(&view, colours, (40, 16));
        let plan = Plan::new(&view.face.puzzle, (40, 16)).expect("room");
        for (index, dot) in view.face.puzzle.terminals().iter().enumerate() {
            let place = plan.middle(&view.face.puzzle, dot.cell);
            let cell = terminal.backend().buffer().cell(place).expect("inside");
            let [red, green, blue] = paint::colour(dot.colour);
            let expected = match colours {
                Colours::None => Color::Reset,
                _ => Color::Rgb(red, green, blue),
            };
            assert_eq!(cell.bg, expected);
            assert_eq!(cell.modifier.contains(Modifier::REVERSED), index == 0);
        }
    }
}

#[test]
fn every_character_belongs_to_the_cell_it_shows() {
    for (rows, cols, size) in [(5, 5, (40, 16)), (5, 5, (80, 30)), (18, 15, (80, 24))] {
        let (puzzle, _) = puzzle(rows, cols);
        let plan = Plan::new(&puzzle, size).expect("room");
        for cell in puzzle.board().cells() {
            let (column, row) = plan.middle(&puzzle, cell);
            let at = plan.to_board(column, row);
            assert_eq!(cell_at(puzzle.board(), at), Some(cell));
            let aside = plan.to_board(column + u16::from(plan.has_lines), row);
            assert_eq!(cell_at(puzzle.board(), aside), Some(cell));
        }
        let [left, top, ..] = plan.board_xywh();
        let outside = plan.to_board((left - 1.0) as u16, top as u16);
        assert_eq!(cell_at(puzzle.board(), outside), None);
    }
}

fn game(input: Input) -> (TerminalGame, Solution) {
    let (puzzle, solution) = puzzle(5, 5);
    let title = None;
    let levels = Levels::Given(vec![Level { title, puzzle }; 2]);
    let options = Options {
        input,
        ..Options::default()
    };
    let session = Session::new(levels, options, Log::none()).expect("a session");
    let mut game = TerminalGame::new(session);
    game.lay_out((40, 16));
    (game, solution)
}

fn press(game: &mut TerminalGame, code: KeyCode) {
    assert!(!game.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE))));
}

/// Brings the cursor to a cell.
fn go(game: &mut TerminalGame, cell: Cell) {
    let cols = game.session.puzzle().board().cols();
    while game.cursor % cols != cell % cols {
        let is_left = game.cursor % cols > cell % cols;
        press(
            game,
            if is_left {
                KeyCode::Left
            } else {
                KeyCode::Char('l')
            },
        );
    }
    while game.cursor != cell {
        let is_above = game.cursor > cell;
        press(
            game,
            if is_above {
                KeyCode::Char('k')
            } else {
                KeyCode::Down
            },
        );
    }
}

#[test]
fn a_board_is_solved_with_keys() {
    for input in [Input::Events, Input::Frames, Input::Straight, Input::Clicks] {
        let (mut game, solution) = game(input);
        // A pipe begun, let go, taken back.
        go(&mut game, solution.flows[0].cells[0]);
        press(&mut game, KeyCode::Enter);
        go(&mut game, solution.flows[0].cells[1]);
        press(&mut game, KeyCode::Enter);
        assert_eq!(game.session.view(game.now()).face.flows.len(), 1);
        press(&mut game, KeyCode::Char('u'));
        assert_eq!(game.session.view(game.now()).face.flows.len(), 0);
        for flow in &solution.flows {
            go(&mut game, flow.cells[0]);
            press(&mut game, KeyCode::Char(' '));
            for &cell in &flow.cells[1..] {
                go(&mut game, cell);
            }
            press(&mut game, KeyCode::Enter);
        }
        let header = game.session.view(game.now()).header;
        assert_eq!((header.pipe_percent, header.flows), (100, 5));
        let landed = game.now() + PAUSE + FLIP;
        game.session.advance(landed);
        assert_eq!(game.session.number(), 2);
        press(&mut game, KeyCode::Char('Q'));
        assert!(game.is_over);
    }
}

/// An event of the mouse in a cell, which does not end the game.
fn mouse(game: &mut TerminalGame, kind: MouseEventKind, cell: Cell) {
    let plan = game.plan.as_ref().expect("room");
    let (column, row) = plan.middle(game.session.puzzle(), cell);
    let modifiers = KeyModifiers::NONE;
    let event = MouseEvent {
        kind,
        column,
        row,
        modifiers,
    };
    assert!(!game.take(&Event::Mouse(event)));
}

#[test]
fn a_board_is_solved_with_the_mouse() {
    let (mut game, solution) = game(Input::Events);
    let mut mouse = |kind, cell| mouse(&mut game, kind, cell);
    let left = MouseButton::Left;
    for flow in &solution.flows {
        mouse(MouseEventKind::Down(left), flow.cells[0]);
        for &cell in &flow.cells[1..] {
            mouse(MouseEventKind::Drag(left), cell);
        }
        mouse(MouseEventKind::Up(left), flow.cells[flow.cells.len() - 1]);
        // Another button changes nothing.
        mouse(MouseEventKind::Down(MouseButton::Right), flow.cells[0]);
    }
    assert_eq!(game.session.view(game.now()).header.pipe_percent, 100);
    assert!(!game.is_cursor_seen);
}

#[test]
fn a_board_is_solved_with_clicks() {
    let (mut game, solution) = game(Input::Clicks);
    let mut mouse = |kind, cell| mouse(&mut game, kind, cell);
    let left = MouseButton::Left;
    for flow in &solution.flows {
        let [first, .., last] = flow.cells[..] else {
            panic!("a flow of one cell")
        };
        mouse(MouseEventKind::Moved, last);
        for cell in [first, last] {
            mouse(MouseEventKind::Down(left), cell);
            mouse(MouseEventKind::Up(left), cell);
            for &cell in flow.cells.iter().filter(|_| cell == first) {
                mouse(MouseEventKind::Moved, cell);
            }
        }
    }
    assert_eq!(game.session.view(game.now()).header.pipe_percent, 100);
}

#[test]
fn a_pipe_goes_over_the_edge_with_keys() {
    let board = Board::new(Description {
        rows: 3,
        cols: 4,
        warps: true,
        ..Description::default()
    })
    .expect("a board");
    let ends = [6, 5].map(|cell| Dot { cell, colour: 0 });
    let rules = Rules {
        cover: false,
        ..Rules::default()
    };
    let puzzle = Puzzle::new(board, ends.to_vec(), rules).expect("a puzzle");
    let levels = Levels::Given(vec![Level {
        title: None,
        puzzle,
    }]);
    let session = Session::new(levels, Options::default(), Log::none()).expect("a session");
    let mut game = TerminalGame::new(session);
    go(&mut game, 6);
    for code in [KeyCode::Enter, KeyCode::Right, KeyCode::Right] {
        press(&mut game, code);
    }
    assert_eq!(game.cursor, 4);
    press(&mut game, KeyCode::Right);
    press(&mut game, KeyCode::Enter);
    let flows = game.session.view(game.now()).face.flows;
    assert_eq!(flows[0].cells, [6, 7, 4, 5]);
}

#[test]
fn control_c_asks_to_stop() {
    let (mut game, _) = game(Input::Events);
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(game.take(&Event::Key(key)));
}
