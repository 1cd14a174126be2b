//! What evolution is made of: creation, crossover and mutation.

mod better;
mod published;

use fastrand::Rng;

use crate::cancelled::Cancelled;
use crate::individual::{Genes, Individual};
pub use better::Better;
pub use published::Published;

/// A way to make individuals.
pub trait OperatorSet {
    /// An individual out of nothing.
    ///
    /// # Errors
    /// [`Cancelled`].
    fn create(&mut self, rng: &mut Rng) -> Result<Genes, Cancelled>;

    /// A child of two parents.
    fn cross(&mut self, mother: &Individual, father: &Individual, rng: &mut Rng) -> Genes;

    /// A changed individual.
    ///
    /// # Errors
    /// [`Cancelled`].
    fn mutate(&mut self, individual: &Individual, rng: &mut Rng) -> Result<Genes, Cancelled>;
}

#[cfg(test)]
mod tests;
