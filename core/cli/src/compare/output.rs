//! Which of the recorded messages feed a source of a pipeline.

use flowpipe_recording::{Entry, Recording, Topic};
use serde_json::Value;
use thiserror::Error;

/// The plugin that plays recorded messages.
pub const PLAYER: &str = "capture-recording";

/// Why no recorded output can feed a source.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OutputError {
    /// No stage of that name, and not exactly one source.
    #[error(
        "the recording has no stage of that name, and {}; its stages are {}",
        captured(sources),
        there.join(", ")
    )]
    Unknown {
        /// The recorded sources.
        sources: Vec<String>,
        /// All stages.
        there: Vec<String>,
    },
    /// A stage with several outputs.
    #[error("the recorded stage \"{stage}\" has several outputs: {}", outputs.join(", "))]
    Several {
        /// The stage.
        stage: String,
        /// Its outputs.
        outputs: Vec<String>,
    },
    /// An output without messages.
    #[error("the recording has no messages of {stage}.{port}")]
    Empty {
        /// The stage.
        stage: String,
        /// The output.
        port: String,
    },
}

fn captured(sources: &[String]) -> String {
    match sources {
        [] => "none captured".to_owned(),
        several => format!("several captured ({})", several.join(", ")),
    }
}

/// The output that feeds a source: the one in its config, if its plugin plays recordings; else of the recorded stage
/// of its name; else of the only recorded source.
///
/// # Errors
/// When it is ambiguous, or has no messages.
pub fn find(
    recording: &Recording,
    stage: &str,
    port: &str,
    plugin: &str,
    config: &Value,
) -> Result<Topic, OutputError> {
    let asked = config.get("stage").and_then(Value::as_str);
    let asked = asked.filter(|_| plugin == PLAYER).unwrap_or(stage);
    let stages = &recording.about().stages;
    let ports = |stage: &str| -> Vec<Topic> {
        let named = stages.iter().filter(|it| it.name == stage);
        let outputs = named.flat_map(|it| &it.outputs);
        outputs.map(|(port, _)| Topic::new(stage, port)).collect()
    };
    let named = ports(asked);
    let topic = if !named.is_empty() {
        the_one(named, port)?
    } else if let Some(topic) = whole_name(recording, asked) {
        topic
    } else {
        let sources = stages.iter().filter(|it| it.inputs.is_empty());
        let sources: Vec<&str> = sources.map(|it| it.name.as_str()).collect();
        match sources.as_slice() {
            [one] => the_one(ports(one), port)?,
            several => {
                return Err(OutputError::Unknown {
                    sources: several.iter().map(|&name| name.to_owned()).collect(),
                    there: stages.iter().map(|it| it.name.clone()).collect(),
                });
            }
        }
    };
    match schema(recording, &topic) {
        Some(_) => Ok(topic),
        None => Err(OutputError::Empty {
            stage: topic.stage.into(),
            port: topic.port.into(),
        }),
    }
}

/// The schema of an output's messages; `None`: it has none.
pub fn schema<'a>(recording: &'a Recording, output: &Topic) -> Option<&'a str> {
    recording.entries().iter().find_map(|entry| match entry {
        Entry::Message(message) if message.topic() == output => Some(&**message.schema()),
        _ => None,
    })
}

/// `stage.port`, as configs may name an output.
fn whole_name(recording: &Recording, name: &str) -> Option<Topic> {
    let stages = recording.about().stages.iter();
    let mut topics = stages.flat_map(|stage| {
        let outputs = stage.outputs.iter();
        outputs.map(|(port, _)| Topic::new(&stage.name, port))
    });
    topics.find(|topic| format!("{}.{}", topic.stage, topic.port) == name)
}

/// The only output, or of several the one with the name of the source's own.
fn the_one(mut outputs: Vec<Topic>, port: &str) -> Result<Topic, OutputError> {
    let index = match outputs.len() {
        1 => Some(0),
        _ => outputs.iter().position(|topic| topic.port == port),
    };
    match index {
        Some(index) => Ok(outputs.swap_remove(index)),
        None => Err(OutputError::Several {
            stage: outputs
                .first()
                .map_or_else(String::new, |it| (&it.stage).into()),
            outputs: outputs.into_iter().map(|it| it.port.into()).collect(),
        }),
    }
}
