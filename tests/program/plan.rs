//! `flowpipe solve --plan`: the strokes that draw each solution.

use flowpipe_puzzle::message::Stroke;
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Flow, Puzzle, Solution, text};
use flowpipe_tests::{Ran, with_input};
use serde_json::Value;

const EASY: &str = "A.B.C\n..D.E\n.....\n.B.C.\n.ADE.\n";
const UNSOLVABLE: &str = "AB\nBA\n";
/// Six-sided cells, drawn by who takes all cells for squares.
const HEXES: &str = "X_3,0,1,3,,8,0|1:2|4;0,3,6;1,4,7;2,5\n";
/// The first flow goes around the edges to the left, down, and to the right.
const WARPS: &str = "W_4,0,1,3,,,1|13:2|14:4|7:8|11:12|15;1,0,3,15,14,10,9;2,6,7,11;5,4,8,12,13\n";
const BRIDGE: &str = "3,0,1,2,4,0:2:6:8;1,4,7;3,4,5\n";
const GRID: [&str; 3] = ["solve", "-", "--plan=planner-grid"];
/// The example: it is right on boards of squares only.
const SIMPLE: [&str; 3] = ["solve", "-", "--plan=planner-simple"];

fn solve(args: &[&str], more: &[&str], puzzles: &str) -> Ran {
    with_input(&[args, more].concat(), puzzles)
}

/// Each line of JSON.
fn answers(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn strokes(answer: &Value) -> Vec<Stroke> {
    serde_json::from_value(answer["strokes"].clone()).unwrap()
}

fn puzzle(text: &str) -> Puzzle {
    text::read(text).remove(0).puzzle.unwrap().0
}

fn solution(puzzle: &Puzzle, answer: &Value) -> Solution {
    let paths: Vec<Vec<usize>> = serde_json::from_value(answer["paths"].clone()).unwrap();
    let flow = |cells: Vec<usize>| Flow {
        colour: puzzle.terminal_at(cells[0]).unwrap(),
        cells,
    };
    Solution {
        flows: paths.into_iter().map(flow).collect(),
    }
}

/// Straight lines of a stroke that goes along rows and columns.
fn segments(stroke: &Stroke) -> usize {
    let steps = stroke.points.windows(2);
    let mut ways: Vec<[bool; 4]> = steps
        .map(|step| {
            let [x, y] = [0, 1].map(|axis| step[1][axis] - step[0][axis]);
            [x > 0.0, x < 0.0, y > 0.0, y < 0.0]
        })
        .collect();
    ways.dedup();
    ways.len()
}

#[test]
fn each_object_has_the_strokes_that_draw_its_solution() {
    let puzzles = format!("{EASY}\n{UNSOLVABLE}\nA?\n\nAB\nAB\n");
    let ran = solve(&GRID, &["--json"], &puzzles).expect(65);
    let answers = answers(&ran);
    let statuses: Vec<_> = answers.iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, ["solved", "unsolvable", "invalid", "solved"]);
    for (at, text) in [(0, EASY), (3, "AB\nAB\n")] {
        let (answer, puzzle) = (&answers[at], puzzle(text));
        let strokes = strokes(answer);
        let solution = solution(&puzzle, answer);
        assert_eq!(check_strokes(&puzzle, &solution, &strokes), Ok(()));
        assert_eq!(strokes.len(), puzzle.flow_count());
        let segments: usize = strokes.iter().map(segments).sum();
        assert_eq!(answer["segments"], segments);
        assert!(answer["plan_us"].as_f64().unwrap() >= 0.0, "{answer}");
        assert!(answer["plan_error"].is_null(), "{answer}");
    }
    // What has no solution has no plan.
    for answer in &answers[1..3] {
        for key in ["strokes", "segments", "plan_us", "plan_error"] {
            assert!(answer.get(key).is_none(), "{answer}");
        }
    }
}

