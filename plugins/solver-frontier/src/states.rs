//! What a state is, to the sweep.

use crate::border::Border;
use crate::plan::Step;
use crate::watch::Stop;

/// A kind of states: what has to be known of all that is swept, to go on. Each is a row of words; two ways
/// through what is swept that give the same words go on in the same ways.
pub trait States {
    /// How many words a state has. The one before the first step, and the one after the last, are all
    /// zeros.
    fn words(&self) -> usize;

    /// Gives every state that follows on one in a step, with the move that leads there (see
    /// [`Step`]), to `emit`. `border` is the frontier after the step.
    ///
    /// # Errors
    /// What `emit` fails with.
    fn successors(
        &mut self,
        step: &Step,
        border: &mut Border,
        state: &[u64],
        emit: &mut impl FnMut(&[u64], u8) -> Result<(), Stop>,
    ) -> Result<(), Stop>;
}
