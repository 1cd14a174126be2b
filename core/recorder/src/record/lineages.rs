//! The lineages that the recorder has dropped. A lineage is everything that descends from one message of a source.

use std::collections::HashMap;

use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::numbers::Numbers;
use flowpipe_recording::Topic;
use flowpipe_recording::entry::DroppedLineages;

/// The key of a message: its output and sequence number.
pub(crate) type MessageKey = (PortRef, u64);

/// The dropped messages and lineages.
#[derive(Debug, Default)]
pub(crate) struct Lineages {
    /// Messages that are not in the recording.
    messages: HashMap<PortRef, Numbers>,
    /// The first messages of lineages that are not recorded any more.
    cut: HashMap<PortRef, Numbers>,
    /// Dropped lineages that are not written to the recording yet.
    pending: Vec<DroppedLineages>,
    /// The number of dropped lineages, and of messages in them.
    pub counts: (u64, u64),
}

impl Lineages {
    /// Whether a message is not in the recording.
    pub(crate) fn has_dropped(&self, message: MessageKey) -> bool {
        contains(&self.messages, message)
    }

    /// Whether a lineage is not recorded any more.
    pub(crate) fn is_gone(&self, root: MessageKey) -> bool {
        contains(&self.messages, root) || contains(&self.cut, root)
    }

    /// Notes that a message is not recorded.
    pub(crate) fn drop_message(&mut self, message: MessageKey) {
        self.counts.1 += 1;
        let numbers = self.messages.entry(message.0).or_default();
        numbers.insert(message.1);
    }

    /// Notes that a lineage is not recorded from here on. `partly`: its beginning is recorded.
    pub(crate) fn drop_lineage(
        &mut self,
        root: MessageKey,
        topic: &Topic,
        partly: bool,
        at_ns: i64,
    ) {
        self.counts.0 += 1;
        self.cut.entry(root.0).or_default().insert(root.1);
        let number = root.1;
        let follows = |it: &&mut DroppedLineages| {
            let is_of = it.stage == topic.stage && it.port == topic.port && it.partly == partly;
            is_of && it.last + 1 == number
        };
        if let Some(known) = self.pending.iter_mut().rev().find(follows) {
            known.last = number;
            known.until_ns = at_ns;
            return;
        }
        self.pending.push(DroppedLineages {
            stage: topic.stage.clone(),
            port: topic.port.clone(),
            first: number,
            last: number,
            partly,
            at_ns,
            until_ns: at_ns,
        });
    }

    /// Returns the lineages dropped since the last call, to be written to the recording.
    pub(crate) fn take_pending(&mut self) -> Vec<DroppedLineages> {
        std::mem::take(&mut self.pending)
    }
}

fn contains(of: &HashMap<PortRef, Numbers>, message: MessageKey) -> bool {
    of.get(&message.0)
        .is_some_and(|numbers| numbers.contains(message.1))
}
