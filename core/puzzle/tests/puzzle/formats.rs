//! What is written in a format reads back as the same.

use crate::support::strategies::{puzzle, solved};
use flowpipe_puzzle::level::{self, Tag};
use flowpipe_puzzle::text::{self, Entry, Format, Sheet, UnsupportedByFormat};
use flowpipe_puzzle::{Puzzle, Rules, Solution, Terminal, check};
use flowpipe_testing::shared_puzzles;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const FORMATS: [Format; 4] = [Format::Grid, Format::Level, Format::Puzzlink, Format::Json];

fn entry(puzzle: Puzzle, solution: Option<Solution>, names: Vec<String>) -> Entry {
    Entry {
        line: 1,
        title: None,
        names,
        tag: None,
        puzzle: Ok((puzzle, solution)),
    }
}

/// The one entry that a sheet gives in a format, if the format can express it.
fn through(sheet: &Sheet, format: Format) -> Result<Entry, UnsupportedByFormat> {
    let text = text::write_as(sheet, format)?;
    let mut entries = text::read(&text);
    assert_eq!(entries.len(), 1, "{text}");
    Ok(entries.remove(0))
}

/// Whether a format has signs for a puzzle.
fn is_sayable(puzzle: &Puzzle, format: Format) -> bool {
    let board = puzzle.board().description();
    let squares = puzzle.board().description().lattice == flowpipe_puzzle::Lattice::Square;
    let no_edges = squares && !board.warps && board.walls.is_empty();
    match format {
        Format::Grid => no_edges,
        Format::Puzzlink => puzzle.board().is_plain_rectangle(),
        Format::Level => puzzle.rules() == Rules::default(),
        Format::Json => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_line_is_read_as_the_very_same_puzzle(puzzle in puzzle(), shift in 0..3_u16) {
        for by in [0, shift] {
            // Other numbers than those by first appearance.
            let terminals = puzzle.terminals().iter();
            let shifted = terminals.map(|it| Terminal::new(it.cell, it.colour + by)).rev().collect();
            let puzzle = Puzzle::new(puzzle.board().clone(), shifted, puzzle.rules()).unwrap();
            let line = text::write_line(&puzzle);
            prop_assert!(!line.contains('\n'), "{}", line);
            let read = text::read(&line);
            prop_assert_eq!(read.len(), 1, "{}", line);
            prop_assert_eq!(read[0].puzzle.as_ref().map(|(puzzle, _)| puzzle), Ok(&puzzle), "{}", line);
        }
    }

    #[test]
    fn puzzles_read_back_from_every_format(puzzle in puzzle(), numbers in any::<bool>()) {
        // Colours are numbered by first appearance, so that formats which number them keep them.
        let count = puzzle.colours().len();
        let names: Vec<String> =
            (0..count).filter(|_| numbers).map(|colour| (colour * 3 + 1).to_string()).collect();
        let one_column = puzzle.board().cols() == 1;
        let entry = entry(puzzle.clone(), None, names.clone());
        let sheet = entry.sheet().unwrap();
        for format in FORMATS {
            if format == Format::Level {
                let error = through(&sheet, format).unwrap_err();
                prop_assert_eq!(
                    error == UnsupportedByFormat::NoSolution, true, "{}", error
                );
                continue;
            }
            match through(&sheet, format) {
                Ok(back) => {
                    prop_assert_eq!(back.puzzle.as_ref(), Ok(&(puzzle.clone(), None)));
                    if numbers {
                        prop_assert_eq!(&back.names[..count], &names[..]);
                    }
                }
                Err(error) => prop_assert!(
                    !is_sayable(&puzzle, format) || (one_column && format == Format::Grid),
                    "{}", error
                ),
            }
        }
    }

    #[test]
    fn solved_puzzles_go_through_every_format_that_holds_solutions(
        (puzzle, solution) in solved(), pack in any::<u32>(), number in any::<u32>(),
    ) {
        let mut first = entry(puzzle, Some(solution.canonical()), Vec::new());
        first.tag = Some(Tag::new(pack, number).with_flags("B"));
        let sheet = first.sheet().unwrap();
        let level = through(&sheet, Format::Level).unwrap();
        let json = through(&level.sheet().unwrap(), Format::Json).unwrap();
        prop_assert_eq!(&json, &level);
        prop_assert_eq!(&through(&json.sheet().unwrap(), Format::Level).unwrap(), &level);
        prop_assert_eq!(&level.puzzle, &first.puzzle);
        prop_assert_eq!(&level.tag, &first.tag);
    }

    #[test]
    fn any_url_is_read_without_panic(url in "numlin/[0-9]{1,2}/[0-9]{1,2}/[0-9a-z.*$%=+/-]{0,40}(#rules=[a-z,-]{0,9})?") {
        for entry in text::read(&url) {
            let Ok(sheet) = entry.sheet() else { continue };
            let again = through(&sheet, Format::Puzzlink).unwrap();
            prop_assert_eq!((&again.puzzle, &again.names), (&entry.puzzle, &entry.names));
        }
    }
}

#[test]
fn every_known_level_survives_every_format() {
    let Some(levels) = shared_puzzles("flowfree-levels.txt") else {
        return;
    };
    let mut counts = [0; 4];
    for (index, line) in levels.lines().enumerate() {
        let plain = level::parse(line).unwrap().to_string();
        let entry = text::read(line).remove(0);
        let sheet = entry.sheet().unwrap();
        for (count, format) in counts.iter_mut().zip(FORMATS) {
            let back = match through(&sheet, format) {
                Ok(back) => back,
                Err(error) => {
                    let possible = is_sayable(sheet.puzzle, format);
                    assert!(!possible, "line {}: {error}", index + 1);
                    continue;
                }
            };
            *count += 1;
            let read = back.sheet().unwrap();
            assert_eq!(read.puzzle.board(), sheet.puzzle.board());
            assert_eq!(read.puzzle.rules(), sheet.puzzle.rules());
            // With its solution it is the same level again, whatever it went through.
            let solution = match read.solution {
                Some(solution) => solution.clone(),
                None => recoloured(sheet.solution.unwrap(), read.puzzle),
            };
            assert_eq!(check(read.puzzle, &solution), Ok(()));
            let whole = Sheet {
                solution: Some(&solution),
                tag: sheet.tag,
                ..read
            };
            let line = text::write_as(&whole, Format::Level).unwrap();
            if read.solution.is_some() {
                assert_eq!(line.trim_end(), plain);
            }
        }
    }
    use std::io::Write as _;
    let _ = writeln!(
        std::io::stderr(),
        "levels written and read back as grids {}, levels {}, URLs {}, JSON {}",
        counts[0],
        counts[1],
        counts[2],
        counts[3]
    );
    assert_eq!(counts[1], levels.lines().count());
    assert_eq!(counts[3], levels.lines().count());
}

/// A solution in the colours that its puzzle's terminals have there.
fn recoloured(solution: &Solution, puzzle: &Puzzle) -> Solution {
    let mut solution = solution.clone();
    for flow in &mut solution.flows {
        flow.colour = puzzle.terminal_at(flow.cells[0]).unwrap();
    }
    solution
}
