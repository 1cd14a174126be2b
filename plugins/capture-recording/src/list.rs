//! Which messages of a recording are meant.

use flowpipe_plugin::{Error, Result};
use flowpipe_recording::{Entry, Recording, Topic};

/// The output that `stage` names, or that of the stage that captured.
///
/// # Errors
/// When the recording has no such output, or several might be meant.
pub fn output(recording: &Recording, stage: Option<&str>) -> Result<Topic> {
    let stages = &recording.about().stages;
    let all = stages.iter().flat_map(|stage| {
        let outputs = stage.outputs.iter();
        outputs.map(move |(port, _)| (Topic::new(&stage.name, port), stage.role.as_str()))
    });
    let meant: Vec<Topic> = match stage {
        Some(named) => all
            .filter(|(topic, _)| {
                topic.stage == named || format!("{}.{}", topic.stage, topic.port) == named
            })
            .map(|(topic, _)| topic)
            .collect(),
        None => all
            .filter(|(_, role)| *role == "capture")
            .map(|(topic, _)| topic)
            .collect(),
    };
    let word = |topic: &Topic| format!("\"{}.{}\"", topic.stage, topic.port);
    match (meant.as_slice(), stage) {
        ([one], _) => Ok(one.clone()),
        ([], Some(named)) => {
            let there: Vec<_> = stages.iter().map(|stage| stage.name.as_str()).collect();
            Err(Error::bad_config(format!(
                "stage: the recording has no output of \"{named}\"; its stages are {}",
                there.join(", ")
            )))
        }
        ([], None) => Err(Error::bad_config(
            "stage: nothing captured in the recording: name the stage whose messages are meant",
        )),
        (several, _) => {
            let several: Vec<_> = several.iter().map(word).collect();
            Err(Error::bad_config(format!(
                "stage: name the output that is meant: {}",
                several.join(" or ")
            )))
        }
    }
}

/// The numbers of its messages, each with when it was emitted, by the clock of that run.
pub fn messages(recording: &Recording, output: &Topic) -> Vec<(u64, i64)> {
    let entries = recording.entries().iter();
    let mut messages: Vec<_> = entries
        .filter_map(|entry| match entry {
            Entry::Message(message) if message.topic() == output => {
                Some((message.sequence(), message.at_ns()))
            }
            _ => None,
        })
        .collect();
    messages.sort_unstable();
    messages
}
