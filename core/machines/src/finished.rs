//! Which messages of other machines the stages here have finished.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::run::{Completion, Observer, Task};
use flowpipe_link::link::Link;
use flowpipe_link::session::MessageId;
use flowpipe_sync::lock;

/// An observer that reports finished messages to the machines that sent them. Every run with a bridge has it.
#[derive(Default)]
pub struct FinishedMessages {
    /// What the stages here have.
    held: Mutex<HashMap<Key, Held>>,
}

/// The input that receives the message, the output that emitted it, and its number there.
type Key = (PortRef, PortRef, u64);

struct Held {
    link: Arc<Link>,
    id: MessageId,
}

impl FinishedMessages {
    /// A message is passed on to a stage.
    pub(crate) fn hold(&self, key: Key, link: &Arc<Link>, id: MessageId) {
        let link = link.clone();
        lock(&self.held).insert(key, Held { link, id });
    }

    /// A message is finished, or was refused.
    pub(crate) fn finish(&self, key: Key) {
        let held = lock(&self.held).remove(&key);
        if let Some(held) = held {
            held.link.done(held.id);
        }
    }
}

impl Observer for FinishedMessages {
    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_finished(&self, task: &Task<'_>, _: &Completion<'_>) {
        if let Some((port, message)) = task.taken {
            let stage = task.stage;
            let input = PortRef { stage, port };
            self.finish((input, message.source(), message.lineage().sequence));
        }
    }
}
