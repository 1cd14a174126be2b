//! How many bytes an item takes in memory, for the bounds of the queue and of the flight recorder.

use flowpipe_host::message::Message;
use flowpipe_recording::entry::{Call, Emitted, Mark};

use crate::record::Item;

/// Estimated bytes of an item, without its texts, lists and pixels.
pub(crate) const ITEM: usize = 256;

/// Estimated bytes of what a text was read as, for each of its bytes. Sightings and answers of boards from 5x5 to 12x12 take
/// 4 to 19.
const READ_BYTES: usize = 20;

/// The estimated bytes of an item, without its pixels.
pub(crate) fn size_without_pixels(item: &Item) -> usize {
    ITEM + match item {
        Item::Message(_, message, _) => message_size(message),
        Item::Call(call) => call_size(call),
        Item::Problem(problem) => {
            problem.text.len() + problem.stage.len() + problem.plugin.len() + problem.kind.len()
        }
        Item::Change(change) => change.size(),
        Item::Dropped(_) | Item::DroppedLineages(_) => 0,
    }
}

fn message_size(message: &Message) -> usize {
    let hops = &message.lineage().hops;
    // Others are part of the message.
    let hops = match hops.spilled() {
        true => size_of_val(hops.as_slice()),
        false => 0,
    };
    let text = message.json().len();
    let read = match message.body.is_read() {
        true => READ_BYTES * text,
        false => 0,
    };
    text + read + message.schema().len() + hops
}

fn call_size(call: &Call) -> usize {
    // The names of stages and outputs are shared with the pipeline. A plugin chooses the names of its marks.
    let marks = call.marks.iter();
    let marks: usize = marks.map(|it| size_of::<Mark>() + it.name.len()).sum();
    let emitted = size_of::<Emitted>() * call.emitted.len();
    let failed = call.failed.as_ref().map_or(0, String::len);
    marks + emitted + size_of_val(&*call.clock) + call.waits.len() + failed
}
