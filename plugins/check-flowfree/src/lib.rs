//! A check: judges the messages of Flow Free's stages, so that no stage has to trust another.
//!
//! # Layout
//! [`sighting`], [`solved`], [`strokes`]: one file for each message with rules. The parts of others are checked while they
//! are read. [`accepted`]: what is known of sightings when their answers come.

mod accepted;
mod sighting;
mod solved;
mod strokes;

use flowpipe_plugin::puzzle::message::{
    BoardResult, CHECK, GAME_RULES, GameRules, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, STROKES,
};
use flowpipe_plugin::{Check, Host, Judgement, Message, Result};

use crate::accepted::AcceptedPuzzles;

#[derive(Default)]
struct FlowFreeCheck {
    accepted: AcceptedPuzzles,
}

impl Check for FlowFreeCheck {
    const NAME: &'static str = CHECK;
    const DOC: &'static str = "Judges the messages of Flow Free's stages. A sighting fits together, a solution keeps the rules \
                               of the puzzle that was asked, and strokes draw the solution and stay inside the cells of their \
                               flow.";
    const SCHEMAS: &'static [&'static str] =
        &[SIGHTING, SOLVED, STROKES, OUTCOME, RESULT, GAME_RULES];

    fn new(_: &Host) -> Result<Self> {
        Ok(Self::default())
    }

    fn judge(&self, parent: Option<&Message<'_>>, message: &Message<'_>) -> Result<Judgement> {
        let judged = match message.schema() {
            SIGHTING => sighting::judge(message, &self.accepted),
            SOLVED => solved::judge(parent, message, &self.accepted),
            STROKES => strokes::judge(parent, message),
            OUTCOME => judge_outcome(message),
            RESULT => judge_result(message),
            GAME_RULES => judge_game_rules(message),
            other => Err(format!("a message of schema {other}")),
        };
        Ok(match judged {
            Ok(None) => Judgement::Accept,
            Ok(Some(why)) => Judgement::Weak(why),
            Err(why) => Judgement::Refuse(why),
        })
    }
}

/// `Ok(None)`: accepted. `Ok(Some(why))`: accepted, but not a solution. `Err(why)`: refused.
type Judged = std::result::Result<Option<String>, String>;

/// More strokes than this are on no board.
const MOST_STROKES: usize = 10_000_000;
/// The longest time of a board, in nanoseconds: a year.
const LONGEST_NS: i64 = 365 * 86_400_000_000_000;

fn judge_outcome(message: &Message<'_>) -> Judged {
    let outcome: Outcome = message.parse()?;
    outcome.frame.check()?;
    check_figures(&[], outcome.act_ns)
}

fn judge_result(message: &Message<'_>) -> Judged {
    let result: BoardResult = message.parse()?;
    check_figures(&[result.strokes, result.repeated], result.took_ns)
}

/// Any rules make sense.
fn judge_game_rules(message: &Message<'_>) -> Judged {
    let _: GameRules = message.parse()?;
    Ok(None)
}

/// Checks counts of strokes, and a time in nanoseconds.
fn check_figures(strokes: &[usize], took_ns: i64) -> Judged {
    if let Some(count) = strokes.iter().find(|count| **count > MOST_STROKES) {
        return Err(format!("{count} strokes"));
    }
    if !(0..=LONGEST_NS).contains(&took_ns) {
        return Err(format!("a time of {took_ns} ns"));
    }
    Ok(None)
}

/// The message that a stage processed, if it has the schema of the role's input. Other stages may process other
/// messages.
fn asked<'a, 'm>(parent: Option<&'a Message<'m>>, schema: &str) -> Option<&'a Message<'m>> {
    parent.filter(|parent| parent.schema() == schema)
}

/// The first few breaches, in a line.
fn list<T: std::fmt::Display>(breaches: &[T]) -> String {
    const SHOWN: usize = 3;
    let mut text = breaches
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    if breaches.len() > SHOWN {
        text += &format!("; and {} more", breaches.len() - SHOWN);
    }
    text
}

flowpipe_plugin::export!(FlowFreeCheck);

#[cfg(test)]
mod tests;
