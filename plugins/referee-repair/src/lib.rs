//! Referee stage: has new puzzles solved, asks for what is missing, again if need be, and counts.
//!
//! [`referee`] decides, [`acting`] is whether strokes are being played, [`answers`] remembers the solver's answers,
//! [`findings`] what the game needs from the mouse ([`finder`]) and keeps it ([`games`]), [`standstill`] logs why
//! nothing is played, [`misfit`] that strokes draw too little, [`config`] is what can be set; here is the stage around
//! them.

mod acting;
mod answers;
mod config;
mod finder;
mod findings;
mod games;
mod misfit;
mod referee;
mod standstill;

use flowpipe_plugin::puzzle::message::{
    CHECK, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, Sighting, Solved,
};
use flowpipe_plugin::{
    Context, Effect, EffectKind, Ending, Host, Input, Next, Port, Result, Stage, tracing,
};
use serde_json::Value;

use crate::config::Config;
use crate::findings::Findings;
use crate::games::Games;
use crate::referee::{Action, Referee};

/// Inputs, in the order of the manifest.
const SIGHTINGS: usize = 0;
const ANSWERS: usize = 1;
/// Outputs, in the order of the manifest.
const ASK: usize = 0;
const PLAY: usize = 1;
const RESULTS: usize = 2;

struct Repair {
    config: Config,
    referee: Referee,
}

impl Stage for Repair {
    const NAME: &'static str = "referee-repair";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(
            EffectKind::ReadsFiles,
            "reads what games need from the mouse[ from {games}]",
        )
        .with_key("remember")
        .with_paths(&["games"])
        .with_state_file(games::FILE),
        Effect::new(
            EffectKind::WritesFiles,
            "writes what games need from the mouse[ to {games}]",
        )
        .with_key("remember")
        .with_paths(&["games"])
        .with_state_file(games::FILE),
    ]);
    const STATE: &'static str = "referee-repair/2";
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
        ]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check()?;
        Ok(Self {
            referee: referee(&config, host.is_dry()),
            config,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let (captured, now) = (message.captured_ns(), context.host().now_ns());
        let actions = match message.port() {
            SIGHTINGS => {
                let sighting: Sighting = message.parse()?;
                self.referee.sighting(sighting, captured, now)
            }
            ANSWERS => {
                let solved: Solved = message.parse()?;
                self.referee.solved(solved, captured, now)
            }
            _ => {
                let outcome: Outcome = message.parse()?;
                self.referee.outcome(&outcome, captured, now)
            }
        };
        for action in actions {
            match action {
                Action::Ask(sighting) => context.emit(ASK, &*sighting)?,
                Action::Play(solved) => context.emit(PLAY, &*solved)?,
                Action::Report(result) => context.emit(RESULTS, &*result)?,
                Action::End(reason) => context.host().end_run(Ending::Done, &reason),
                Action::Warn(text) => tracing::warn!("{text}"),
            }
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.referee = referee(&self.config, self.referee.is_dry());
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(self.referee.memory())?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE {
            return Ok(false);
        }
        self.referee.take_over(serde_json::from_value(state)?);
        Ok(true)
    }
}

/// The referee of a run that begins.
fn referee(config: &Config, dry: bool) -> Referee {
    let games = if config.remember && !dry {
        Games::new(config.games.clone())
    } else {
        Games::none()
    };
    Referee::new(config.clone(), Findings::new(games), dry)
}

flowpipe_plugin::export!(Repair);
