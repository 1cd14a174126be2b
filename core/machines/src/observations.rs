//! What the machines of a run send each other of their stages, such as their reports.
//!
//! Each link has a channel for it. Its messages are not interpreted here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Receiver;
use flowpipe_link::link::Link;
use flowpipe_link::session::{MessageId, Refusal};

/// How many of them may wait. Each can be as long as a message of a link.
pub(crate) const CAPACITY: u64 = 4;
/// How often a thread that waits checks whether it has to go on.
const STEP: Duration = Duration::from_millis(50);

/// What another machine sends of its stages.
#[derive(Debug)]
pub enum Observed {
    /// Bytes that it has sent.
    Sent(Vec<u8>),
    /// It has sent everything.
    Ended,
    /// It is dead, or gone: the rest is missing.
    Lost,
}

/// Takes what another machine sends. The error is why it is refused.
pub(crate) type Observe = dyn FnMut(Observed) -> Result<(), String> + Send + Sync;

/// Sends another machine what is observed of the stages here, in order.
#[derive(Clone)]
pub struct ObservationSender {
    link: Arc<Link>,
    channel: u32,
    is_dead: Arc<AtomicBool>,
}

impl ObservationSender {
    pub(crate) fn new(link: &Arc<Link>, channel: u32, is_dead: &Arc<AtomicBool>) -> Self {
        Self {
            link: link.clone(),
            channel,
            is_dead: is_dead.clone(),
        }
    }

    /// Sends it once the other machine has room for it. Returns false if it takes no more, or if it is too long.
    pub fn send(&self, body: Vec<u8>) -> bool {
        let body = body.into();
        while !self.is_dead.load(Ordering::Relaxed) {
            match self.link.send(self.channel, &body, STEP) {
                Ok(_) => return true,
                Err(Refusal::NoCredit | Refusal::Full) => {}
                Err(Refusal::Ended | Refusal::TooLong) => return false,
            }
        }
        false
    }

    /// Sends it if the other machine has room for it now.
    pub fn try_send(&self, body: Vec<u8>) -> bool {
        let sent = self.link.send(self.channel, &body.into(), Duration::ZERO);
        sent.is_ok()
    }

    /// Sends nothing more.
    pub fn end(&self) {
        self.link.end(self.channel);
    }
}

/// Passes on what arrives. `has_ended`: whether the last one has arrived.
pub(crate) fn receive(
    link: &Link,
    arrivals: &Receiver<(MessageId, Vec<u8>)>,
    mut observe: Option<Box<Observe>>,
    has_ended: &AtomicBool,
    refuse: impl Fn(&str),
) {
    let mut pass = |observed| {
        if let Some(Err(reason)) = observe.as_mut().map(|observe| observe(observed)) {
            refuse(&reason);
        }
    };
    for (id, body) in arrivals {
        pass(Observed::Sent(body));
        link.take(id.channel);
        link.done(id);
    }
    pass(match has_ended.load(Ordering::Relaxed) {
        true => Observed::Ended,
        false => Observed::Lost,
    });
}
