use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::{Flow, Geometry, level};

fn frame() -> FrameNote {
    FrameNote::of("board.png")
        .with_origin([0.0, 12.5])
        .with_scale(2.0)
}

fn sighting() -> Sighting {
    let level = level::parse("2,0,1,2;0,1;2,3").unwrap();
    let board = SeenBoard {
        puzzle: level.puzzle,
        // Numbers that do not survive a careless reader of decimals.
        geometry: Geometry::axis_aligned(0.1 + 0.2, 1.0 / 3.0, 5.184_617_309_999_999e2, 1e-7, 2, 2),
        palette: vec![[255, 0, 0], [0, 141, 0]],
        drawn: vec![Flow {
            colour: 0,
            cells: vec![0, 1],
        }],
        state: BoardState::Partial,
        confidence: 0.987_654_321_012_345_6,
        numbers: false,
    };
    Sighting::new(frame(), Reading::Board(Box::new(board)))
}

fn solved() -> Solved {
    let solution = level::parse("2,0,1,2;0,1;2,3").unwrap().solution;
    Solved {
        solver: "solver".to_owned(),
        answer: Verdict::solution(solution, None),
        effort: Effort::default(),
        profile: None,
        stroke_end: None,
        draw: Draw::Only(vec![0]),
        sighting: sighting(),
    }
}

fn strokes() -> Strokes {
    let points = vec![[0.5, 0.5], [1.234_567_890_123_456_7, 0.5]];
    let stroke = Stroke::new(0, vec![0, 1], points);
    Strokes {
        planner: "planner".to_owned(),
        strokes: vec![stroke],
        profile: Some(Profile::Cells),
        manner: Some(Profile::Cells.manner()),
        solution: solved().solution().unwrap().clone(),
        sighting: sighting(),
    }
}

fn outcome() -> Outcome {
    Outcome {
        actuator: "actuator".to_owned(),
        frame: frame(),
        solved: Some(true),
        strokes: vec![StrokeOutcome {
            colour: 0,
            accepted: None,
            reason: Some("late".to_owned()),
        }],
        drawn: Some(vec![]),
        refused: None,
        profile: None,
        pace: None,
        act_ns: -1,
    }
}

fn game_rules() -> GameRules {
    GameRules::new("a game", crate::Rules::new(false, true))
}

/// The bytes of a value, after they have been seen to read back as the same value and the same bytes.
fn canonical<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&json).unwrap();
    assert_eq!(&back, value);
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    json
}

#[test]
fn messages_read_back_as_the_same_bytes() {
    let refused = Reading::Refused {
        step: "find board".to_owned(),
        reason: "no grid".to_owned(),
        confidence: 0.25,
        state: Some(BoardState::Moving),
    };
    let refused = Sighting {
        steps: vec![StepTime {
            step: "find board".to_owned(),
            ms: 1.0 / 3.0,
        }],
        ..Sighting::new(frame(), refused)
    };
    let verdicts = [
        Verdict::Unsolvable { reason: None },
        Verdict::Unsupported {
            reason: "hexes".to_owned(),
        },
        Verdict::Unknown {
            reason: "time".to_owned(),
        },
    ];
    let mut lines = vec![
        canonical(&frame()),
        canonical(&sighting()),
        canonical(&refused),
        canonical(&solved()),
        canonical(&strokes()),
        canonical(&outcome()),
        canonical(&game_rules()),
    ];
    lines.extend(verdicts.iter().map(canonical));
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("messages", lines.join("\n")));
}

