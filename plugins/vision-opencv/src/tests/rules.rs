//! Boards that have a solution by looser rules only.

use flowpipe_plugin::puzzle::Rules;
use flowpipe_plugin::puzzle::message::{BoardState, Reading};

use super::canvas::{Canvas, PLACE, canvas};
use crate::config::Config;
use crate::config::rules::RuleSetting;
use crate::picture::Picture;
use crate::track::reader::Reader;

/// R can cover the free cells only beside itself.
const TOUCHING: [&str; 3] = ["R.R", "...", "BB."];
/// The corner is cut off by the pair.
const EMPTY: [&str; 3] = ["R.R", "..B", ".B."];
/// R and B cross.
const CROSSED: [&str; 3] = ["R.B", "...", "B.R"];

fn reader(rules: RuleSetting) -> Reader {
    Reader::new(Config {
        rules,
        ..Config::default()
    })
}

fn drawn(grid: &[&str]) -> Canvas {
    let mut canvas = canvas();
    canvas.board(PLACE, grid);
    canvas
}

/// Reads a picture that was captured at that time, in tenths of a second.
fn read(reader: &mut Reader, canvas: &Canvas, tenths: i64) -> Reading {
    let picture = Picture::new(&canvas.rgb, canvas.info()).unwrap();
    reader.captured("test", tenths * 100_000_000);
    reader.read(&picture).unwrap()
}

fn rules(reading: &Reading) -> Option<Rules> {
    match reading {
        Reading::Board(board) => Some(board.puzzle.rules()),
        Reading::Refused { reason, .. } => {
            assert!(reason.contains("without a solution"), "{reason}");
            None
        }
    }
}

#[test]
fn they_are_refused_by_strict_rules() {
    for grid in [TOUCHING, EMPTY, CROSSED] {
        let mut reader = reader(RuleSetting::Strict);
        for tenths in 0..9 {
            assert_eq!(rules(&read(&mut reader, &drawn(&grid), tenths)), None);
        }
    }
}

#[test]
fn they_are_read_once_several_captures_show_the_same() {
    let boards = [
        (TOUCHING, Some(Rules::new(true, true))),
        (EMPTY, Some(Rules::new(false, true))),
        (CROSSED, None),
    ];
    let mut reader = reader(RuleSetting::Auto);
    for (number, (grid, expected)) in boards.into_iter().enumerate() {
        let begin = 100 * number as i64;
        for tenths in 0..4 {
            assert_eq!(
                rules(&read(&mut reader, &drawn(&grid), begin + tenths)),
                None
            );
        }
        for tenths in 4..6 {
            let reading = read(&mut reader, &drawn(&grid), begin + tenths);
            assert_eq!(rules(&reading), expected, "{grid:?}");
        }
    }
    // It is known where it lies and by which rules it is played.
    assert!(reader.is_known());
    let reading = read(&mut reader, &drawn(&TOUCHING), 1000);
    assert_eq!(rules(&reading), Some(Rules::new(true, true)));
}

#[test]
fn one_that_has_a_solution_keeps_strict_rules() {
    let mut reader = reader(RuleSetting::Auto);
    for tenths in 0..6 {
        read(&mut reader, &drawn(&EMPTY), tenths);
    }
    let reading = read(&mut reader, &drawn(&["R.R", "B.B", "G.G"]), 7);
    assert_eq!(rules(&reading), Some(Rules::default()));
}

#[test]
fn fixed_rules_are_those_of_all_boards() {
    let loose = Rules::new(false, true);
    let mut reader = reader(RuleSetting::Fixed(loose));
    for grid in [EMPTY, ["R.R", "B.B", "G.G"]] {
        let reading = read(&mut reader, &drawn(&grid), 0);
        assert_eq!(rules(&reading), Some(loose));
        assert!(matches!(reading, Reading::Board(board) if board.state == BoardState::Empty));
    }
}
