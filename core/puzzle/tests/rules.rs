//! Rules that hold for all boards, puzzles and solutions.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

#[path = "support/strategies.rs"]
mod strategies;
mod support;

use flowpipe_puzzle::graph::{directions, step};
use flowpipe_puzzle::message::Stroke;
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Direction, Flow, Puzzle, Solution, check, draw, level, svg, text};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use strategies::{board, puzzle, solved};

/// How near a segment comes to a corner between cells.
fn nearest_corner(segment: &[[f64; 2]]) -> f64 {
    let (from, to) = (segment[0], segment[1]);
    let along = [to[0] - from[0], to[1] - from[1]];
    let length = (along[0] * along[0] + along[1] * along[1]).sqrt();
    let corners = (0..25_u8).map(|index| [f64::from(index % 5), f64::from(index / 5)]);
    corners
        .map(|[x, y]| {
            let away = [x - from[0], y - from[1]];
            (away[0] * along[1] - away[1] * along[0]).abs() / length
        })
        .fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_link_has_its_opposite(board in board()) {
        let graph = board.graph();
        let lattice = board.description().lattice;
        for node in 0..graph.len() {
            let links = graph.links(node);
            prop_assert!(links.len() <= usize::from(directions(lattice)));
            prop_assert!(links.is_sorted_by_key(|link| link.direction));
            for link in links {
                let (from, to) = (graph.cell_of(node), graph.cell_of(link.node));
                prop_assert_ne!(from, to);
                prop_assert!(board.exists(from) && board.exists(to));
                prop_assert_eq!(step(board.description(), from, link.direction), Some(to));
                prop_assert!(board.touch(from, to) && board.touch(to, from));
                let wall = (from.min(to), from.max(to));
                prop_assert!(!board.description().walls.contains(&wall));
                let back = link.direction.opposite(lattice);
                let opposite = graph.links(link.node).iter().find(|other| other.node == node);
                prop_assert_eq!(opposite.map(|other| other.direction), Some(back));
                prop_assert_eq!(links.iter().filter(|other| graph.cell_of(other.node) == to).count(), 1);
            }
        }
    }

    #[test]
    fn every_passage_is_a_link(board in board()) {
        for cell in board.cells() {
            for direction in (0..directions(board.description().lattice)).map(Direction) {
                let Some(to) = step(board.description(), cell, direction) else { continue };
                let wall = (cell.min(to), cell.max(to));
                let open = board.exists(to) && !board.description().walls.contains(&wall);
                prop_assert_eq!(board.touch(cell, to), open);
            }
        }
    }

    #[test]
    fn puzzles_read_back_from_text_and_json(puzzle in puzzle()) {
        let written = text::write(&puzzle);
        let entries = text::read(&written);
        prop_assert_eq!(entries.len(), 1, "{}", written);
        prop_assert_eq!(entries[0].puzzle.as_ref(), Ok(&(puzzle.clone(), None)), "{}", written);
        let json = serde_json::to_string(&puzzle).unwrap();
        let back: Puzzle = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &puzzle);
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(\\PC|[ \t\r\n;,{}:|#+./AB01-]){0,80}") {
        for entry in text::read(&text) {
            prop_assert!(entry.line >= 1);
            match entry.puzzle {
                Ok((puzzle, solution)) => {
                    let flows = solution.unwrap_or_default().flows;
                    prop_assert!(!draw::draw(&puzzle, &flows, draw::Style::default()).is_empty());
                }
                Err(error) => {
                    prop_assert!(error.line == entry.line || text.lines().count() >= error.line);
                    prop_assert!(error.column >= 1);
                }
            }
        }
    }

    #[test]
    fn any_level_line_is_read_without_panic(line in "[WX_0-9:+,;|B]{0,60}") {
        if let Ok(level) = level::parse(&line) {
            prop_assert_eq!(level::parse(&level.to_string()), Ok(level));
        }
    }

    #[test]
    fn any_flows_are_judged_and_drawn_without_panic(
        puzzle in puzzle(),
        flows in prop::collection::vec((0..5_u16, prop::collection::vec(0..60_usize, 0..9)), 0..5),
    ) {
        let flows: Vec<Flow> =
            flows.into_iter().map(|(colour, cells)| Flow { colour, cells }).collect();
        prop_assert!(!draw::draw(&puzzle, &flows, draw::Style::default()).is_empty());
        let picture = svg::draw(&puzzle, &flows, svg::Style::default());
        prop_assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN"));
        for refusal in check(&puzzle, &Solution { flows }).err().unwrap_or_default() {
            prop_assert!(!refusal.to_string().is_empty());
        }
    }

    /// Wherever the mouse is in an accepted stroke, it is in the cells named, and in their order.
    #[test]
    fn accepted_strokes_stay_in_their_cells(
        points in prop::collection::vec((0..7_usize, 0.02..0.98_f64, 0.02..0.98_f64), 2..5),
        fine in any::<bool>(),
    ) {
        // A staircase: each turn is a corner that can be cut.
        let level = level::parse("4,0,1,1;0,1,5,6,10,11,15").unwrap();
        let cells = &level.solution.flows[0].cells;
        let mut at: Vec<(usize, f64, f64)> = points;
        at.sort_by_key(|point| point.0);
        let (first, last) = (at[0].0, at[at.len() - 1].0);
        let points: Vec<[f64; 2]> = at
            .into_iter()
            .map(|(step, x, y)| {
                // Half of the points lie on a coarse lattice, so that many ways go through corners.
                let on = |value: f64| if fine { value } else { (value * 3.9).floor() / 4.0 + 0.125 };
                let (row, col) = level.puzzle.board().row_col(cells[step]);
                [col as f64 + on(x), row as f64 + on(y)]
            })
            .collect();
        let named = cells[first..=last].to_vec();
        let stroke = Stroke { colour: 0, cells: named.clone(), points: points.clone() };
        let accepted = check_strokes(&level.puzzle, &level.solution, &[stroke]).is_ok();

        let mut step = 0;
        let mut stayed = true;
        for segment in points.windows(2) {
            for part in 0..=2000 {
                let t = f64::from(part) / 2000.0;
                let [x, y] = [0, 1].map(|axis| segment[0][axis] * (1.0 - t) + segment[1][axis] * t);
                let cell = y as usize * 4 + x as usize;
                while step < named.len() && named[step] != cell {
                    step += 1;
                }
                stayed &= step < named.len();
            }
        }
        // What the samples find outside is never accepted. What is refused may be too near to a
        // corner for the samples, but only there.
        prop_assert!(stayed || !accepted, "{points:?} leaves {named:?}");
        if !accepted && stayed {
            let near = points.windows(2).any(|segment| nearest_corner(segment) < 1e-3);
            prop_assert!(near, "{points:?} stays in {named:?}");
        }
    }

    #[test]
    fn right_solutions_pass_and_broken_ones_do_not((puzzle, solution) in solved()) {
        prop_assert_eq!(check(&puzzle, &solution), Ok(()));
        for mutant in support::mutants(puzzle.board(), &solution) {
            let refusals = check(&puzzle, &mutant.solution).err().unwrap_or_default();
            for (rules, cell) in &mutant.refusals {
                prop_assert!(
                    refusals.iter().any(|one| rules.contains(&one.rule) && one.cell == *cell),
                    "{}: {:?} at {:?} is not among {:?}", mutant.what, rules, cell, refusals
                );
            }
        }
    }
}
