//! `flowpipe generate`: `solve` and the checker accept its output, and it is deterministic.

use std::collections::HashSet;

use flowpipe_puzzle::{Puzzle, Solution, check, text};
use flowpipe_tests::run;

/// The printed puzzles and solutions, checked against the rules.
fn printed(args: &[&str]) -> Vec<(Puzzle, Solution)> {
    let ran = run(&[&["generate"], args].concat()).expect(0);
    text::read(&ran.stdout)
        .into_iter()
        .map(|entry| {
            let title = entry.title.unwrap();
            assert!(
                ["easy: ", "medium: ", "hard: "]
                    .iter()
                    .any(|grade| title.starts_with(grade)),
                "{title}"
            );
            let (puzzle, solution) = entry.puzzle.unwrap();
            let solution = solution.unwrap();
            assert_eq!(check(&puzzle, &solution), Ok(()));
            (puzzle, solution)
        })
        .collect()
}

#[test]
fn every_kind_is_printed_in_a_format_that_holds_its_solution() {
    for kind in ["bridges", "hexes", "warps", "walls", "holes", "walls,holes"] {
        for format in ["level", "json"] {
            let args = [
                "--size", "8x7", "--kind", kind, "--count", "3", "--format", format,
            ];
            let puzzles = printed(&args);
            assert_eq!(puzzles.len(), 3, "{kind}");
            for (puzzle, _) in puzzles {
                assert_eq!((puzzle.board().cols(), puzzle.board().rows()), (8, 7));
                assert!(!puzzle.board().is_plain_rectangle());
            }
        }
    }
    assert!(
        printed(&["--size", "6"])
            .iter()
            .all(|(puzzle, _)| puzzle.board().is_plain_rectangle())
    );
}

#[test]
fn a_seed_gives_the_same_puzzles_however_many_jobs_make_them() {
    let made = |seed, jobs| {
        let args = ["--size=7", "--count=40", "--seed", seed, "--jobs", jobs];
        run(&[&["generate"], &args[..]].concat()).expect(0).stdout
    };
    let once = made("1", "1");
    assert_eq!(once, made("1", "3"));
    assert_ne!(once, made("2", "1"));
    let puzzles: Vec<_> = text::read(&once)
        .into_iter()
        .map(|entry| entry.puzzle.unwrap().0)
        .collect();
    let different: HashSet<_> = puzzles.iter().map(|it| it.terminals().to_vec()).collect();
    assert_eq!((puzzles.len(), different.len()), (40, 40));
}

#[test]
fn a_difficulty_can_be_asked_for() {
    for grade in ["easy", "medium", "hard"] {
        let ran = run(&["generate", "--difficulty", grade, "--count", "2"]).expect(0);
        let titles: Vec<_> = ran
            .stdout
            .lines()
            .filter(|it| it.starts_with("//"))
            .collect();
        let start = format!("// {grade}: 9x9, ");
        assert!(
            titles.len() == 2 && titles.iter().all(|title| title.starts_with(&start)),
            "{titles:?}"
        );
    }
}

#[test]
fn grids_hold_plain_boards() {
    let ran = run(&["generate", "--size=5x6", "--count=2", "--format=grid"]).expect(0);
    let read = text::read(&ran.stdout);
    assert_eq!(read.len(), 2);
    for entry in read {
        let (puzzle, _) = entry.puzzle.unwrap();
        assert_eq!((puzzle.board().cols(), puzzle.board().rows()), (5, 6));
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    let stderr_of = |args: &[&str], code| run(&[&["generate"], args].concat()).expect(code).stderr;
    for (args, code, words) in [
        (&["--size=2"][..], 2, "each side must be from 3 to 60"),
        (&["--size=9y9"], 2, "a size is columns x rows"),
        (
            &["--size=5", "--kind=hexes,warps"],
            2,
            "hexes warp only with an even number of columns",
        ),
        (
            &["--kind=hexes", "--format=grid"],
            2,
            "a grid can't express hexes; level lines and JSON can",
        ),
        (
            &["--size=3", "--difficulty=hard"],
            1,
            "no hard puzzle of 3x3 was found in",
        ),
        (
            &["--size=3", "--count=5000"],
            1,
            "different puzzles of 3x3 were found",
        ),
    ] {
        let stderr = stderr_of(args, code);
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
}
