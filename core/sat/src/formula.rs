//! Clauses, written down once and handed to a solver.

use crate::literal::Literal;

/// A conjunction of clauses over numbered variables.
#[derive(Clone, Debug, Default)]
pub struct Formula {
    /// For each variable the value to try first, where one is likelier.
    phases: Vec<Option<bool>>,
    literals: Vec<Literal>,
    /// Where each clause ends in `literals`.
    ends: Vec<usize>,
}

impl Formula {
    /// A new variable as a positive literal, with the value to try first, where one is likelier.
    pub fn variable(&mut self, phase: Option<bool>) -> Literal {
        #[expect(clippy::cast_possible_truncation, reason = "memory ends earlier")]
        let literal = Literal::new(self.phases.len() as u32, true);
        self.phases.push(phase);
        literal
    }

    /// One more clause: at least one of these is true.
    pub fn add(&mut self, clause: impl IntoIterator<Item = Literal>) {
        self.literals.extend(clause);
        self.ends.push(self.literals.len());
    }

    /// The value to try first, by variable.
    #[must_use]
    pub fn phases(&self) -> &[Option<bool>] {
        &self.phases
    }

    /// How many clauses there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The clauses, as they were added.
    pub fn clauses(&self) -> impl Iterator<Item = &[Literal]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, &end)| &self.literals[begin..end])
    }
}
