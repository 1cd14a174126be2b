//! Malformed messages of plugins are judged without panic or hang, in bounded memory.

#[allow(clippy::disallowed_methods, reason = "it speaks past the test harness")]
#[path = "../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../../../tests/fuzz/spoil.rs"]
mod spoil;

use std::sync::OnceLock;

use bounds::{MIB, within};
use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::message::FrameNote;
use flowpipe_plugin::puzzle::message::{
    Reading, SeenBoard, Sighting, Solved, Stroke, StrokeOutcome, Strokes, Verdict,
};
use flowpipe_plugin::puzzle::{Puzzle, place, text};
use flowpipe_search::{Limits, Search};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "-",
    ".5",
    "[]",
    "{}",
    "0,",
    "1,",
    "\"cells\":",
    "\"rows\":",
    "\"holes\":[0],",
    "\"walls\":[[0,1]],",
    "\"lattice\":\"hex\",",
    "\"warps\":true,",
    "\"bridges\":[6],",
    "\"held\":true,",
    "\"others\":[],",
];

/// Valid messages, with their schemas.
fn good() -> &'static [(&'static str, Value)] {
    static GOOD: OnceLock<Vec<(&str, Value)>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let texts = [
            "A..A",
            "A.B\n...\nA.B",
            "AB.\n..B\nA..",
            "A...\n.BB.\n....\nA...",
            "AB\n..\nAB",
        ];
        let mut all = Vec::new();
        for text in texts {
            let (puzzle, _) = text::read(text).remove(0).puzzle.unwrap();
            all.extend(messages_of(&puzzle));
        }
        for schema in FlowFreeCheck::SCHEMAS {
            assert!(all.iter().any(|(other, _)| other == schema), "{schema}");
        }
        all
    })
}

/// The messages of a board: what is seen, its answer, strokes through the centres of all cells, and what became of them.
fn messages_of(puzzle: &Puzzle) -> Vec<(&'static str, Value)> {
    let seen = SeenBoard::untouched(puzzle.clone(), 40.0);
    let sighting = Sighting::new(FrameNote::of("test"), Reading::Board(Box::new(seen)));
    let mut all = vec![(SIGHTING, json!(sighting))];
    let found = Search::new().run(puzzle, &Limits::default(), &|| false);
    let Some(solution) = found.solutions.into_iter().next() else {
        return all;
    };
    let answer = Verdict::solution(solution.clone(), None).canonical();
    let solved = Solved::new("solver-test", answer, sighting.clone());
    let solution = solved.solution().unwrap().clone();
    all.push((SOLVED, json!(solved)));
    let centre = |&cell: &usize| place::centre(puzzle.board(), cell);
    let strokes: Vec<_> = solution
        .flows
        .iter()
        .map(|flow| {
            let points = flow.cells.iter().map(centre).collect();
            Stroke::new(flow.colour, flow.cells.clone(), points)
        })
        .collect();
    let accepted = strokes
        .iter()
        .map(|stroke| StrokeOutcome::new(stroke.colour, Some(true)));
    let outcome = Outcome::new("actuator-test", FrameNote::of("test"), accepted.collect());
    all.push((OUTCOME, json!(outcome)));
    all.push((
        STROKES,
        json!(Strokes::new("planner-test", strokes, solution, sighting)),
    ));
    all.push((RESULT, json!(BoardResult::new(1, puzzle.clone(), None))));
    all.push((GAME_RULES, json!(GameRules::new("test", puzzle.rules()))));
    all
}

#[test]
fn strokes_name_the_window_that_was_captured() {
    let (_, body) = good()
        .iter()
        .find(|(schema, _)| *schema == STROKES)
        .unwrap();
    let judge = |captured: &FrameNote| {
        let captured = json!(captured);
        harness()
            .judge_descendant(STROKES, &captured, body)
            .unwrap()
    };
    assert_eq!(judge(&FrameNote::of("test")), Judgement::Accept);
    assert_eq!(
        judge(&FrameNote::of("test").with_window(7)),
        Judgement::Refuse(
            "its frame is one of no window, and the frame that it descends from (test) shows window 7".to_owned()
        )
    );
}

fn harness() -> Harness {
    flowpipe_plugin::harness!(FlowFreeCheck, json!({})).unwrap()
}

