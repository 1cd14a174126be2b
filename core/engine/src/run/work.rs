//! The work of one call.

use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_host::message::{Descent, Message};
use flowpipe_host::problem::MessageId;
use flowpipe_recording::entry::Event;
use flowpipe_sync::tickets::Ticket;

use crate::edge::Item;
use crate::edge::held_receipt::HeldReceipt;
use crate::run::stage::Stage;

/// The work of one call.
#[derive(Clone)]
pub(crate) struct Work {
    pub event: abi::Event,
    /// The message and its input port.
    pub message: Option<(usize, Arc<Message>)>,
    /// What its answers keep.
    pub receipt: HeldReceipt,
    /// The frame that the work descends from.
    pub descent: Descent,
    /// When it was taken from the queue.
    pub taken_ns: i64,
    /// Its place in the order, if the stage has several workers.
    pub ticket: Option<Ticket>,
}

impl Work {
    pub(crate) fn message(port: usize, item: Item, now: i64) -> Self {
        let Item { message, receipt } = item;
        let descent = message.lineage.descent();
        Self {
            event: abi::EVENT_MESSAGE,
            message: Some((port, message)),
            receipt: HeldReceipt::new(receipt),
            descent,
            taken_ns: now,
            ticket: None,
        }
    }

    /// A call without a message.
    pub(crate) fn event(event: abi::Event, descent: Descent, now: i64) -> Self {
        Self {
            event,
            message: None,
            receipt: HeldReceipt::default(),
            descent,
            taken_ns: now,
            ticket: None,
        }
    }

    /// The kind of the call.
    pub(crate) fn kind(&self) -> Event {
        match self.event {
            abi::EVENT_MESSAGE => Event::Message,
            abi::EVENT_FINISH => Event::Finish,
            _ => Event::Tick,
        }
    }

    /// The id of the message being processed.
    pub(crate) fn message_id(&self, stage: &Stage) -> Option<MessageId> {
        self.message.as_ref().map(|(port, message)| {
            let frame = message.lineage.origin.map_or(0, |origin| origin.sequence);
            stage.message_id(*port, message.lineage.sequence, frame)
        })
    }
}
