//! Checks of what plugins say, handed in by the program: the runtime itself knows no puzzle.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_host::message::Message;

/// What a check makes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It stands.
    Accept,
    /// It may stand, but says little ("no solution", "unsupported"): in a race it counts only when
    /// nobody answers better. Why, in a sentence.
    Weak(String),
    /// It is wrong and moves on to nobody. Why, in a sentence.
    Refuse(String),
}

/// Checks the messages of one schema.
pub trait Validator: Send + Sync {
    /// Judges a message that a stage is about to emit. `parent` is the message that the stage has in
    /// hand, if any. Called on the stage's thread, so it should be quick.
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement;
}

/// The checks of a run, by schema id.
pub type Validators = HashMap<String, Arc<dyn Validator>>;
