//! A flowpipe solver. `search` is the algorithm, and `hope` the part of it to begin with.

mod hope;
mod search;
#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, JsonSchema, Result, Solver, Supports, Watch};
use serde::Deserialize;

/// Tries every path of every flow in turn. (This line is what `flowpipe plugins show` tells.)
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Give up after so many steps. (So is this one.)
    max_steps: Option<u64>,
}

struct Plugin {
    config: Config,
    steps: u64,
}

impl Solver for Plugin {
    const NAME: &'static str = "plugin-name";
    /// What it does outside of the program: reads or writes files, runs commands and so on. Nothing.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    /// What the search can deal with: all other puzzles are refused before they come here.
    const SUPPORTS: Supports = Supports {
        hexes: true,
        holes: true,
        walls: true,
        warps: true,
        ..Supports::RECTANGLES
    };
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config, steps: 0 })
    }

    /// Answers one puzzle. `cancel` says when the answer is not wanted any more; a `Watch` asks it now and then.
    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.steps = 0;
        let most = self.config.max_steps.unwrap_or(u64::MAX);
        let mut watch = Watch::new(*cancel, 1000);
        let found = search::solve(puzzle, &mut watch, &mut self.steps, most)?;
        Ok(match found {
            // `None`: whether it is the only one was not looked at. Say `Some(true)` when it is proved.
            Some(solution) => Verdict::solution(solution, None),
            None if self.steps >= most => Verdict::Unknown {
                reason: format!("gave up after {most} steps"),
            },
            None => Verdict::Unsolvable { reason: None },
        })
    }

    /// What the last answer cost: `flowpipe solve` and `flowpipe bench` show it.
    fn effort(&mut self) -> Effort {
        Effort::nodes(self.steps)
    }
}

flowpipe_plugin::export!(Plugin);
