//! Clauses in the making, with truths that are known beforehand left out.

use std::ops::Not;

use crate::formula::Formula;
use crate::literal::Literal;

/// A truth value: known, or left to the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is so, or it is not.
    Known(bool),
    /// True when the literal is.
    Open(Literal),
}

impl Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Known(value) => Self::Known(!value),
            Self::Open(literal) => Self::Open(!literal),
        }
    }
}

/// A formula in the making.
#[derive(Default)]
pub struct Clauses {
    formula: Formula,
    literals: Vec<Literal>,
}

impl Clauses {
    /// A new unknown.
    pub fn unknown(&mut self) -> Truth {
        Truth::Open(self.formula.variable(None))
    }

    /// A new unknown as a positive literal, which is likelier to have the value `phase`.
    pub fn literal(&mut self, phase: Option<bool>) -> Literal {
        self.formula.variable(phase)
    }

    /// At least one of them is true.
    pub fn any(&mut self, of: &[Truth]) {
        self.literals.clear();
        for truth in of {
            match truth {
                Truth::Known(true) => return,
                Truth::Known(false) => {}
                Truth::Open(literal) => self.literals.push(*literal),
            }
        }
        self.formula.add(self.literals.iter().copied());
    }

    /// At least one of them is false.
    pub fn not_all(&mut self, of: &[Truth]) {
        let negated: Vec<Truth> = of.iter().map(|&truth| !truth).collect();
        self.any(&negated);
    }

    /// Where `given`, `then` too.
    pub fn implies(&mut self, given: Truth, then: Truth) {
        self.any(&[!given, then]);
    }

    /// The formula.
    pub fn finish(self) -> Formula {
        self.formula
    }
}
