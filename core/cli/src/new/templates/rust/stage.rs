//! A flowpipe stage of no special role: any ports, any messages. This one forwards small boards only.

use flowpipe_plugin::puzzle::message::{CHECK, SIGHTING, Sighting};
use flowpipe_plugin::tracing::info;
use flowpipe_plugin::{Context, Effect, Host, Input, JsonSchema, Next, Port, Result, Stage};
use serde::Deserialize;

/// Forwards small boards only. (`flowpipe plugins show` prints this line.)
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The maximum number of cells of a board. (This one too.)
    cells: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { cells: 64 }
    }
}

struct Plugin {
    config: Config,
}

impl Stage for Plugin {
    const NAME: &'static str = "plugin-name";
    /// The same messages in always give the same messages out: a replay runs it.
    const DETERMINISTIC: bool = true;
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = Config;

    /// Each has a schema, or `*` for any. An edge joins ports of the same schema.
    fn inputs() -> Vec<Port> {
        vec![Port::new("in", SIGHTING)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING).checked_by(CHECK)]
    }

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        // The other inputs are for sources, and for flushing state at the end of the run.
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let sighting: Sighting = message.parse()?;
        let Some(board) = sighting.board() else {
            return Ok(Next::More);
        };
        let cells = board.puzzle.board().len();
        if cells > self.config.cells {
            info!("a board of {cells} cells is too large");
            return Ok(Next::More);
        }
        context.emit(0, &sighting)?;
        Ok(Next::More)
    }
}

flowpipe_plugin::export!(Plugin);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::samples;
    use flowpipe_plugin::puzzle::message::SIGHTING;
    use serde_json::json;

    use super::Plugin;

    #[test]
    fn small_boards_pass() {
        let mut harness = flowpipe_plugin::harness!(Plugin, json!({ "cells": 4 })).unwrap();
        let mut passed = |puzzle: &str| {
            let sighting = samples::sighting(samples::puzzle(puzzle).unwrap());
            harness.send(0, SIGHTING, &sighting).unwrap().len()
        };
        assert_eq!(passed("A.\nA."), 1);
        assert_eq!(passed("A..\nA.."), 0);
    }
}
