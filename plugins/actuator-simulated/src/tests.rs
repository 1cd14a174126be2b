use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::puzzle::message::{
    FrameNote, Hold, Outcome, Profile, Reading, STROKES, Sighting,
};
use flowpipe_plugin::puzzle::{Board, Flow, Geometry, Point, Puzzle, Rules, Solution, Terminal};
use serde_json::{Value, json};

use super::*;

/// 2 x 3: flow A along the upper row, flow B along the lower one, on a board of 90 x 60 pixels that
/// lies at (10, 20) of a frame at (1000, 500) on a screen of two frame pixels each way.
fn strokes(points: [Vec<Point>; 2]) -> Strokes {
    let flows =
        [(0, vec![0, 1, 2]), (1, vec![3, 4, 5])].map(|(colour, cells)| Flow { colour, cells });
    let terminals =
        [(0, 0), (2, 0), (3, 1), (5, 1)].map(|(cell, colour)| Terminal { cell, colour });
    let board = Board::rectangle(2, 3).unwrap();
    let seen = SeenBoard::new(
        Puzzle::new(board, terminals.to_vec(), Rules::default()).unwrap(),
        Geometry::axis_aligned(10.0, 20.0, 90.0, 60.0, 2, 3),
        vec![[255, 0, 0], [0, 0, 255]],
    );
    Strokes::new(
        "test",
        flows
            .iter()
            .zip(points)
            .map(|(flow, points)| Stroke::new(flow.colour, flow.cells.clone(), points))
            .collect(),
        Solution {
            flows: flows.to_vec(),
        },
        Sighting::new(
            FrameNote::of("a/b.png")
                .with_origin([1000.0, 500.0])
                .with_scale(2.0),
            Reading::Board(Box::new(seen)),
        ),
    )
}

fn straight() -> [Vec<Point>; 2] {
    [0.5, 1.5].map(|y| vec![[0.5, y], [2.5, y]])
}

fn play(harness: &mut Harness, strokes: &Strokes) -> Outcome {
    let emitted = harness.send(0, STROKES, strokes).unwrap();
    serde_json::from_value(emitted[0].body.clone()).unwrap()
}

fn simulated(config: Value) -> Harness {
    flowpipe_plugin::harness!(Simulated, config).unwrap()
}

#[test]
fn good_strokes_solve_the_board() {
    let mut harness = simulated(json!({}));
    let outcome = play(&mut harness, &strokes(straight()));
    assert_eq!(outcome.solved, Some(true));
    assert!(
        outcome
            .strokes
            .iter()
            .all(|stroke| stroke.accepted == Some(true))
    );
    assert_eq!(harness.marks(), ["action"]);
    assert_eq!(outcome.drawn.unwrap().len(), 2);
}

#[test]
fn a_stroke_that_misses_is_reported_with_its_flow() {
    let mut points = straight();
    points[1] = vec![[0.5, 1.5], [0.9, 1.5]];
    let outcome = play(&mut simulated(json!({})), &strokes(points));
    assert_eq!(outcome.solved, Some(false));
    assert_eq!(outcome.strokes[0].accepted, Some(true));
    assert_eq!(outcome.strokes[1].accepted, Some(false));
    assert!(
        outcome.strokes[1]
            .reason
            .as_ref()
            .unwrap()
            .starts_with("flow B has 0 cells")
    );
}

#[test]
fn a_game_that_only_knows_events_loses_jumps() {
    let outcome = play(
        &mut simulated(json!({ "input": "events" })),
        &strokes(straight()),
    );
    assert_eq!(outcome.solved, Some(false));
    let cells = [0.5, 1.5].map(|y| vec![[0.5, y], [1.5, y], [2.5, y]]);
    let outcome = play(
        &mut simulated(json!({ "input": "events" })),
        &strokes(cells),
    );
    assert_eq!(outcome.solved, Some(true));
}