/// Judges a body as a message of each schema, with and without a parent.
fn judge(body: &[u8], most: usize) -> Vec<Judgement> {
    let asked: Vec<_> = [SIGHTING, SOLVED]
        .iter()
        .filter_map(|schema| good().iter().find(|(other, _)| other == schema))
        .map(|(schema, body)| (*schema, body))
        .collect();
    let harness = harness();
    within(most, body, || {
        let judge = |schema: &&str| {
            for asked in &asked {
                let _ = harness.judge_text(schema, Some(*asked), body);
            }
            harness.judge_text(schema, None, body).unwrap()
        };
        FlowFreeCheck::SCHEMAS.iter().map(judge).collect()
    })
}

fn bodies() -> Vec<Vec<u8>> {
    good()
        .iter()
        .map(|(_, body)| body.to_string().into_bytes())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn modified_messages(body in spoil::spoiled(bodies(), WORDS)) {
        judge(&body, 150 * MIB + 500 * body.len());
    }

    #[test]
    fn messages_with_one_modified_value(
        which: prop::sample::Index, place: prop::sample::Index, value in prop::sample::select(values()),
    ) {
        let mut body = which.get(good()).1.clone();
        let mut places = Vec::new();
        pointers(&body, String::new(), &mut places);
        let place: &String = place.get(&places);
        if let Some(changed) = body.pointer_mut(place) {
            *changed = value;
        }
        let body = body.to_string();
        judge(body.as_bytes(), 150 * MIB + 500 * body.len());
    }
}

fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(-1),
        json!(0),
        json!(1),
        json!(u64::MAX),
        json!(1e300),
        json!(-1e300),
        json!(5e-324),
        json!(0.5),
        json!(131_072),
        json!([]),
        json!({}),
        json!([[]]),
        json!([0, 0]),
        json!(""),
        json!("9".repeat(1_000)),
        json!(vec![0; 1_000]),
        json!(vec![[0, 1]; 1_000]),
        json!(vec![[1e300, -1e300]; 100]),
    ]
}

/// The JSON Pointers of a value and of all in it.
fn pointers(value: &Value, place: String, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, field)| pointers(field, format!("{place}/{key}"), all)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| pointers(item, format!("{place}/{at}"), all)),
        _ => {}
    }
    all.push(place);
}

/// The valid sighting with another board.
fn with_board(board: &str) -> String {
    let (_, sighting) = &good()
        .iter()
        .find(|(schema, _)| *schema == SIGHTING)
        .unwrap();
    let text = sighting.to_string();
    let old = sighting.pointer("/reading/puzzle/board").unwrap();
    let changed = text.replace(&old.to_string(), board);
    assert_ne!(text, changed);
    changed
}

#[test]
fn valid_messages_are_accepted() {
    for (schema, body) in good() {
        let judged = judge(body.to_string().as_bytes(), 150 * MIB);
        assert!(judged.contains(&Judgement::Accept), "{schema}: {judged:?}");
    }
}

