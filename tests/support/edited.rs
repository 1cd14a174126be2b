//! A recording with edits that no honest run makes.

#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use flowpipe_recording::entry::{About, Call, Change, DroppedLineages};
use flowpipe_recording::{Elements, Entry, Payload, Recording, Schemas, Topic, Writer};

/// What of a recording is edited.
pub struct Edited {
    /// Its description of the run.
    pub about: About,
    /// The calls, in the order in which they ended.
    pub calls: Vec<Call>,
    /// The changes of the pipeline.
    pub changes: Vec<Change>,
    /// Its entries of dropped lineages.
    pub dropped_lineages: Vec<DroppedLineages>,
    /// Messages that are left out; the others, and all pictures, stay as they are.
    pub left_out: HashSet<(Topic, u64)>,
    /// Stages whose buffers differ in a byte.
    pub buffers: HashSet<String>,
}

/// Writes an edited copy of a recording.
///
/// # Panics
/// When the recording can't be read, or the copy not be written.
pub fn edit(from: &Path, to: &Path, change: impl FnOnce(&mut Edited)) {
    let recording = Recording::open(from).expect("an honest recording");
    let mut edited = Edited {
        about: recording.about().clone(),
        calls: recording.calls().map(|call| (**call).clone()).collect(),
        changes: recording.changes().to_vec(),
        dropped_lineages: recording.dropped_lineages().to_vec(),
        left_out: HashSet::new(),
        buffers: HashSet::new(),
    };
    change(&mut edited);
    let file = BufWriter::new(File::create(to).expect("the folder is writable"));
    let mut writer = Writer::new(file, &edited.about, recording.pipeline(), Schemas::new())
        .expect("the folder is writable");
    for entry in recording.entries() {
        let Entry::Message(message) = entry else {
            continue;
        };
        let (topic, sequence) = (message.topic(), message.sequence());
        if edited.left_out.contains(&(topic.clone(), sequence)) {
            continue;
        }
        let times = (message.at_ns(), message.at_ns());
        let body = recording.body(message);
        let written = writer.message(topic, message.schema(), &body, sequence, times);
        written.expect("the folder is writable");
        let payload = recording.payload(topic, sequence, |payload| {
            let spoils = edited.buffers.contains(topic.stage.as_str());
            let mut bytes = payload.bytes().to_vec();
            let payload = match payload {
                Payload::Buffer(elements) if spoils => {
                    bytes[0] ^= 1;
                    let spoilt = Elements::new(elements.info(), &bytes);
                    Payload::Buffer(spoilt.expect("as many bytes"))
                }
                other => *other,
            };
            writer.payload(topic, sequence, &payload, times).map(|_| ())
        });
        if let Some(written) = payload.expect("honest pictures") {
            written.expect("the folder is writable");
        }
    }
    for call in &edited.calls {
        writer.call(call).expect("the folder is writable");
    }
    for dropped in &edited.dropped_lineages {
        let written = writer.dropped_lineages(dropped);
        written.expect("the folder is writable");
    }
    for change in &edited.changes {
        writer.change(change).expect("the folder is writable");
    }
    writer.finish().expect("the folder is writable");
}
