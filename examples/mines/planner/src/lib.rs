//! Turns moves into clicks of the mouse, a batch at a time, and ends the run when the field is won.

mod gestures;
mod player;

use flowpipe_plugin::message::{CHECK, GESTURES, METRICS, Metric, Metrics, OVERLAY, Tone};
use flowpipe_plugin::{
    Context, Effect, Ending, Error, Host, Input, JsonSchema, Next, Port, Result, Stage, tracing,
};
use mines_game::field::{Cell, State};
use mines_game::message::{MOVES, Moves};
use serde::Deserialize;

use crate::gestures::{gestures, overlay};
use crate::player::Player;

/// Plans few clicks for moves in Minesweeper. It waits until the field shows their effect before it plans the next ones,
/// and ends the run when the field is won.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The most clicks at a time.
    #[schemars(range(min = 1))]
    clicks: usize,
    /// How long the window may take to show an effect, in milliseconds. What is missing then is clicked again. It must
    /// be longer than `max_age_ms` of the actuator, so that no click of before can come later.
    patience_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            clicks: 20,
            patience_ms: 600,
        }
    }
}

struct Planner {
    config: Config,
    player: Player,
}

impl Stage for Planner {
    const NAME: &'static str = "planner-mines";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("moves", MOVES)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("gestures", GESTURES).checked_by(CHECK),
            Port::new("metrics", METRICS).checked_by(CHECK),
            Port::new("overlay", OVERLAY).checked_by(CHECK),
        ]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        if config.clicks == 0 {
            return Err(Error::bad_config("clicks is 0, it must be at least 1"));
        }
        Ok(Self {
            config,
            player: Player::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let moves: Moves = message.parse()?;
        moves.check().map_err(Error::bad_message)?;
        match moves.seen.state {
            State::Won => {
                let Player { opening, flags, .. } = self.player;
                let reason =
                    format!("the field is won: {opening} clicks to open cells, {flags} for flags");
                let won = Metric::counter("fields won", 1);
                let note = Metric::note("the field is won").with_tone(Tone::Good);
                context.emit(1, &Metrics::new(vec![won, note]))?;
                context.host().end_run(Ending::Done, &reason);
            }
            State::Lost => {
                return Err(Error::new(format!(
                    "the field is lost:\n{}",
                    moves.seen.field
                )));
            }
            State::Playing => self.click(&moves, message.captured_ns(), context)?,
        }
        Ok(Next::More)
    }

    fn reset(&mut self) -> Result<()> {
        self.player = Player::default();
        Ok(())
    }
}

impl Planner {
    fn click(&mut self, moves: &Moves, captured_ns: i64, context: &mut Context<'_>) -> Result<()> {
        let patience_ns = i64::from(self.config.patience_ms) * 1_000_000;
        let clicks = self
            .player
            .next(moves, captured_ns, patience_ns, self.config.clicks);
        if clicks.is_empty() {
            return Ok(());
        }
        let is_open = |cell: &Cell| matches!(cell, Cell::Open(_));
        // The first click is no guess.
        if let Some(guess) = moves
            .guess
            .filter(|_| moves.seen.field.cells().iter().any(is_open))
        {
            let percent = guess.chance * 100.0;
            tracing::warn!("no cell is safe: clicking where a mine has a chance of {percent:.0} %");
        }
        context.emit(0, &gestures(Self::NAME, moves, &clicks)?)?;
        let covered = |cell: &&Cell| **cell == Cell::Covered;
        let left = moves.seen.field.cells().iter().filter(covered).count();
        let metrics = vec![
            Metric::counter("clicks", clicks.len() as u64),
            Metric::gauge("covered cells", left as f64),
            Metric::distribution("clicks at a time", vec![clicks.len() as f64]),
        ];
        context.emit(1, &Metrics::new(metrics))?;
        context.emit(2, &overlay(moves, &clicks))
    }
}

flowpipe_plugin::export!(Planner);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::Harness;
    use mines_game::field::Field;
    use mines_game::message::{Grid, SeenField};
    use serde_json::{Value, json};

    use super::*;

    fn planner(config: &Value) -> Result<Harness> {
        flowpipe_plugin::harness!(Planner, config)
    }

    fn moves(rows: &str, safe: &[usize], mines: &[usize]) -> Moves {
        let field = Field::parse(mines.len(), rows).unwrap();
        let grid = Grid {
            left: 30,
            top: 55,
            side: 20,
        };
        let seen = SeenField {
            state: field.state(),
            field,
            grid,
        };
        let set = |cells: &[usize]| cells.iter().copied().collect();
        let frame = json!({ "source": "Mines", "window": 7 });
        Moves {
            frame,
            seen,
            safe: set(safe),
            mines: set(mines),
            guess: None,
        }
    }

    #[test]
    fn clicks_are_inside_of_their_cells_and_of_the_field() {
        let moves = moves("###\n#1#\n###", &[0, 1, 2, 3, 5, 6, 7], &[8]);
        let emitted = planner(&json!({})).unwrap().send(0, MOVES, &moves).unwrap();
        let gestures: flowpipe_plugin::message::Gestures =
            serde_json::from_value(emitted[0].body.clone()).unwrap();
        assert_eq!(gestures.check(), Ok(()));
        assert_eq!(gestures.frame.window, Some(7));
        assert_eq!(gestures.bounds.corners()[2], [90.0, 115.0]);
        let names: Vec<&str> = gestures
            .gestures
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, ["flag row 3, column 3", "chord row 2, column 2"]);
        let actions = json!([
            { "press": { "at": [77.0, 105.0], "button": "right" } },
            { "move": { "to": [83.0, 105.0] } },
            { "release": { "button": "right" } },
            { "press": { "at": [57.0, 85.0] } },
            { "move": { "to": [63.0, 85.0] } },
            { "release": {} },
        ]);
        assert_eq!(json!(gestures.actions().collect::<Vec<_>>()), actions);
    }

    #[test]
    fn the_run_ends_with_the_game() {
        let mut harness = planner(&json!({})).unwrap();
        let emitted = harness.send(0, MOVES, &moves("F1\n11", &[], &[0])).unwrap();
        assert_eq!(emitted.len(), 1, "no gestures");
        assert_eq!(emitted[0].body["metrics"][0]["name"], "fields won");
        let (how, reason) = harness.ended().unwrap();
        assert_eq!(how, Ending::Done);
        assert_eq!(
            reason,
            "the field is won: 0 clicks to open cells, 0 for flags"
        );
        let error = harness
            .send(0, MOVES, &moves("X1\n11", &[], &[0]))
            .map(drop)
            .unwrap_err();
        assert!(error.to_string().contains("the field is lost"), "{error}");
    }

    #[test]
    fn cells_that_are_not_there_are_an_error() {
        let moves = moves("##\n11", &[4], &[0]);
        let error = planner(&json!({}))
            .unwrap()
            .send(0, MOVES, &moves)
            .map(drop)
            .unwrap_err();
        assert!(
            error.to_string().contains("cell 4 of a field of 4"),
            "{error}"
        );
    }

    #[test]
    fn a_batch_needs_a_click() {
        let Err(error) = planner(&json!({ "clicks": 0 })) else {
            panic!("it was created");
        };
        assert!(error.to_string().contains("clicks is 0"), "{error}");
    }
}
