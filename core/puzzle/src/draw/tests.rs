use super::*;
use crate::{level, text};

fn snapshot(name: &str, drawings: &[String]) {
    crate::snapshot::settings().bind(|| insta::assert_snapshot!(name, drawings.join("\n")));
}

fn solved(line: &str, style: TextStyle) -> String {
    let level = level::parse(line).unwrap();
    draw(&level.puzzle, &level.solution.flows, style)
}

const PLAIN: &str = "4,0,1,3;0,1,2,3,7,6;4,5,9,8,12;13,14,10,11,15";

#[test]
fn plain_boards() {
    let ascii = TextStyle {
        ascii: true,
        ..TextStyle::default()
    };
    let dots = TextStyle {
        dots: true,
        ..TextStyle::default()
    };
    let empty = level::parse(PLAIN).unwrap().puzzle;
    let partial = [Flow {
        colour: 0,
        cells: vec![0, 1, 2],
    }];
    snapshot(
        "plain",
        &[
            draw(&empty, &[], TextStyle::default()),
            draw(&empty, &partial, TextStyle::default()),
            solved(PLAIN, TextStyle::default()),
            solved(PLAIN, ascii),
            solved(PLAIN, dots),
        ],
    );
}

#[test]
fn special_boards() {
    let lines = [
        // Bridge, holes.
        "3,0,1,2,4,0:2:6:8;1,4,7;3,4,5",
        // Walls in columns only, then in rows too.
        "3,0,1,3,,,0|1:4|5;0,3,6;1,4,7;2,5,8",
        "3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8",
        // Warps, and with a wall between rows.
        "W_3,0,1,3;1,0,2;5,3,4;8,7,6",
        "W_3,0,1,3,,,1|7:4|7;0,6,3;1,4,5;7,8,2",
        // Warps from top to bottom, without walls.
        "W_3,0,1,3;0,6,3;1,4,7;8,2,5",
        "X_3,0,1,3,,8;0,3,6;1,4,7;2,5",
        "X_3,0,1,3,,8,0|1:2|4;0,3,6;1,4,7;2,5",
        "X_4:3,0,1,2;0,5,2,3;4,9,6,7",
        "W_X_4:3,0,1,3;1,0,3,2;4,7,6,5;8,11,10,9",
    ];
    let drawings: Vec<String> = lines
        .iter()
        .map(|line| format!("{line}\n{}", solved(line, TextStyle::default())))
        .collect();
    snapshot("special", &drawings);
}

#[test]
fn long_names_and_names_of_the_users_own() {
    let entry = &text::read("10 . 7\n10 . 7\n")[0];
    let (puzzle, _) = entry.puzzle.as_ref().unwrap();
    let flows = [Flow {
        colour: 0,
        cells: vec![0, 1, 4, 3],
    }];
    snapshot(
        "names",
        &[draw(
            puzzle,
            &flows,
            TextStyle {
                names: &entry.names,
                ..TextStyle::default()
            },
        )],
    );
}

#[test]
fn colours_as_escape_codes() {
    let palette = colour::palette(2);
    let style = TextStyle {
        ansi: true,
        dots: true,
        palette: &palette,
        ..TextStyle::default()
    };
    let text = solved(PLAIN, style).replace('\x1b', "ESC");
    snapshot(
        "ansi",
        &[
            text,
            solved("X_2,0,1,1;0,2,3,1", style).replace('\x1b', "ESC"),
            solved("3,0,1,2,4,0:2:6:8;1,4,7;3,4,5", style).replace('\x1b', "ESC"),
        ],
    );
}

#[test]
fn malformed_flows_are_drawn_as_far_as_they_go() {
    let puzzle = level::parse(PLAIN).unwrap().puzzle;
    let flows = [Flow {
        colour: 900,
        cells: vec![1, 99, usize::MAX, 2, 11],
    }];
    snapshot("malformed", &[draw(&puzzle, &flows, TextStyle::default())]);
}
