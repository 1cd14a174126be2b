//! Validators of messages. The program passes them in: the runtime itself does not know what messages mean.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_host::message::Message;

/// The result of validating a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is accepted.
    Accept,
    /// It is valid, but a weak answer ("no solution", "unsupported"): in a race it counts only when no contestant
    /// gives a better one. The reason, as a sentence.
    Weak(String),
    /// It is wrong and is not sent. The reason, as a sentence.
    Refuse(String),
}

/// Validates the messages of one schema.
pub trait Validator: Send + Sync {
    /// Judges a message that a stage is about to emit. `parent` is the message that the stage is processing, if any.
    /// Called on the stage's thread, so it should be quick.
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement;
}

/// The validators of a run, by schema id.
pub type Validators = HashMap<String, Arc<dyn Validator>>;