#[test]
fn the_default_planner_takes_every_kind_of_board() {
    let segments = |planner: &str| {
        let puzzles = format!("{EASY}\n{HEXES}\n{WARPS}\n{BRIDGE}");
        let ran = with_input(&["solve", "-", "--json", planner], &puzzles).expect(0);
        let answers = answers(&ran);
        assert!(answers.iter().all(|answer| answer["strokes"].is_array()));
        answers
            .iter()
            .map(|answer| answer["segments"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(segments("--plan") < segments("--plan=planner-grid"));
    let text = with_input(&["solve", "-", "--plan"], EASY).expect(0).stdout;
    assert!(text.contains("planned by planner-minlink: "), "{text}");
}

#[test]
fn without_a_planner_nothing_is_planned() {
    let answer = with_input(&["solve", "-", "--json"], EASY).expect(0).json();
    assert!(answer.get("strokes").is_none(), "{answer}");
    let text = with_input(&["solve", "-"], EASY).expect(0).stdout;
    assert!(!text.contains("planned"), "{text}");
}

#[test]
fn a_line_a_board_for_people() {
    let ran = solve(&GRID, &[], &format!("{EASY}\n{UNSOLVABLE}")).expect(3);
    let planned: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("planned by"))
        .collect();
    assert_eq!(planned.len(), 1, "{ran:?}");
    let begin = "planned by planner-grid: 5 strokes, ";
    assert!(planned[0].starts_with(begin), "{planned:?}");
    assert!(planned[0].contains(" segments in "), "{planned:?}");
}

#[test]
fn the_planner_takes_its_own_config() {
    let passed = |skip: bool| {
        let config = format!("{{ skip_last_terminal = {skip} }}");
        let ran = solve(&GRID, &["--json", "--plan-config", &config], EASY).expect(0);
        let strokes = strokes(&ran.json());
        strokes.iter().map(|it| it.cells.len()).sum::<usize>()
    };
    assert_eq!((passed(false), passed(true)), (25, 20));
    let wrong = solve(
        &GRID,
        &["--plan-config", "{ skip_last_terminal = 1 }"],
        EASY,
    )
    .expect(78);
    assert!(wrong.stderr.contains("skip_last_terminal"), "{wrong:?}");
    with_input(&["solve", "-", "--plan-config", "{}"], EASY).expect(2);
}

#[test]
fn only_a_planner_plans() {
    let wrong = with_input(&["solve", "-", "--plan=planner-gird"], EASY).expect(78);
    let meant = "did you mean `planner-grid`?";
    assert!(wrong.stderr.contains(meant), "{wrong:?}");
    with_input(&["solve", "-", "--plan=solver-search"], EASY).expect(78);
}

#[test]
fn a_planner_that_fails_on_a_board_is_named_and_spoils_no_other() {
    let puzzles = format!("{EASY}\n{HEXES}\nAB\nAB\n");
    let ran = solve(&SIMPLE, &["--json", "--jobs", "1"], &puzzles).expect(1);
    let answers = answers(&ran);
    // It is solved all the same.
    assert!(answers.iter().all(|answer| answer["status"] == "solved"));
    let drawn: Vec<bool> = answers
        .iter()
        .map(|answer| answer["strokes"].is_array())
        .collect();
    assert_eq!(drawn, [true, false, true]);
    let reason = answers[1]["plan_error"].as_str().unwrap();
    assert!(
        reason.contains("strokes that may not be played"),
        "{reason}"
    );

    let text = solve(&SIMPLE, &[], &puzzles).expect(1).stdout;
    assert!(text.contains("planner-simple failed: "), "{text}");
    assert_eq!(
        text.matches("planned by planner-simple").count(),
        2,
        "{text}"
    );
    let level = solve(&SIMPLE, &["--to", "level"], HEXES).expect(1);
    assert_eq!(level.stdout, HEXES);
    assert!(level.stderr.contains("planner-simple failed"), "{level:?}");
}

#[test]
fn strokes_are_drawn_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let new = format!("{}/pictures/", folder.path().display());
    let puzzles = format!("{EASY}\n{UNSOLVABLE}");
    solve(&GRID, &["--svg", &new], &puzzles).expect(3);
    let read = |name: &str| std::fs::read_to_string(format!("{new}{name}")).unwrap();
    // A square where each of the five strokes ends, besides the picture's own ground.
    assert_eq!(read("1.svg").matches("<rect ").count(), 1 + 5);
    assert_eq!(read("2.svg").matches("<rect ").count(), 1);
    // A folder that is there needs no mark; a single puzzle has a number too.
    solve(&GRID, &["--svg", new.trim_end_matches('/')], "AB\nAB\n").expect(0);
    assert_eq!(read("1.svg").matches("<rect ").count(), 1 + 2);
}

#[test]
fn thousands_are_planned_in_parallel_and_printed_in_order() {
    let puzzles: Vec<String> = (0..1000)
        .map(|index| match index % 3 {
            0 => "AB\nAB\n".to_owned(),
            1 => format!("A{}A\n", ".".repeat(index % 7)),
            _ => UNSOLVABLE.to_owned(),
        })
        .collect();
    let ran = solve(&GRID, &["--json", "--jobs", "3"], &puzzles.join("\n")).expect(3);
    let answers = answers(&ran);
    assert_eq!(answers.len(), puzzles.len());
    for (index, answer) in answers.iter().enumerate() {
        assert_eq!(answer["index"], index);
        match index % 3 {
            0 => assert_eq!(strokes(answer).len(), 2),
            1 => {
                let strokes = strokes(answer);
                assert_eq!(strokes[0].cells.len(), index % 7 + 2, "{answer}");
            }
            _ => assert!(answer.get("strokes").is_none(), "{answer}"),
        }
    }
}