#[test]
fn steps_between_are_events_of_their_own() {
    let mut stepped = strokes(straight());
    stepped.manner = Some(Profile::Turns.manner());
    let mut harness = simulated(json!({ "input": "events" }));
    let outcome = play(&mut harness, &stepped);
    assert_eq!(outcome.solved, Some(true));
    stepped.manner = Some(Profile::Turns.manner().with_hold(Hold::Clicks));
    stepped.profile = Some(Profile::Clicks);
    let outcome = play(&mut harness, &stepped);
    assert_eq!(outcome.solved, Some(true), "clicks draw as drags do");
    assert_eq!(outcome.profile, Some(Profile::Clicks));
    stepped.manner.as_mut().unwrap().pace.step = Some(1e-12);
    assert!(harness.send(0, STROKES, &stepped).is_err());
}

#[test]
fn a_held_stroke_goes_on_in_the_next_one() {
    let mut held = strokes(straight());
    let second = held.strokes[0].clone();
    held.strokes[0].points = vec![[0.5, 0.5], [1.5, 0.5]];
    held.strokes.insert(1, second);
    held.strokes[1].points = vec![[2.4, 0.5], [2.5, 0.5]];
    held.strokes[2].points = vec![[0.5, 1.5], [1.5, 1.5], [2.5, 1.5]];
    let solved = |held: &Strokes| {
        let mut harness = simulated(json!({ "input": "events" }));
        play(&mut harness, held).solved
    };
    // Let go beside its terminal, the pipe is joined; then the terminal is pressed and dragged nowhere,
    // which takes the pipe off the board.
    assert_eq!(solved(&held), Some(false));
    held.strokes[0].held = true;
    assert_eq!(solved(&held), Some(true));
    // The last one lets go all the same.
    held.strokes[2].held = true;
    assert_eq!(solved(&held), Some(true));
}

#[test]
fn drawn_pipes_stand_before_the_first_stroke() {
    let mut half = strokes(straight());
    let Reading::Board(board) = &mut half.sighting.reading else {
        unreachable!()
    };
    board.drawn = vec![half.solution.flows[0].clone()];
    half.strokes.remove(0);
    assert_eq!(play(&mut simulated(json!({})), &half).solved, Some(true));
}

#[test]
fn cancelled_it_presses_nothing() {
    let mut harness = simulated(json!({}));
    harness.cancel_when(|| true);
    assert!(harness.send(0, STROKES, &strokes(straight())).is_err());
    assert!(harness.marks().is_empty());
}

#[test]
fn a_wrong_margin_is_refused() {
    let error = flowpipe_plugin::harness!(Simulated, json!({ "margin": 0.5 }))
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "margin is 0.5, it must be 0 to 0.45");
}

#[test]
fn pictures_show_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("new").display().to_string();
    play(
        &mut simulated(json!({ "pictures": pictures })),
        &strokes(straight()),
    );
    let picture = image::open(folder.path().join("new/0001-b.png"))
        .unwrap()
        .to_rgb8();
    let red = picture
        .pixels()
        .filter(|pixel| pixel.0 == [255, 0, 0])
        .count();
    assert!(red > 1000, "{red} red pixels");
}

/// A picture is named after its source: a window's title, say.
#[test]
fn a_title_names_a_picture_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("new");
    let played = |source: &str| {
        let config = json!({ "pictures": pictures.display().to_string() });
        let mut strokes = strokes(straight());
        strokes.sighting.frame.source = source.to_owned();
        play(&mut simulated(config), &strokes);
        let entries = std::fs::read_dir(&pictures).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        std::fs::remove_dir_all(&pictures).unwrap();
        names
    };
    assert_eq!(played("b/a.png"), ["0001-a.png"]);
    assert_eq!(played(".."), ["0001-_.png"]);
    assert_eq!(played("a\u{1b}\n"), ["0001-a--.png"]);
    for long in ["n".repeat(300), "\u{1f600}".repeat(300)] {
        let names = played(&long);
        assert!(names.len() == 1 && names[0].len() > 50, "{names:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_picture_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let pictures = folder.path().join("new");
    let config = json!({ "pictures": pictures.display().to_string() });
    let mut harness = simulated(config);
    std::os::unix::fs::symlink("../precious", pictures.join("0001-b.png")).unwrap();
    let error = harness.send(0, STROKES, &strokes(straight()));
    let error = error.err().unwrap();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(std::fs::read(precious).unwrap(), b"precious");
}
