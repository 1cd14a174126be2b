//! What is no board, or not one of this kind, is refused with the reason.

use flowpipe_plugin::puzzle::message::BoardState;

use super::canvas::{Canvas, LINE, PLACE, Place, SIX, canvas, paint};
use super::refusal;
use crate::refuse::refusal::Refusal;

/// A board with something done to it.
fn spoilt(spoil: impl Fn(&mut Canvas)) -> (String, String) {
    let mut canvas = canvas();
    canvas.board(PLACE, &SIX);
    spoil(&mut canvas);
    refusal(&canvas)
}

fn is(found: (String, String), step: &str, reason: &str) {
    assert_eq!((found.0.as_str(), found.1.as_str()), (step, reason));
}

#[test]
fn nothing_at_all() {
    let reason = "no large shape made of thin lines";
    for colour in [[0, 0, 0], [255, 255, 255], [40, 90, 200]] {
        is(
            refusal(&Canvas::new(640, 480, colour)),
            "find board",
            reason,
        );
    }
    let mut gradient = canvas();
    for (index, value) in gradient.rgb.iter_mut().enumerate() {
        *value = (index / 3 % 800 * 255 / 800) as u8;
    }
    is(refusal(&gradient), "find board", reason);
}

#[test]
fn a_lone_rectangle() {
    let mut canvas = canvas();
    canvas.grid(PLACE, 1, 1, LINE);
    canvas.grid(
        Place {
            cell: 500.0,
            ..PLACE
        },
        1,
        1,
        LINE,
    );
    is(
        refusal(&canvas),
        "grid lines",
        "no evenly spaced lines that make square cells",
    );
}

#[test]
fn a_page_of_text() {
    let mut canvas = Canvas::new(800, 900, [255, 255, 255]);
    let mut state = 1_u32;
    for row in 0..40 {
        for col in 0..70 {
            // Any small linear congruence will do for letters.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (x, y) = (f64::from(col) * 11.0 + 10.0, f64::from(row) * 22.0 + 10.0);
            canvas.rectangle(x, y, f64::from(state >> 30) + 2.0, 12.0, [20, 20, 20]);
            canvas.rectangle(x, y + f64::from(state >> 29 & 7), 8.0, 2.0, [20, 20, 20]);
        }
    }
    // Letters in columns may make a grid, but none with terminals.
    let found = refusal(&canvas);
    assert!(
        ["find board", "grid lines", "cells", "terminals"].contains(&found.0.as_str()),
        "{found:?}"
    );
}

#[test]
fn oblong_cells() {
    let mut canvas = canvas();
    for line in 0..=6 {
        canvas.rectangle(100.0 + f64::from(line) * 100.0, 100.0, 2.0, 482.0, LINE);
        canvas.rectangle(100.0, 100.0 + f64::from(line) * 80.0, 602.0, 2.0, LINE);
    }
    is(
        refusal(&canvas),
        "grid lines",
        "no evenly spaced lines that make square cells",
    );
}

#[test]
fn a_calendar() {
    let mut canvas = canvas();
    canvas.grid(PLACE, 6, 6, LINE);
    for cell in 0..36 {
        let (x, y) = PLACE.centre(cell / 6, cell % 6);
        canvas.rectangle(x - 40.0, y - 40.0, 4.0, 20.0, [255, 255, 255]);
    }
    is(
        refusal(&canvas),
        "terminals",
        "a grid of 6 by 6 cells without terminals",
    );
}

#[test]
fn more_cells_than_a_board_has() {
    let mut canvas = Canvas::new(1000, 1000, [0, 0, 0]);
    canvas.grid(
        Place {
            x: 20.0,
            y: 20.0,
            cell: 20.0,
        },
        45,
        45,
        LINE,
    );
    let reason = "a grid of 45 by 45 cells, boards have 3 to 40 a side (min_cells, max_cells)";
    is(refusal(&canvas), "grid lines", reason);
}

#[test]
fn missing_cells() {
    let (step, reason) = spoilt(|canvas| canvas.rectangle(90.0, 110.0, 208.0, 108.0, [0; 3]));
    assert_eq!(step, "cells");
    assert!(reason.contains("cell sides are not drawn"), "{reason}");
}

#[test]
fn a_board_that_is_cut_off() {
    let mut canvas = canvas();
    canvas.board(Place { x: -55.0, ..PLACE }, &SIX);
    is(
        refusal(&canvas),
        "cells",
        "its grid goes on beyond the left border",
    );
    let mut canvas = Canvas::new(800, 572, [0, 0, 0]);
    canvas.board(PLACE, &SIX);
    is(
        refusal(&canvas),
        "cells",
        "its grid goes on beyond the lower border",
    );
}

#[test]
fn a_row_half_hidden_under_a_pipe() {
    let mut canvas = canvas();
    canvas.grid(PLACE, 6, 6, LINE);
    canvas.pipe(
        PLACE,
        'C',
        &[(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5)],
    );
    let grid = ["......", "....Y.", "..R...", ".GRO..", "..Y...", "O....G"];
    canvas.terminals(PLACE, &grid);
    canvas.rectangle(90.0, 100.0, 640.0, 40.0, [0; 3]);
    is(
        refusal(&canvas),
        "cells",
        "its grid goes on beyond the upper border",
    );
}

