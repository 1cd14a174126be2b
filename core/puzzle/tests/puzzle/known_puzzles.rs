//! Real levels and puzzles with their solutions, where they are at hand.

use std::collections::BTreeSet;

use crate::support::legs::{Leg, legs};
use crate::support::mutants;
use flowpipe_puzzle::message::Stroke;
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Flow, Lattice, Rules, Solution, check, level, text};
use flowpipe_testing::{note, shared_puzzles};
use serde_json::Value;

/// A level line without what is only drawing, its lists in order and each flow from its smaller end.
fn plain(line: &str) -> (Vec<String>, Vec<BTreeSet<String>>, Vec<Vec<usize>>) {
    let mut fields = line.trim().trim_end_matches(';').split(';');
    let header: Vec<&str> = fields.next().unwrap().split(',').collect();
    let list = |index: usize| -> BTreeSet<String> {
        let items = header
            .get(index)
            .unwrap_or(&"")
            .split(':')
            .filter(|item| !item.is_empty());
        items
            .map(|item| {
                let item = item.split('_').next().unwrap();
                let mut sides: Vec<usize> =
                    item.split('|').map(|side| side.parse().unwrap()).collect();
                sides.sort_unstable();
                format!("{sides:?}")
            })
            .collect()
    };
    let flows = fields.map(|flow| {
        let mut cells: Vec<usize> = flow.split(',').map(|cell| cell.parse().unwrap()).collect();
        if cells.last() < cells.first() {
            cells.reverse();
        }
        cells
    });
    let start = header[..4].iter().map(|&field| field.to_owned()).collect();
    (start, vec![list(4), list(5), list(6)], flows.collect())
}

#[test]
fn every_known_level_is_read_right_and_written_back() {
    let Some(levels) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let (mut warps, mut hexes, mut bridges) = (0, 0, 0);
    for (index, line) in levels.lines().enumerate() {
        let level =
            level::parse(line).unwrap_or_else(|error| panic!("line {}: {error}", index + 1));
        let result = check(&level.puzzle, &level.solution);
        assert_eq!(result, Ok(()), "line {}", index + 1);
        assert_eq!(plain(&level.to_string()), plain(line), "line {}", index + 1);
        assert_eq!(level::parse(&level.to_string()).as_ref(), Ok(&level));
        let board = level.puzzle.board().description();
        warps += u32::from(board.warps);
        hexes += u32::from(board.lattice == Lattice::Hex);
        bridges += u32::from(!board.bridges.is_empty());

        // As text of any format it is the same puzzle.
        let written = text::write(&level.puzzle);
        let back = text::read(&written).remove(0).puzzle.unwrap().0;
        assert_eq!(back.board(), level.puzzle.board());
        assert_eq!(text::write(&back).len(), written.len());
    }
    let entries = text::read(&levels);
    assert!(entries.iter().all(|entry| entry.puzzle.is_ok()));
    assert_eq!(entries.len(), levels.lines().count());
    note!(
        "{} levels: {warps} with warps, {hexes} of hexes, {bridges} with bridges",
        entries.len()
    );
}

#[test]
fn every_broken_solution_of_a_known_level_is_refused() {
    let Some(levels) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut count = 0;
    for line in levels.lines().step_by(3) {
        let level = level::parse(line).unwrap();
        for mutant in mutants(level.puzzle.board(), &level.solution) {
            let refusals = check(&level.puzzle, &mutant.solution)
                .err()
                .unwrap_or_default();
            for (rules, cell) in &mutant.refusals {
                assert!(
                    refusals
                        .iter()
                        .any(|one| rules.contains(&one.rule) && one.cell == *cell),
                    "{}: {rules:?} at {cell:?} is not among {refusals:?} in {line}",
                    mutant.what
                );
            }
            count += 1;
        }
    }
    note!("{count} broken solutions refused");
}

#[test]
fn strokes_through_the_centres_of_known_flows_are_accepted() {
    let Some(levels) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let (mut accepted, mut beyond) = (0, 0);
    for line in levels.lines() {
        let level = level::parse(line).unwrap();
        let board = level.puzzle.board();
        let mut strokes = Vec::new();
        for flow in &level.solution.flows {
            let legs = legs(board, &flow.cells);
            beyond += legs.len() - 1;
            let stroke = |leg: Leg| Stroke::new(flow.colour, leg.cells, leg.centres);
            strokes.extend(legs.into_iter().map(stroke));
        }
        let result = check_strokes(&level.puzzle, &level.solution, &strokes);
        assert_eq!(result, Ok(()), "{line}");
        accepted += strokes.len();

        // Without one of the points on the way the mouse cuts a corner, or it stays the same line.
        // On hexes it may cut one inside its cells.
        let hexes = board.description().lattice == Lattice::Hex;
        for stroke in strokes.iter_mut().filter(|stroke| stroke.points.len() > 2) {
            let at = stroke.points.len() / 2;
            let (before, after) = (stroke.points[at - 1], stroke.points[at + 1]);
            let middle = stroke.points.remove(at);
            let straight = (0..2).all(|axis| before[axis] + after[axis] == 2.0 * middle[axis]);
            let result =
                check_strokes(&level.puzzle, &level.solution, std::slice::from_ref(stroke));
            if straight || !hexes {
                assert_eq!(result.is_ok(), straight, "{line} {stroke:?}");
            }
        }
    }
    note!("{accepted} strokes accepted, {beyond} times beyond an edge");
}

#[test]
fn every_known_numberlink_is_read_and_its_solution_passes() {
    let Some(puzzles) = shared_puzzles("numberlink-janko.jsonl") else {
        return;
    };
    let mut count = 0;
    for line in puzzles.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        let rows: Vec<&str> = object["grid"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row.as_str().unwrap())
            .collect();
        let entry = text::read(&rows.join("\n")).remove(0);
        let (puzzle, _) = entry
            .puzzle
            .unwrap_or_else(|error| panic!("{}: {error}", object["id"]));
        assert_eq!(entry.names.len() as u64, object["colors"].as_u64().unwrap());
        let flag = |name: &str| object[name].as_bool().unwrap();
        let rules = Rules {
            cover: flag("full"),
            touch: flag("selftouch"),
        };
        let puzzle = puzzle.with_rules(rules);
        let paths: Vec<Vec<usize>> = serde_json::from_value(object["paths"].clone()).unwrap();
        let flows = paths
            .into_iter()
            .map(|cells| Flow {
                colour: puzzle.terminal_at(cells[0]).unwrap(),
                cells,
            })
            .collect();
        assert_eq!(
            check(&puzzle, &Solution { flows }),
            Ok(()),
            "{}",
            object["id"]
        );
        count += 1;
    }
    note!("{count} Numberlink puzzles");
}
