//! Referee stage: has new puzzles solved, asks for what is missing, again if need be, and counts.
//!
//! [`referee`] decides, [`board`] is the board that is played, [`vanishing`] judges one that is gone, [`acting`] is whether
//! strokes are being played, [`answers`] remembers the solver's answers. [`findings`] is what the game needs from the
//! mouse, judged by what became of strokes ([`finder`]), what they left ([`leftovers`], [`clearing`]) and how busy the
//! machine was ([`load`]), and kept ([`games`]). [`game_rules`] is by which rules its boards are won. [`standstill`] logs
//! why nothing is played, [`misfit`] that strokes draw too little; [`stuck`] is why a run ends that does not get on,
//! [`alarm`] ends one without frames. [`config`] is what can be set; here is the stage around them.

mod acting;
mod alarm;
mod answers;
mod board;
mod clearing;
mod config;
mod finder;
mod findings;
mod game_rules;
mod games;
mod leftovers;
mod load;
mod misfit;
mod referee;
mod standstill;
mod stuck;
mod vanishing;

use flowpipe_plugin::puzzle::message::{
    CHECK, GAME_RULES, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, Sighting, Solved,
};
use flowpipe_plugin::{
    Context, Effect, EffectKind, Ending, Host, Input, Next, Port, Result, Stage, tracing,
};
use serde_json::Value;

use crate::alarm::Alarm;
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
const RULES: usize = 3;

/// The format of the state that older builds saved: the same without what is optional.
const OLDER_STATE: &str = "referee-repair/2";

struct Repair {
    config: Config,
    referee: Referee,
    /// Where the run ends by the time.
    alarm: Option<Alarm>,
}

impl Stage for Repair {
    const NAME: &'static str = "referee-repair";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(
            EffectKind::ReadsFiles,
            "reads what is known of games[ from {games}]",
        )
        .with_key("remember")
        .with_paths(&["games"])
        .with_state_file(games::FILE),
        Effect::new(
            EffectKind::WritesFiles,
            "writes what is found of games[ to {games}]",
        )
        .with_key("remember")
        .with_paths(&["games"])
        .with_state_file(games::FILE),
    ]);
    const STATE: &'static str = "referee-repair/3";
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
            Port::new("rules", GAME_RULES).checked_by(CHECK),
        ]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        config.check()?;
        let mut referee = referee(&config, host.is_dry());
        // The run's time begins, if it has not yet.
        let _ = referee.tick(host.now_ns());
        let alarm = referee.due().map(|_| Alarm::start(*host));
        if let Some(alarm) = &alarm {
            alarm.set(referee.due());
        }
        Ok(Self {
            referee,
            config,
            alarm,
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
                Action::Rules(known) => context.emit(RULES, &*known)?,
                Action::End(reason) => context.host().end_run(Ending::Done, &reason),
                Action::Warn(text) => tracing::warn!("{text}"),
            }
        }
        if let Some(alarm) = &self.alarm {
            alarm.set(self.referee.due());
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
        if ![Self::STATE, OLDER_STATE].contains(&format) {
            return Ok(false);
        }
        self.referee.take_over(serde_json::from_value(state)?);
        if let Some(alarm) = &self.alarm {
            alarm.set(self.referee.due());
        }
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
