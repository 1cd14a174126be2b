//! Malformed messages: accepted or refused, but without a panic, crash or hang. The next valid one is answered as
//! before.

use std::time::{Duration, Instant};

use flowpipe_abi as abi;
use flowpipe_config::manifest::Port;
use flowpipe_engine::trial::{CallEnd, Trial};
use flowpipe_generate::Random;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_process::ending;
use flowpipe_terminal::{counted, was};
use serde_json::{Map, Value, json};

use crate::plugin_check::checks::repeatable::first_difference;
use crate::plugin_check::checks::{call, cancel};
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples;
use crate::plugin_check::subject::Subject;

/// How many messages of a schema are modified in one place.
pub const SPOILED: usize = 300;
/// The time limit.
const ENOUGH: Duration = Duration::from_secs(60);

pub fn check(subject: &Subject, report: &Reporter) {
    if subject.takes().is_none() {
        return report.skip("it receives no messages");
    }
    let boards = samples::boards();
    report.doing("creating it");
    let mut trial = match subject.create() {
        Ok(trial) => trial,
        Err(error) => return report.fail(error.to_string()),
    };
    let began = Instant::now();
    let mut random = Random::new(11);
    let (mut sent, mut left_out) = (0, 0_usize);
    for (port, input) in subject.manifest().inputs.iter().enumerate() {
        let good = samples::messages(&boards, input).into_iter().next();
        let good = good.map(|(_, message)| message);
        let bodies = bodies(good.as_ref().map(|it| &it.body), SPOILED, &mut random);
        let schema = good
            .as_ref()
            .map_or(input.schema.as_str(), |it| it.schema.as_str());
        report.doing("answering a valid message");
        // The valid message of another input may have left state too.
        let is_comparable = subject.manifest().deterministic && trial.reset().is_ok();
        let expected = good
            .as_ref()
            .map(|good| call::message(subject, &mut trial, port, good));
        for body in bodies {
            if began.elapsed() > ENOUGH {
                left_out += 1;
                continue;
            }
            let text = body.to_string();
            let shown = shown(&text);
            report.doing(format!("processing {shown}"));
            let frame = frame(sent, input, &trial);
            let (tried, late) = cancel::within(subject.timeout, &mut trial, |trial| {
                trial.message(port, schema, text.as_bytes(), frame)
            });
            sent += 1;
            match tried.map(|tried| tried.end) {
                Ok(CallEnd::Panicked(why)) => {
                    return report.fail(format!("{why}, at the message {shown}"));
                }
                Ok(CallEnd::Failed(_, why)) if ending::is_reported_by(&why) => {
                    return report.fail(format!("it died: {why}, at the message {shown}"));
                }
                _ if late => {
                    return report.fail(format!("it did not return from the message {shown}"));
                }
                _ => {}
            }
        }
        report.doing("answering a valid message after malformed ones");
        // It may have kept state; a deterministic stage loses it by a reset.
        if is_comparable && trial.reset().is_ok() {
            let after = good
                .as_ref()
                .map(|good| call::message(subject, &mut trial, port, good));
            if first_difference(expected.as_slice(), after.as_slice()).is_some() {
                return report.fail(
                    "after malformed messages it answers a valid message differently than before",
                );
            }
        }
    }
    report.doing("destroying it");
    trial.end();
    let sent = counted(sent, "message");
    report.pass(match left_out {
        0 => sent,
        _ => {
            let (others, were) = (counted(left_out, "other"), was(left_out));
            format!("{sent}; it is slow: {others} {were} skipped")
        }
    });
}

/// The start of a text.
pub fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Bodies that are valid JSON, but fit no schema, and changes of a valid one, if there is one.
pub fn bodies(good: Option<&Value>, changes: usize, random: &mut Random) -> Vec<Value> {
    let mut bodies = wild();
    if let Some(good) = good {
        bodies.extend((0..changes).map(|_| spoiled(good, random)));
    }
    bodies
}

/// Bodies that fit no schema.
fn wild() -> Vec<Value> {
    let deep = (0..100).fold(json!(0), |inner, _| json!([inner]));
    vec![
        json!({}),
        json!(null),
        json!(true),
        json!(0),
        json!(-1e308),
        json!(u64::MAX),
        json!("text"),
        json!("\u{0}\u{fffd}"),
        json!([]),
        deep,
        json!({ "": { "": {} } }),
        json!("x".repeat(1 << 20)),
        json!(vec![0; 1 << 16]),
    ]
}

/// A valid body with one change.
fn spoiled(good: &Value, random: &mut Random) -> Value {
    let mut body = good.clone();
    let mut places = Vec::new();
    pointers(good, String::new(), &mut places);
    let place = random.pick(&places).and_then(|it| body.pointer_mut(it));
    let Some(place) = place else { return body };
    *place = match (random.below(12), &*place) {
        (0, _) => json!(null),
        (1, _) => json!(-1),
        (2, _) => json!(u64::MAX),
        (3, _) => json!(1e300),
        (4, _) => json!(0.5),
        (5, _) => json!(""),
        (6, _) => json!([]),
        (7, _) => json!({}),
        (8, Value::Array(items)) => items.iter().chain(items).cloned().collect(),
        (9, Value::Array(items)) => items.iter().skip(1).cloned().collect(),
        (10, Value::Object(fields)) => {
            let left: Map<String, Value> = fields.clone().into_iter().skip(1).collect();
            Value::Object(left)
        }
        (_, Value::Number(number)) => json!(number.as_i64().unwrap_or(7) + 1),
        (_, other) => json!([other]),
    };
    body
}

/// The JSON Pointers of a value and of all in it.
fn pointers(value: &Value, place: String, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(field, format!("{place}/{key}"), all);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointers(item, format!("{place}/{at}"), all);
            }
        }
        _ => {}
    }
    all.push(place);
}

/// No picture, one that is not a screenshot, or a buffer that the input takes.
fn frame(number: usize, input: &Port, trial: &Trial) -> Option<Frame> {
    let (format, width, height, stride) = match number % 6 {
        0 => return None,
        5 => return samples::buffer(trial, &input.carries.example()?),
        1 => (abi::FORMAT_GREY8, 1, 1, 0),
        2 => (abi::FORMAT_RGB8, 3, 200, 16),
        3 => (abi::FORMAT_BGRA8, 700, 2, 0),
        _ => (abi::FORMAT_RGBA8, 64, 64, 0),
    };
    let shape = Shape::new(&abi::FrameInfo {
        struct_size: 0,
        format,
        width,
        height,
        stride,
        size: 0,
    })?;
    trial.frame(shape, |pixels| {
        for (at, pixel) in pixels.iter_mut().enumerate() {
            *pixel = (at * 37 + number) as u8;
        }
    })
}