#[test]
fn bridges_and_digits() {
    let found = spoilt(|canvas| {
        for off in [-29.0, 27.0] {
            canvas.rectangle(250.0 + off, 120.0, 2.0, 100.0, LINE);
        }
    });
    is(
        found,
        "contents",
        "row 1, column 2: a drawing that is neither a terminal nor a pipe",
    );
}

#[test]
fn a_terminal_half_hidden() {
    let found = spoilt(|canvas| canvas.rectangle(110.0, 130.0, 40.0, 80.0, [0; 3]));
    is(
        found,
        "terminals",
        "terminals that cannot be pairs: 9 of them",
    );
}

#[test]
fn terminals_of_two_forms() {
    // Discs are more: a block is something else.
    let found = spoilt(|canvas| {
        let (x, y) = PLACE.centre(5, 5);
        canvas.rectangle(x - 36.0, y - 36.0, 72.0, 72.0, paint('R'));
    });
    let reason = "row 6, column 6: something that is neither a terminal nor a pipe";
    assert!(
        found.0 == "contents" || found.0 == "pipes",
        "{found:?} for {reason}"
    );
}

#[test]
fn colours_without_partners() {
    let mut canvas = canvas();
    canvas.board(
        PLACE,
        &["R.G...", "......", "..R...", "...B..", "......", "......"],
    );
    let reason = "row 1, column 3: this terminal's colour has no clear partner";
    is(refusal(&canvas), "colours", reason);
    let mut four = self::canvas();
    four.board(
        PLACE,
        &["R.R...", "......", "..R...", "...R..", "G.....", "....G."],
    );
    let reason = "row 1, column 1: this terminal's colour has no clear partner";
    is(refusal(&four), "colours", reason);
}

#[test]
fn pipes_that_cannot_be() {
    let mut canvas = canvas();
    canvas.grid(PLACE, 6, 6, LINE);
    canvas.pipe(PLACE, 'R', &[(5, 3), (5, 4), (5, 5)]);
    canvas.terminals(PLACE, &SIX);
    is(
        refusal(&canvas),
        "pipes",
        "row 6, column 4: a pipe that comes from no terminal; the board is partly drawn, as at row 6, column 4: restart \
         the level, and capture it again",
    );
}

/// What pipes hide, or must not be there, is explained with where they are seen and what to do.
#[test]
fn boards_that_are_partly_drawn() {
    // A board with pipes, and what is drawn over it.
    let drawn = |letter: char, cells: &[(usize, usize)], over: &dyn Fn(&mut Canvas)| {
        let mut canvas = canvas();
        canvas.grid(PLACE, 6, 6, LINE);
        canvas.pipe(PLACE, letter, cells);
        canvas.terminals(PLACE, &SIX);
        over(&mut canvas);
        refusal(&canvas).1
    };
    let path = [(0, 0), (0, 1), (0, 2)];
    let hidden = drawn('R', &path, &|canvas| {
        // A line over a terminal.
        let (x, y) = PLACE.centre(1, 3);
        canvas.stroke((x - 50.0, y), (x + 50.0, y), 60.0, paint('R'));
    });
    let branched = drawn('R', &path, &|canvas| {
        let from = PLACE.centre(0, 1);
        let to = PLACE.centre(1, 1);
        canvas.stroke(from, to, 34.0, paint('R'));
    });
    let unknown = drawn('W', &[(0, 3), (0, 4), (0, 5)], &|_| {});
    for (name, reason) in [
        ("hidden", hidden),
        ("branched", branched),
        ("unknown", unknown),
    ] {
        assert!(
            reason.contains("; the board is partly drawn, as at row 1, column ")
                && reason.ends_with(": restart the level, and capture it again"),
            "{name}: {reason}"
        );
    }
}

#[test]
fn two_boards_of_one_size() {
    let mut canvas = Canvas::new(1500, 800, [0, 0, 0]);
    canvas.board(
        Place {
            x: 40.0,
            y: 60.0,
            cell: 110.0,
        },
        &SIX,
    );
    canvas.board(
        Place {
            x: 800.0,
            y: 60.0,
            cell: 100.0,
        },
        &SIX,
    );
    is(
        refusal(&canvas),
        "find board",
        "two boards of similar size in one picture: name the place of one (`region` of capture-screen) or, where the desktop reports \
         windows, its window (--window), or crop the picture",
    );
}

#[test]
fn a_picture_without_colours() {
    let (step, reason) = spoilt(|canvas| {
        for pixel in canvas.rgb.chunks_exact_mut(3) {
            // Red, blue and orange are as bright as can be.
            let brightest = pixel.iter().copied().fold(0, u8::max);
            pixel.fill(brightest);
        }
    });
    let text = "its terminals are all grey: without colours it is unknown which belong together";
    is((step, reason), "colours", text);
}

#[test]
fn a_board_in_perspective_that_cannot_be_read() {
    let why = Refusal::OddTerminals(7);
    let refusal = why.clone().in_perspective();
    assert_eq!(refusal.step(), "flip");
    assert_eq!(refusal.state(), Some(BoardState::Moving));
    assert_eq!(refusal.progress(), why.progress());
    assert_eq!((why.step(), why.state()), ("terminals", None));
    let text =
        "a board in perspective, as one that flips over: terminals that cannot be pairs: 7 of them";
    assert_eq!(refusal.to_string(), text);
    assert_eq!(
        Refusal::TurnedTooFar.in_perspective(),
        Refusal::TurnedTooFar
    );
}
