//! Referee stage: has new puzzles solved, asks for what is missing, again if need be, and counts.
//!
//! [`referee`] decides, [`board`] is the board that is played, [`vanishing`] judges one that is gone, [`acting`] is
//! whether strokes are being played, [`answers`] remembers the solver's answers. [`calibration`] is what the game needs
//! from the mouse, judged by what became of strokes ([`profile_search`]), what they left ([`leftovers`], [`clearing`]) and
//! how busy the machine was ([`load`]), and kept ([`games`]). [`game_rules`] is by which rules its boards are won,
//! [`display_delay`] how long it takes to display strokes.
//! [`standstill`] logs why nothing is played, [`misfit`] that strokes draw too little; [`stuck`] is why a run ends that does
//! not get on, [`alarm`] ends one without frames. [`config`] is what can be set; here is the stage around them.

mod acting;
mod alarm;
mod answers;
mod board;
mod calibration;
mod clearing;
mod config;
mod display_delay;
mod game_rules;
mod games;
mod leftovers;
mod load;
mod misfit;
mod profile_search;
mod referee;
mod standstill;
mod stuck;
mod vanishing;

use std::sync::{Arc, Mutex};

use flowpipe_plugin::puzzle::message::{
    CHECK, GAME_RULES, OUTCOME, Outcome, RESULT, SIGHTING, SOLVED, Sighting, Solved,
};
use flowpipe_plugin::{
    Context, Effect, EffectKind, Ending, Host, Input, Next, Port, Result, Stage, tracing,
};
use serde_json::Value;

use crate::alarm::{Alarm, lock};
use crate::calibration::Calibration;
use crate::config::Config;
use crate::games::Games;
use crate::referee::{Action, Memory, Referee};

/// Inputs, in the order of the manifest.
const SIGHTINGS: usize = 0;
const ANSWERS: usize = 1;
/// Outputs, in the order of the manifest.
const ASK: usize = 0;
const PLAY: usize = 1;
const RESULTS: usize = 2;
const RULES: usize = 3;

/// The formats of the state that older builds saved: the same without what is optional.
const OLDER_STATES: [&str; 2] = ["referee-repair/2", "referee-repair/3"];

struct Repair {
    config: Config,
    host: Host,
    referee: Arc<Mutex<Referee>>,
    /// Where the run may end while no message comes.
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
    const STATE: &'static str = "referee-repair/4";
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
        let (referee, alarm) = begin(&config, *host);
        Ok(Self {
            config,
            host: *host,
            referee,
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
                lock(&self.referee).sighting(sighting, captured, now)
            }
            ANSWERS => {
                let solved: Solved = message.parse()?;
                lock(&self.referee).solved(solved, captured, now)
            }
            _ => {
                let outcome: Outcome = message.parse()?;
                lock(&self.referee).outcome(&outcome, captured, now)
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
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        // The thread of the old one ends first.
        self.alarm = None;
        (self.referee, self.alarm) = begin(&self.config, self.host);
        Ok(())
    }

    fn save(&mut self) -> Result<Value> {
        Ok(serde_json::to_value(Memory::of(&lock(&self.referee)))?)
    }

    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        if format != Self::STATE && !OLDER_STATES.contains(&format) {
            return Ok(false);
        }
        let memory: Memory = serde_json::from_value(state)?;
        memory.restore(&mut lock(&self.referee));
        Ok(true)
    }
}

/// The referee of a run that begins now, and an alarm if it may end by the time.
fn begin(config: &Config, host: Host) -> (Arc<Mutex<Referee>>, Option<Alarm>) {
    let games = games(config, host.is_dry());
    let mut referee = Referee::new(config.clone(), Calibration::new(games), host.is_dry());
    // Nothing is due yet.
    let _ = referee.tick(host.now_ns());
    let may_end = referee.due().is_some();
    let referee = Arc::new(Mutex::new(referee));
    let alarm = may_end.then(|| Alarm::start(Arc::clone(&referee), host));
    (referee, alarm)
}

/// What is known of games. A dry run uses it, and keeps nothing.
fn games(config: &Config, is_dry: bool) -> Games {
    match config.remember {
        true if is_dry => Games::new(config.games.clone()).read_only(),
        true => Games::new(config.games.clone()),
        false => Games::none(),
    }
}

flowpipe_plugin::export!(Repair);

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_that_begins_again_has_its_whole_time_without_any_message() {
        // The harness's own stage never ends its run.
        let harness = flowpipe_plugin::harness!(Repair, &json!({ "remember": false })).unwrap();
        let config = json!({ "seconds": 0.6, "remember": false });
        let config = serde_json::from_value(config).unwrap();
        let mut stage = Repair::new(config, &harness.host()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        stage.reset().unwrap();
        let began = Instant::now();
        while harness.ended().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let took = began.elapsed();
        assert!(took > Duration::from_millis(600), "{took:?}");
        let (_, reason) = harness.ended().unwrap();
        assert!(reason.contains("no picture came"), "{reason}");
    }

    #[test]
    fn a_dry_run_uses_what_is_known_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        std::fs::write(&file, "[games.window]\nprofile = \"turns\"\n").unwrap();
        let before = std::fs::read_to_string(&file).unwrap();
        let config = Config {
            games: Some(file.clone()),
            ..Config::default()
        };
        let games = games(&config, true);
        assert!(games.get("window").is_some());
        games.keep_rules("window", flowpipe_plugin::puzzle::Rules::default());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        self::games(&config, false).keep_rules("window", flowpipe_plugin::puzzle::Rules::default());
        assert_ne!(std::fs::read_to_string(&file).unwrap(), before);
    }
}