#[test]
fn that_terminals_are_numbers_is_written_only_where_they_are() {
    let coloured = sighting();
    let board = coloured.board().unwrap().clone();
    assert!(!canonical(&coloured).contains("numbers"));
    let numbers = Reading::board(board.with_numbers(true));
    let json = canonical(&Sighting::new(frame(), numbers));
    assert!(json.contains(r#","numbers":true}"#), "{json}");
}

#[test]
fn what_vision_may_omit() {
    let json = r#"{"frame":{"source":"x"},"reading":{"status":"refused","step":"a","reason":"b"}}"#;
    let reading = Reading::Refused {
        step: "a".to_owned(),
        reason: "b".to_owned(),
        confidence: 0.0,
        state: None,
    };
    assert_eq!(
        serde_json::from_str::<Sighting>(json).unwrap(),
        Sighting::new(FrameNote::of("x"), reading)
    );
}

#[test]
fn every_number_reads_back_as_the_same_bits() {
    // A linear congruential generator: the same numbers in every run.
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 11) as f64 / (1_u64 << 53) as f64 * 4000.0 - 1000.0;
        let json = serde_json::to_string(&number).unwrap();
        assert_eq!(
            serde_json::from_str::<f64>(&json).unwrap().to_bits(),
            number.to_bits()
        );
    }
}

#[test]
fn missing_fields_and_wrong_values_are_refused() {
    let sighting = canonical(&sighting());
    let with = |from: &str, to: &str| {
        let changed = sighting.replacen(from, to, 1);
        assert_ne!(changed, sighting, "nothing to change: {from}");
        serde_json::from_str::<Sighting>(&changed)
            .unwrap_err()
            .to_string()
    };
    let refusals = [
        with(r#""frame":"#, r#""frames":"#),
        with(r#""status":"board""#, r#""status":"bored""#),
        with(r#""status":"board","#, ""),
        with(r#""confidence":"#, r#""certainty":"#),
        with(r#""state":"partial""#, r#""state":"half""#),
        with(r#""rows":2"#, r#""rows":0"#),
        with(r#"[255,0,0]"#, r#"[256,0,0]"#),
        with(r#""status":"board""#, r#""status":"refused","step":"x""#),
        serde_json::from_str::<Stroke>(r#"{"colour":0,"cells":[],"points":[[1.0,null]]}"#)
            .unwrap_err()
            .to_string(),
    ];
    crate::snapshot::settings()
        .bind(|| insta::assert_snapshot!("message_refusals", refusals.join("\n")));
}

#[test]
fn each_message_has_a_schema_that_allows_later_fields() {
    for (id, schema) in schemas() {
        assert!(id.starts_with("flowpipe.") && id.ends_with("/1"), "{id}");
        let schema = schema.as_value();
        assert_eq!(schema.get("additionalProperties"), None, "{id}");
        assert_eq!(schema["type"], "object", "{id}");
    }
}

/// Adds an unknown field to every object below a value, but to none of what is read strictly.
fn with_news(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            let strict = ["puzzle", "pace", "draw", "rules"];
            let lenient = fields
                .iter_mut()
                .filter(|(key, _)| !strict.contains(&key.as_str()));
            lenient.for_each(|(_, field)| with_news(field));
            fields.insert("of a later release".to_owned(), serde_json::json!([1, 2]));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(with_news),
        _ => {}
    }
}

fn reads_with_news<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let mut json = serde_json::to_value(value).unwrap();
    with_news(&mut json);
    assert_eq!(&serde_json::from_value::<T>(json).unwrap(), value);
}

#[test]
fn fields_of_later_releases_are_ignored() {
    reads_with_news(&sighting());
    let mut solved = solved();
    // Its figures have free names.
    solved.effort = Effort::default();
    reads_with_news(&solved);
    reads_with_news(&strokes());
    reads_with_news(&outcome());
    reads_with_news(&game_rules());
}

#[test]
fn a_puzzle_is_read_whole_or_not_at_all() {
    let mut json = serde_json::to_value(sighting()).unwrap();
    json["reading"]["puzzle"]["board"]["tunnels"] = serde_json::json!([[1, 2]]);
    let error = serde_json::from_value::<Sighting>(json).unwrap_err();
    assert!(
        error.to_string().contains("unknown field `tunnels`"),
        "{error}"
    );
}

#[test]
fn every_message_but_outcomes_concerns_boards() {
    for (schema, _) in schemas() {
        assert_eq!(concerns_boards(schema), schema != OUTCOME, "{schema}");
    }
    assert!(!concerns_boards(FRAME) && !concerns_boards("*"));
}
