//! Referee stage: has each board solved once and played once.
//!
//! It needs no clock and no answer from the game, so that it does the same whenever it sees the same:
//! a referee for recordings.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{
    BoardResult, BoardState, CHECK, GAME_RULES, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED,
    Sighting, Solved,
};
use flowpipe_plugin::{
    Context, Effect, Host, Input, JsonSchema, Message, Next, Port, Result, Stage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Inputs, in the order of the manifest.
const SIGHTINGS: usize = 0;
const ANSWERS: usize = 1;
/// Outputs, in the order of the manifest.
const ASK: usize = 0;
const PLAY: usize = 1;
const RESULTS: usize = 2;

/// Has each board solved once, when it is first seen at rest, and played once, when it is solved. It looks
/// neither at the clock nor at what the game makes of the strokes, so that it fits recordings: the
/// boards of one are all played, however fast it is gone through.
///
/// It takes the place of referee-repair: vision feeds `sighting`, the solver `solved`, and the actuator,
/// where there is one, `outcome`; `ask` feeds the solver, `play` the planner. It emits nothing at `rules`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Once {
    /// In the order in which they were first seen.
    asked: Vec<Puzzle>,
    /// What is with the planner or the actuator, by the number of the frame.
    played: HashMap<u64, Puzzle>,
    #[serde(alias = "told")]
    reported: usize,
}

impl Stage for Once {
    const NAME: &'static str = "referee-once";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    const STATE: &'static str = "referee-once/1";
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![
            Port::new("sighting", SIGHTING),
            Port::new("solved", SOLVED),
            Port::new("outcome", OUTCOME),
        ]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("ask", SIGHTING).checked_by(CHECK),
            Port::new("play", SOLVED).checked_by(CHECK),
            Port::new("results", RESULT).checked_by(CHECK),
            // That it takes the place of referee-repair: nothing is known of a game.
            Port::new("rules", GAME_RULES).checked_by(CHECK),
        ]
    }

    fn new(_: Config, _: &Host) -> Result<Self> {
        Ok(Self::default())
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        match message.port() {
            SIGHTINGS => self.look(&message.parse()?, context)?,
            ANSWERS => self.answer(message.parse()?, message.frame_sequence(), context)?,
            _ => self.outcome(message.parse()?, &message, context)?,
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        *self = Self::default();
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(&*self)?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        *self = serde_json::from_value(state)?;
        Ok(true)
    }
}

impl Once {
    fn look(&mut self, sighting: &Sighting, context: &mut Context<'_>) -> Result<()> {
        let at_rest = |state| state != BoardState::Moving;
        let Some(seen) = sighting.board().filter(|seen| at_rest(seen.state)) else {
            return Ok(());
        };
        // Most often it is the one that was seen last.
        if self.asked.iter().rev().any(|asked| *asked == seen.puzzle) {
            return Ok(());
        }
        self.asked.push(seen.puzzle.clone());
        context.emit(ASK, sighting)
    }

    fn answer(&mut self, solved: Solved, frame: u64, context: &mut Context<'_>) -> Result<()> {
        let Some(seen) = solved.sighting.board() else {
            return Ok(());
        };
        if solved.solution().is_some() {
            self.played.insert(frame, seen.puzzle.clone());
            return context.emit(PLAY, &solved);
        }
        let reason = format!("{} found no solution", solved.solver);
        let result = self.result(seen.puzzle.clone(), Some(reason));
        context.emit(RESULTS, &result)
    }

    fn outcome(
        &mut self,
        outcome: Outcome,
        message: &Message<'_>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let Some(puzzle) = self.played.remove(&message.frame_sequence()) else {
            return Ok(());
        };
        let not_solved = || "the game does not count it as solved".to_owned();
        let reason = match outcome.solved {
            Some(false) => Some(outcome.refused.unwrap_or_else(not_solved)),
            _ => outcome.refused,
        };
        let mut result = self.result(puzzle, reason);
        result.attempts = 1;
        result.strokes = outcome.strokes.len();
        result.profile = outcome.profile;
        result.pace = outcome.pace;
        result.took_ns = context
            .host()
            .now_ns()
            .saturating_sub(message.captured_ns());
        context.emit(RESULTS, &result)
    }

    /// What became of a board on which nothing was played. `reason`: why it was given up.
    fn result(&mut self, puzzle: Puzzle, reason: Option<String>) -> BoardResult {
        self.reported += 1;
        BoardResult::new(self.reported, puzzle, reason)
    }
}

flowpipe_plugin::export!(Once);
