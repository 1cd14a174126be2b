//! Malformed messages of plugins are judged without panic or hang, in bounded memory.

#[allow(clippy::disallowed_methods, reason = "it speaks past the test harness")]
#[path = "../../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../../../../tests/fuzz/spoil.rs"]
mod spoil;

use std::sync::OnceLock;

use bounds::{MIB, within};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plugin_check::samples;

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;

const SCHEMAS: [&str; 6] = [FRAME, SIGHTING, SOLVED, STROKES, OUTCOME, RESULT];

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
        let boards = samples::boards();
        let first = boards.iter().take(7);
        let of = |schema: &'static str| {
            let found = first.clone().filter_map(move |it| it.message(schema));
            found.map(move |it| (schema, it.body))
        };
        SCHEMAS.into_iter().flat_map(of).collect()
    })
}

/// Judges a body as a message of each schema, with and without a parent.
fn judge(body: &[u8], most: usize) -> Vec<Judgement> {
    let asked: Vec<_> = [SIGHTING, SOLVED]
        .iter()
        .filter_map(|schema| good().iter().find(|(other, _)| other == schema))
        .filter_map(|(schema, body)| Message::detached(schema, body.to_string().as_bytes()).ok())
        .collect();
    let checks = validators();
    within(most, body, || {
        let judge = |schema: &&str| {
            let message = Message::detached(schema, body).ok()?;
            for asked in &asked {
                let _ = checks[*schema].judge(Some(asked), &message);
            }
            Some(checks[*schema].judge(None, &message))
        };
        SCHEMAS.iter().filter_map(judge).collect()
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
        // A frame without pixels is refused.
        if *schema != FRAME {
            let judged = judge(body.to_string().as_bytes(), 150 * MIB);
            assert!(judged.contains(&Judgement::Accept), "{schema}: {judged:?}");
        }
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
