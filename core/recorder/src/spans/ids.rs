//! The ids of traces and spans.
//!
//! The id of a trace comes from its first message. That of a span comes from the stage and the time at which its call took
//! a message, which are in the last hop of all that it emits: so a call knows the id of its parent from the message that it
//! took.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::record::lineages::MessageKey;

/// The trace of what descends from a message.
pub(super) fn trace(run: u128, root: MessageKey) -> u128 {
    match xxh3_128(&bytes(run, root, 0, 0, 0)) {
        // No id is 0.
        0 => 1,
        id => id,
    }
}

/// The span of a call. `which`: 0 for the one that emitted what other calls took; others of the same stage and time, whose
/// ids no message leads to, have other numbers.
pub(super) fn span(run: u128, root: MessageKey, stage: usize, taken_ns: i64, which: u64) -> u64 {
    let bytes = bytes(run, root, stage as u64 + 1, taken_ns as u64, which);
    match xxh3_64(&bytes) {
        0 => 1,
        id => id,
    }
}

fn bytes(
    run: u128,
    (port, sequence): MessageKey,
    stage: u64,
    taken_ns: u64,
    which: u64,
) -> Vec<u8> {
    let mut bytes = run.to_le_bytes().to_vec();
    let numbers = [
        port.stage as u64,
        port.port as u64,
        sequence,
        stage,
        taken_ns,
        which,
    ];
    bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
    bytes
}
