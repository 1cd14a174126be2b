//! A puzzle answered.

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Result, Tally, Watch};

use crate::config::Config;
use crate::lanes::Blocked;
use crate::search::Search;

/// A step of the search takes some ten nanoseconds, and so does each loose end that it looks at: this
/// is some hundred microseconds at most.
const STEPS_BETWEEN_QUESTIONS: u32 = 1 << 12;

/// Answers a puzzle.
///
/// # Errors
/// When cancelled.
pub fn answer(puzzle: &Puzzle, config: &Config, cancel: Cancel<'_>) -> Result<(Verdict, Effort)> {
    let mut watch = Watch::new(cancel, STEPS_BETWEEN_QUESTIONS);
    let mut search = Search::new(puzzle, config.trim);
    if let Some(Blocked { name, lane }) = search.lanes().and_then(|lanes| lanes.blocked()) {
        let lane = lane + 1;
        let reason = format!("{name} {lane}: more pairs must cross it than it has free cells");
        let verdict = Verdict::unsolvable(Some(reason));
        return Ok((verdict, Effort::nodes(0)));
    }
    let mut tally = Tally::new(config.want, config.limit);
    let all = search.run(&mut tally, &mut watch)?;
    let moves = search.effort;
    let effort = Effort::nodes(moves.made)
        .with("trimmed", moves.trimmed as f64)
        .with("paths", moves.paths as f64);
    Ok((tally.verdict(all), effort))
}
