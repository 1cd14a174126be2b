//! Rules that hold for all boards, puzzles and solutions.

use crate::support::strategies::{board, puzzle, solved};
use flowpipe_puzzle::graph::{directions, step};
use flowpipe_puzzle::{Direction, Flow, Puzzle, Solution, check, draw, level, svg, text};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

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
                    prop_assert!(!draw::draw(&puzzle, &flows, draw::TextStyle::default()).is_empty());
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
        prop_assert!(!draw::draw(&puzzle, &flows, draw::TextStyle::default()).is_empty());
        let picture = svg::draw(&puzzle, &flows, svg::SvgStyle::default());
        prop_assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN"));
        for refusal in check(&puzzle, &Solution { flows }).err().unwrap_or_default() {
            prop_assert!(!refusal.to_string().is_empty());
        }
    }

    #[test]
    fn right_solutions_pass_and_broken_ones_do_not((puzzle, solution) in solved()) {
        prop_assert_eq!(check(&puzzle, &solution), Ok(()));
        for mutant in crate::support::mutants(puzzle.board(), &solution) {
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