#[test]
fn boards_too_large_for_memory() {
    for (rows, cols) in [
        (4_000_000_000_u64, 4_000_000_000),
        (65_535, 65_535),
        (u64::MAX, u64::MAX),
        (u64::MAX, 2),
        (1, 1 << 60),
        (0, 5),
    ] {
        let body = with_board(&format!(r#"{{"rows":{rows},"cols":{cols}}}"#));
        let judged = judge(body.as_bytes(), 2 * MIB);
        assert!(
            judged.iter().all(|it| matches!(it, Judgement::Refuse(_))),
            "{judged:?}"
        );
    }
}

#[test]
fn lists_of_millions() {
    let walls = "[0,1],".repeat(1_000_000);
    let holes = "7,".repeat(1_000_000);
    for list in [
        format!(r#""walls":[{walls}[0,1]]"#),
        format!(r#""walls":[{walls}[0,99]]"#),
        format!(r#""holes":[{holes}7]"#),
        format!(r#""bridges":[{holes}999999]"#),
    ] {
        let body = with_board(&format!(r#"{{"rows":5,"cols":5,{list}}}"#));
        judge(body.as_bytes(), 150 * MIB + 50 * body.len());
    }
}

/// The answer to a board, and a change of it.
fn answer(change: impl Fn(&mut Value)) -> (Value, Value) {
    let of = |schema: &str| good().iter().find(|(other, _)| *other == schema);
    let (sighting, mut solved) = (
        of(SIGHTING).unwrap().1.clone(),
        of(SOLVED).unwrap().1.clone(),
    );
    change(&mut solved);
    (sighting, solved)
}

/// A stage whose input is another message has no sighting to compare with.
#[test]
fn a_sighting_within_another_message_is_judged_as_one() {
    let harness = harness();
    for schema in [SIGHTING, SOLVED, STROKES] {
        let of = |schema: &str| good().iter().find(|(other, _)| *other == schema);
        let body = &of(schema).unwrap().1;
        assert_eq!(
            harness.judge(schema, None, body).unwrap(),
            Judgement::Accept
        );
        for (pointer, value) in [
            ("/reading/confidence", json!(7.5)),
            ("/reading/geometry/rows", json!(90)),
            ("/frame/scale", json!(0)),
            ("/frame/origin", json!([1e308, 0])),
        ] {
            let mut body = body.clone();
            let front = if schema == SIGHTING { "" } else { "/sighting" };
            *body.pointer_mut(&format!("{front}{pointer}")).unwrap() = value;
            let judged = harness.judge(schema, None, &body).unwrap();
            assert!(
                matches!(judged, Judgement::Refuse(_)),
                "{schema} {pointer}: {judged:?}"
            );
        }
    }
}

#[test]
fn counts_and_times_have_limits() {
    let harness = harness();
    let of = |schema: &str| good().iter().find(|(other, _)| *other == schema);
    let mut outcome = of(OUTCOME).unwrap().1.clone();
    outcome["act_ns"] = json!(i64::MIN);
    let mut result = of(RESULT).unwrap().1.clone();
    result["strokes"] = json!(u64::MAX);
    for (schema, body) in [(OUTCOME, outcome), (RESULT, result)] {
        let judged = harness.judge(schema, None, &body).unwrap();
        assert!(
            matches!(judged, Judgement::Refuse(_)),
            "{schema}: {judged:?}"
        );
    }
}

#[test]
fn an_answer_belongs_to_the_sighting_that_was_asked() {
    belongs_to_the_sighting(&harness());
    // Also where the sighting need not be read again.
    let harness = harness();
    let (sighting, _) = answer(|_| ());
    let judged = harness.judge(SIGHTING, None, &sighting).unwrap();
    assert_eq!(judged, Judgement::Accept);
    belongs_to_the_sighting(&harness);
}

fn belongs_to_the_sighting(harness: &Harness) {
    let judge = |(asked, answer): (Value, Value)| {
        harness
            .judge(SOLVED, Some((SIGHTING, &asked)), &answer)
            .unwrap()
    };
    assert_eq!(judge(answer(|_| ())), Judgement::Accept);
    for (field, value) in [
        ("profile", json!(5)),
        ("effort", json!(5)),
        ("solver", json!(5)),
    ] {
        let Judgement::Refuse(why) = judge(answer(|it| it[field] = value.clone())) else {
            panic!("{field} is none")
        };
        assert!(why.starts_with("not a flowpipe.solved/1: "), "{why}");
    }
    let elsewhere = answer(|it| it["sighting"]["frame"]["source"] = json!("elsewhere"));
    assert_eq!(
        judge(elsewhere),
        Judgement::Refuse("it answers another sighting than it received".to_owned())
    );
    // A frame that shows no board that can be read is answered for the board that was read before.
    let (mut unread, solved) = answer(|_| ());
    unread["reading"] = json!({"status": "refused", "step": "cells", "reason": "covered"});
    assert_eq!(judge((unread.clone(), solved.clone())), Judgement::Accept);
    unread["frame"]["source"] = json!("elsewhere");
    assert_eq!(
        judge((unread, solved)),
        Judgement::Refuse("it answers another sighting than it received".to_owned())
    );
    // The same sighting, written in another way.
    let (asked, mut spaced) = answer(|_| ());
    spaced["sighting"]["later"] = json!(true);
    assert_eq!(judge((asked, spaced)), Judgement::Accept);
    let shorter = answer(|it| {
        it["answer"]["solution"]["flows"][0]["cells"]
            .as_array_mut()
            .unwrap()
            .truncate(1);
    });
    let Judgement::Refuse(why) = judge(shorter) else {
        panic!("it is wrong")
    };
    assert!(why.starts_with("a wrong solution: "), "{why}");
}
