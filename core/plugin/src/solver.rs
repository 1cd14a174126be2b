//! The solver role: answers puzzles.

use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{Effort, SIGHTING, SOLVED, Sighting, Solved, Verdict};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::role::{role_as_stage, role_items};
use crate::stage::{Input, Next, Stage};
pub use crate::supports::Supports;
pub use flowpipe_puzzle::message::Want;

/// Solves puzzles. It sees nothing of screens: the SDK carries the sighting along.
///
/// One input, [`Sighting`]s; one output, [`Solved`], with the sighting as it came. A sighting without a board is dropped. A board that still moves is
/// answered, so that it can be played as soon as it is at rest.
///
/// ```
/// use flowpipe_plugin::harness::samples;
/// use flowpipe_plugin::puzzle::message::{SIGHTING, Verdict};
/// use flowpipe_plugin::puzzle::{Flow, Puzzle, Solution, check};
/// use flowpipe_plugin::{Cancel, Host, NoConfig, Result, Solver};
/// use serde_json::json;
///
/// /// Tries one flow through all cells in their order.
/// struct InOrder;
///
/// impl Solver for InOrder {
///     const NAME: &'static str = "solver-in-order";
///     type Config = NoConfig;
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn solve(&mut self, puzzle: &Puzzle, _cancel: &Cancel<'_>) -> Result<Verdict> {
///         let flow = Flow::new(0, puzzle.board().cells().collect());
///         let solution = Solution::new(vec![flow]);
///         Ok(match check(puzzle, &solution) {
///             Ok(()) => Verdict::solution(solution, None),
///             Err(_) => Verdict::unknown("only one flow is tried"),
///         })
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(InOrder, json!({}))?;
/// let sighting = samples::sighting(samples::puzzle("A.A")?);
/// let emitted = harness.send(0, SIGHTING, &sighting)?;
/// let answer = &emitted[0].body["answer"];
/// assert_eq!(answer["verdict"], "solution");
/// assert_eq!(answer["solution"]["flows"][0]["cells"], json!([0, 1, 2]));
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Solver: Sized + Send + 'static {
    role_items!(
        "solver",
        true,
        "Whether the same puzzle always gets the same answer."
    );

    /// The kinds of puzzles that it accepts. All others are refused before they reach it.
    const SUPPORTS: Supports = Supports::EVERYTHING;

    /// Answers one puzzle. The host checks every solution against the rules.
    ///
    /// Polls `cancel` at least every 10 ms and returns soon after it is cancelled; the result does not matter then. In
    /// an inner loop, [`crate::Watch`] polls. Called on the stage's thread.
    ///
    /// # Errors
    /// When the solver itself fails. That there is no solution is an answer, not an error.
    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict>;

    /// The cost of the last answer. Called on the stage's thread, after each [`Self::solve`].
    fn effort(&mut self) -> Effort {
        Effort::default()
    }
}

/// The name of the mark that a solver's stage sets right before [`Solver::solve`].
#[doc(hidden)]
pub const SOLVING: &str = "solving";
/// The name of the mark that a solver's stage sets right after [`Solver::solve`]. Between the two is the
/// solver's own work, without reading and writing messages.
#[doc(hidden)]
pub const ANSWERED: &str = "answered";

/// A [`Solver`] as a [`Stage`].
#[doc(hidden)]
pub struct SolverStage<T>(T);

impl<T: Solver> Stage for SolverStage<T> {
    role_as_stage!(T as "solver", in: [SIGHTING], out: SOLVED, checked by: flowpipe_puzzle::message::CHECK);

    fn supports() -> Vec<String> {
        T::SUPPORTS.in_words()
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let sighting: Sighting = message.parse()?;
        let Some(board) = sighting.board() else {
            return Ok(Next::More);
        };
        context.mark(SOLVING);
        let answer = match T::SUPPORTS.refusal(&board.puzzle) {
            Some(reason) => Verdict::unsupported(reason),
            None => self.0.solve(&board.puzzle, &context.cancel())?,
        };
        context.mark(ANSWERED);
        let answer = match answer {
            Verdict::Solution { .. } => answer.canonical(),
            // After a cancellation any answer but a solution is meaningless.
            _ if context.cancel().is_cancelled() => return Err(Error::cancelled()),
            other => other,
        };
        let (effort, text) = (self.0.effort(), message.json());
        if is_compact(text) {
            let solved = Solved::new(T::NAME, answer, ()).with_effort(effort);
            context.emit_around(0, &solved, text)?;
        } else {
            let solved = Solved::new(T::NAME, answer, sighting).with_effort(effort);
            context.emit(0, &solved)?;
        }
        Ok(Next::More)
    }
}

/// Whether a message's text can be part of another one as it is. With blanks it may be of several lines, or not be
/// canonical.
fn is_compact(text: &[u8]) -> bool {
    !text.iter().any(|&byte| byte <= b' ')
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::harness::samples;
    use crate::host::Host;
    use crate::stage::NoConfig;

    struct GivesUp;

    impl Solver for GivesUp {
        const NAME: &'static str = "solver-gives-up";
        type Config = NoConfig;

        fn new(_: NoConfig, _: &Host) -> Result<Self> {
            Ok(Self)
        }

        fn solve(&mut self, _: &Puzzle, _: &Cancel<'_>) -> Result<Verdict> {
            Ok(Verdict::unknown("too hard"))
        }
    }

    #[test]
    fn an_answer_contains_the_sighting() {
        for source in ["test", "two words"] {
            let mut sighting = samples::sighting(samples::puzzle("A.A").unwrap());
            source.clone_into(&mut sighting.frame.source);
            let mut harness = crate::harness!(GivesUp, json!({})).unwrap();
            let emitted = harness.send(0, SIGHTING, &sighting).unwrap();
            let solved = Solved::new(GivesUp::NAME, Verdict::unknown("too hard"), sighting);
            assert_eq!(emitted[0].body, to_value(&solved).unwrap());
        }
    }

    #[test]
    fn a_text_with_blanks_is_not_compact() {
        assert!(is_compact(br#"{"a":"\n","b":[1]}"#));
        for text in ["{\"a\": 1}", "{\"a\":1\n}", "[\"a b\"]", "\t[]"] {
            assert!(!is_compact(text.as_bytes()), "{text}");
        }
    }
}
