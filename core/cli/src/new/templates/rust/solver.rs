//! A flowpipe solver. `search` is the algorithm; `hope` prunes it, and is the part to improve first.

mod hope;
mod search;
#[cfg(test)]
mod tests;

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, JsonSchema, Result, Solver, Supports, Watch};
use serde::Deserialize;

/// Tries every path of every flow in turn. (`flowpipe plugins show` prints this line.)
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Give up after this many steps. (This one too.)
    max_steps: Option<u64>,
}

struct Plugin {
    config: Config,
    steps: u64,
}

impl Solver for Plugin {
    const NAME: &'static str = "plugin-name";
    /// The effects outside of the program, such as reading files or running commands: none.
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    /// The supported kinds of puzzles: the SDK refuses all others.
    const SUPPORTS: Supports = Supports::RECTANGLES
        .with_hexes(true)
        .with_holes(true)
        .with_walls(true)
        .with_warps(true);
    type Config = Config;

    fn new(config: Config, _host: &Host) -> Result<Self> {
        Ok(Self { config, steps: 0 })
    }

    /// Answers one puzzle. `cancel` is set when the answer is not needed any more; a `Watch` polls it.
    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.steps = 0;
        let most = self.config.max_steps.unwrap_or(u64::MAX);
        // In a debug build, a step on a large board may take a millisecond.
        let mut watch = Watch::new(*cancel, 10);
        let found = search::solve(puzzle, &mut watch, &mut self.steps, most)?;
        Ok(match found {
            // `None`: uniqueness is unknown. Return `Some(true)` if it is proved.
            Some(solution) => Verdict::solution(solution, None),
            None if self.steps >= most => Verdict::unknown(format!("gave up after {most} steps")),
            None => Verdict::unsolvable(None),
        })
    }

    /// The effort of the last answer, shown by `flowpipe solve` and `flowpipe bench`.
    fn effort(&mut self) -> Effort {
        Effort::nodes(self.steps)
    }
}

flowpipe_plugin::export!(Plugin);
