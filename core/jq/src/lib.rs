//! Expressions of jq, by jaq, with limits: an expression, or a message, may be hostile.
//!
//! # Layout
//! - [`expression`]: an expression, compiled and run. [`error`]: why that fails.
//! - [`guard`]: counts in an expression, so that it can be ended. [`budget`]: what they count, and the limits.
//!   [`operations`]: those that count before they make something large. [`copies`]: those that count what is copied.
//!   [`comparisons`]: those that count what is compared. [`paths`]: paths, each step of which may copy.
//!   [`caught`]: errors as values. [`searches`]: those of regular expressions.
//! - [`functions`]: the functions that an expression can call. [`value`]: values from and to JSON.

mod budget;
mod caught;
mod comparisons;
mod copies;
mod error;
mod expression;
mod functions;
mod guard;
mod operations;
mod paths;
mod searches;
mod value;

#[cfg(test)]
mod tests;

pub use error::{CompileError, Limit, RunError};
pub use expression::{Expression, Outputs};

/// Whether the work on a message is cancelled. It is called from any thread.
pub type Cancelled<'a> = &'a (dyn Fn() -> bool + Sync);
