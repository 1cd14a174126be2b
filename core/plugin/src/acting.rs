//! The context of a stage that acts: with a mouse, on a device, in a simulation.

use crate::context::{Context, Message};
use crate::error::Result;
use crate::host::Host;

/// The context of an actuator while it acts on one message.
pub struct Acting<'a, 'c> {
    context: &'a mut Context<'c>,
    first_action_ns: Option<i64>,
    captured_ns: i64,
}

impl<'a, 'c> Acting<'a, 'c> {
    /// The context for a message.
    pub fn new(context: &'a mut Context<'c>, message: &Message<'_>) -> Self {
        Self {
            context,
            first_action_ns: None,
            captured_ns: message.captured_ns(),
        }
    }

    /// Reports that a button or a key goes down now. The first call counts as the frame's first action.
    pub fn pressed(&mut self) {
        if self.first_action_ns.is_none() {
            self.first_action_ns = Some(self.context.host().now_ns());
            self.context.mark("action");
        }
    }

    /// Nanoseconds from the first action until now; 0 without an action.
    #[must_use]
    pub fn act_ns(&self) -> i64 {
        // Times of a replay are those of its recording, whatever they are.
        self.first_action_ns
            .map_or(0, |first| self.host().now_ns().saturating_sub(first))
    }

    /// When the frame was captured that the message descends from, by [`Host::now_ns`]; 0: it descends from no frame.
    #[must_use]
    pub fn captured_ns(&self) -> i64 {
        self.captured_ns
    }

    /// Waits; see [`Context::wait_until`].
    ///
    /// # Errors
    /// [`crate::Error::cancelled`] when the work is cancelled.
    pub fn wait_until(&mut self, deadline_ns: i64) -> Result<()> {
        self.context.wait_until(deadline_ns)
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> Host {
        self.context.host()
    }
}
