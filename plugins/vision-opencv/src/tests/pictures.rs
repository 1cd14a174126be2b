//! Boards drawn here are read exactly.

use flowpipe_plugin::puzzle::message::BoardState;

use super::canvas::{Canvas, LINE, PLACE, Place, SIX, canvas, paint};
use super::summary::{canonical, grid, of};
use super::{board, read};

/// All sixteen paints, on the largest board of the game.
const SIXTEEN: [&str; 18] = [
    "RGBYOCMmPWgLTbt",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "..............t",
    "..............p",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "...............",
    "RGBYOCMmPWgLTbp",
];

fn snapshots(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn an_untouched_board() {
    let mut canvas = canvas();
    canvas.board(PLACE, &SIX);
    snapshots("untouched", &of(&board(&canvas)));
}

#[test]
fn pipes_are_followed() {
    let mut canvas = canvas();
    canvas.grid(PLACE, 6, 6, super::canvas::LINE);
    let down = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 1)];
    canvas.pipe(PLACE, 'R', &down);
    canvas.pipe(PLACE, 'Y', &[(3, 1), (2, 1)]);
    canvas.terminals(PLACE, &SIX);
    let board = board(&canvas);
    assert_eq!(board.state, BoardState::Partial);
    snapshots("partial", &of(&board));
}

#[test]
fn a_solved_board() {
    let mut canvas = Canvas::new(500, 600, [0, 0, 0]);
    let place = Place {
        x: 100.0,
        y: 120.0,
        cell: 90.0,
    };
    canvas.grid(place, 3, 3, super::canvas::LINE);
    for (col, letter) in "BRG".chars().enumerate() {
        canvas.pipe(place, letter, &[(0, col), (1, col), (2, col)]);
    }
    canvas.terminals(place, &["BRG", "...", "BRG"]);
    snapshots("solved", &of(&board(&canvas)));
}

#[test]
fn a_wall() {
    let mut canvas = canvas();
    canvas.board(PLACE, &SIX);
    canvas.rectangle(197.0, 220.0, 6.0, 100.0, LINE);
    let walls = &board(&canvas).puzzle.board().description().walls.clone();
    assert_eq!(walls, &[(6, 7)]);
}

#[test]
fn all_paints_at_all_sizes() {
    for cell in [16.0, 17.4, 24.0, 39.3, 64.0, 110.0] {
        let (width, height) = ((cell * 15.0) as usize + 60, (cell * 18.0) as usize + 140);
        let mut canvas = Canvas::new(width, height, [0, 0, 0]);
        let place = Place {
            x: 30.0,
            y: 70.0,
            cell,
        };
        canvas.board(place, &SIXTEEN);
        let board = board(&canvas);
        assert_eq!(grid(&board), canonical(&SIXTEEN), "{cell} pixels a cell");
        for (corner, (col, row)) in
            board
                .geometry
                .corners
                .iter()
                .zip([(0.0, 0.0), (15.0, 0.0), (15.0, 18.0), (0.0, 18.0)])
        {
            let off = (corner[0] - 30.0 - col * cell).hypot(corner[1] - 70.0 - row * cell);
            assert!(off < 1.5, "{cell} pixels a cell: a corner {off} pixels off");
        }
    }
}

#[test]
fn a_board_in_a_window_among_others() {
    // A bright desktop, a dark window with a frame, a caption bar, and lights behind the board.
    let mut canvas = Canvas::new(1200, 900, [230, 230, 235]);
    canvas.rectangle(298.0, 98.0, 704.0, 754.0, [90, 90, 90]);
    canvas.rectangle(300.0, 100.0, 700.0, 750.0, [0, 0, 0]);
    canvas.rectangle(300.0, 100.0, 700.0, 30.0, [255, 255, 255]);
    canvas.stroke((320.0, 300.0), (900.0, 300.0), 40.0, [40, 0, 40]);
    canvas.stroke((560.0, 180.0), (560.0, 700.0), 40.0, [30, 30, 0]);
    canvas.board(
        Place {
            x: 350.0,
            y: 180.0,
            cell: 99.0,
        },
        &SIX,
    );
    assert_eq!(grid(&board(&canvas)), canonical(&SIX));
}

#[test]
fn double_lines_are_one() {
    let mut canvas = canvas();
    for off in [-2.0, 2.0] {
        let place = Place {
            x: 100.0 + off,
            y: 120.0 + off,
            cell: 100.0,
        };
        canvas.grid(place, 6, 6, super::canvas::LINE);
    }
    canvas.terminals(PLACE, &SIX);
    assert_eq!(grid(&board(&canvas)), canonical(&SIX));
}

#[test]
fn letters_on_terminals_do_not_matter() {
    let mut canvas = canvas();
    canvas.board(PLACE, &SIX);
    for (row, letters) in SIX.iter().enumerate() {
        for (col, _) in letters
            .chars()
            .enumerate()
            .filter(|(_, letter)| *letter != '.')
        {
            let (x, y) = PLACE.centre(row, col);
            canvas.rectangle(x - 12.0, y - 15.0, 6.0, 30.0, [255, 255, 255]);
            canvas.rectangle(x - 12.0, y - 3.0, 24.0, 6.0, [255, 255, 255]);
        }
    }
    assert_eq!(grid(&board(&canvas)), canonical(&SIX));
}

#[test]
fn the_larger_of_two_boards() {
    let mut canvas = Canvas::new(1400, 800, [0, 0, 0]);
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
            x: 900.0,
            y: 60.0,
            cell: 60.0,
        },
        &SIX,
    );
    assert!((board(&canvas).geometry.corners[0][0] - 40.0).abs() < 2.0);
}

#[test]
fn a_reader_forgets_the_picture_before() {
    let mut canvas = canvas();
    canvas.board(PLACE, &SIX);
    let mut reader = crate::track::reader::Reader::new(crate::config::Config::default());
    let mut see = |canvas: &Canvas| {
        let picture = crate::picture::Picture::new(&canvas.rgb, canvas.info()).unwrap();
        reader.read(&picture).unwrap()
    };
    let first = see(&canvas);
    assert_ne!(see(&Canvas::new(300, 200, paint('R'))), first);
    assert_eq!(see(&canvas), first);
    assert_eq!(read(&canvas), first);
}
