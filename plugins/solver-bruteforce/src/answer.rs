//! A puzzle answered: all paths, then their combinations.

use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, colour};
use flowpipe_plugin::{Cancel, Result, Tally, Watch};

use crate::combine::combine;
use crate::config::Config;
use crate::paths::{self, Start};

/// A step of either search takes some ten nanoseconds: this is well under 100 microseconds.
const STEPS_BETWEEN_QUESTIONS: u32 = 1 << 12;

/// Answers a puzzle of at most [`crate::mask::MOST_CELLS`] cells.
///
/// # Errors
/// When cancelled.
pub fn answer(puzzle: &Puzzle, config: &Config, cancel: Cancel<'_>) -> Result<(Verdict, Effort)> {
    let mut watch = Watch::new(cancel, STEPS_BETWEEN_QUESTIONS);
    let Some(starts) = paths::all(puzzle, config.max_paths, &mut watch)? else {
        let most = config.max_paths;
        let reason = format!("the colours have more than {most} paths (max_paths)");
        return Ok((Verdict::unknown(reason), Effort::default()));
    };
    let colours = by_fewest_paths(starts);
    let lengths = || colours.iter().map(|colour| path_count(colour) as f64);
    let (paths, product) = (lengths().sum(), lengths().product());
    let effort = |combinations| {
        Effort::nodes(combinations)
            .with("paths", paths)
            .with("product", product)
    };
    if let Some(starts) = colours.iter().find(|starts| path_count(starts) == 0) {
        let name = colour::name(starts[0].colour);
        let reason = Some(format!(
            "colour {name}: no path joins its terminals, even alone on the board"
        ));
        return Ok((Verdict::unsolvable(reason), effort(0)));
    }
    let mut tally = Tally::new(config.want, config.limit);
    let starts: Vec<Start> = colours.into_iter().flatten().collect();
    let (combinations, all) = combine(puzzle, &starts, &mut tally, &mut watch)?;
    Ok((tally.verdict(all), effort(combinations)))
}

/// The starts of each colour, the colour with the fewest paths first: that is where few choices
/// rule out many.
fn by_fewest_paths(starts: Vec<Start>) -> Vec<Vec<Start>> {
    let mut colours: Vec<Vec<Start>> = Vec::new();
    for start in starts {
        match colours.last_mut() {
            Some(colour) if colour[0].colour == start.colour => colour.push(start),
            _ => colours.push(vec![start]),
        }
    }
    colours.sort_by_key(|colour| path_count(colour));
    colours
}

fn path_count(colour: &[Start]) -> usize {
    colour.iter().map(|start| start.paths.len()).sum()
}
