//! `flowpipe messages FILE`: prints the messages of a recording.

use std::io::Write as _;

use flowpipe_recording::{Entry, Limits, RecordedMessage, Recording, WrittenLayout};
use flowpipe_terminal::plain_stdout;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::exit::{Ended, Failure};
use crate::{args, recording_file, signals};

/// One line.
#[derive(Serialize)]
struct MessageLine<'a> {
    stage: &'a str,
    port: &'a str,
    schema: &'a str,
    /// Its number at that output, from 1.
    sequence: u64,
    /// When it was emitted, in nanoseconds since the start of the run.
    at_ns: i64,
    body: Box<RawValue>,
    /// Of a buffer that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<BufferLine>,
}

/// What a message carries besides its body.
#[derive(Serialize)]
struct BufferLine {
    #[serde(flatten)]
    layout: WrittenLayout,
    /// In bytes.
    size: u64,
}

pub fn run(args: &args::Messages) -> Result<Ended, Failure> {
    signals::at_once();
    let limits = match args.no_limits {
        true => Limits::None,
        false => Limits::Strict,
    };
    let recording = recording_file::open(&args.file, limits)?;
    check_stages(&recording, &args.stage)?;
    let mut out = std::io::BufWriter::new(plain_stdout());
    for entry in recording.entries() {
        let Entry::Message(message) = entry else {
            continue;
        };
        if is_wanted(&args.stage, message.topic().stage.as_str())
            && is_wanted(&args.schema, message.schema())
        {
            let line = line(message, &recording).map_err(std::io::Error::from)?;
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(Ended::Done)
}

fn is_wanted(wanted: &[String], it: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == it)
}

/// A mistyped stage would print nothing. A schema may be one of no message.
fn check_stages(recording: &Recording, wanted: &[String]) -> Result<(), Failure> {
    let about = recording.about();
    let changes = recording.changes().iter();
    let added = changes.flat_map(|change| &change.stages);
    let known: Vec<&str> = about
        .stages
        .iter()
        .map(|stage| stage.name.as_str())
        .chain(added.map(|stage| stage.stage.name.as_str()))
        .collect();
    match wanted.iter().find(|it| !known.contains(&it.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(Failure::Usage(format!(
            "--stage: the recording has no stage \"{unknown}\"; it has {}",
            known.join(", ")
        ))),
    }
}

fn line(message: &RecordedMessage, recording: &Recording) -> serde_json::Result<String> {
    // Line breaks between the values of a body: within its strings they are escaped.
    let body = recording.body(message).replace(['\n', '\r'], " ");
    let body = match RawValue::from_string(body) {
        Ok(body) => body,
        Err(_) => serde_json::value::to_raw_value(&*recording.body(message))?,
    };
    let buffer = recording.buffer_info(message.topic(), message.sequence());
    serde_json::to_string(&MessageLine {
        stage: message.topic().stage.as_str(),
        port: message.topic().port.as_str(),
        schema: message.schema(),
        sequence: message.sequence(),
        at_ns: message.at_ns(),
        body,
        buffer: buffer.map(|info| BufferLine {
            layout: WrittenLayout::of(info),
            size: info.size,
        }),
    })
}
