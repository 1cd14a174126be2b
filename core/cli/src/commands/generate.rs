//! `flowpipe generate --size SIZE`: generates puzzles with exactly one solution.

use flowpipe_terminal::counted;
use std::collections::{BTreeMap, HashSet};
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender};
use flowpipe_generate::{
    Difficulty, GenerateError, Generated, Generator, Kind, Random, Rating, Recipe,
};
use flowpipe_puzzle::level::Tag;
use flowpipe_puzzle::text::{self, Format, Sheet};

use crate::args::{DifficultyArg, Generate, PuzzleFormat, PuzzleKind};
use crate::exit::{Ended, Failure};

/// The capacity of the queue of generated puzzles. Jobs wait while it is full.
const AHEAD: usize = 64;
/// After this many duplicates in a row, the search for further puzzles ends.
const REPEATS: usize = 500;

pub fn run(args: &Generate) -> Result<Ended, Failure> {
    let recipe = recipe(args)?;
    let most = usize::try_from(args.count).unwrap_or(usize::MAX);
    let jobs = args.jobs.map_or_else(processors, usize::from).min(most);
    let next = Arc::new(AtomicU64::new(0));
    let (sender, made) = crossbeam_channel::bounded(AHEAD);
    for _ in 0..jobs {
        let (sender, next, recipe) = (sender.clone(), Arc::clone(&next), recipe.clone());
        let seed = args.seed;
        // Jobs are not joined: one that generates a surplus puzzle ends with the program.
        thread::spawn(move || work(&recipe, seed, &next, &sender));
    }
    drop(sender);
    print(args, &recipe, &made)?;
    Ok(Ended::Done)
}

/// A puzzle and its place in the order.
type Made = (u64, Result<Generated, GenerateError>);

/// Generates puzzles until the receiver is gone.
fn work(recipe: &Recipe, seed: u64, next: &AtomicU64, sender: &Sender<Made>) {
    let mut generator = Generator::new();
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let generated = generator.generate(recipe, Random::seed_of(seed, place));
        if sender.send((place, generated)).is_err() {
            return;
        }
    }
}

/// Prints the requested number of different puzzles, in the order of their places.
fn print(args: &Generate, recipe: &Recipe, made: &Receiver<Made>) -> Result<(), Failure> {
    let mut out = BufWriter::new(flowpipe_terminal::plain_stdout());
    let mut waiting = BTreeMap::new();
    let mut seen = HashSet::new();
    let (mut place, mut number, mut repeats) = (0, 0, 0);
    while number < args.count {
        let Some(generated) = waiting.remove(&place) else {
            let (at, generated) = made
                .recv()
                .map_err(|_| Failure::Run("a job failed".to_owned()))?;
            waiting.insert(at, generated);
            continue;
        };
        place += 1;
        let generated = match generated {
            Ok(generated) => generated,
            Err(error) => {
                out.flush()?;
                return Err(Failure::Run(error.to_string()));
            }
        };
        let puzzle = &generated.puzzle;
        if !seen.insert((
            puzzle.board().description().clone(),
            puzzle.terminals().to_vec(),
        )) {
            repeats += 1;
            if repeats < REPEATS {
                continue;
            }
            out.flush()?;
            let what = format!("only {number} different puzzles of {}", recipe.size());
            return Err(Failure::Run(format!("{what} were found")));
        }
        repeats = 0;
        number += 1;
        // A blank line ends a grid.
        if number > 1 && args.format == PuzzleFormat::Grid {
            writeln!(out)?;
        }
        out.write_all(write(args, recipe, number, &generated)?.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

fn write(
    args: &Generate,
    recipe: &Recipe,
    number: u64,
    generated: &Generated,
) -> Result<String, Failure> {
    let flows = generated.solution.flows.len();
    let title = title(recipe, flows, generated.rating);
    let tag = Tag::new(0, u32::try_from(number).unwrap_or(u32::MAX));
    let sheet = Sheet {
        puzzle: &generated.puzzle,
        solution: Some(&generated.solution),
        title: Some(&title),
        names: &[],
        tag: Some(&tag),
    };
    let format = match args.format {
        PuzzleFormat::Grid => Format::Grid,
        PuzzleFormat::Level => Format::Level,
        PuzzleFormat::Puzzlink => Format::Puzzlink,
        PuzzleFormat::Json => Format::Json,
    };
    text::write_as(&sheet, format)
        .map_err(|error| Failure::Usage(format!("{error}; level lines and JSON can")))
}

fn title(recipe: &Recipe, flows: usize, rating: Rating) -> String {
    let branchings = counted(rating.branchings, "branching");
    format!(
        "{}: {}, {}, {branchings}, {:.1} steps a cell",
        rating.difficulty(),
        recipe.size(),
        counted(flows, "flow"),
        rating.steps_per_cell,
    )
}

fn recipe(args: &Generate) -> Result<Recipe, Failure> {
    let kinds: Vec<Kind> = args
        .kind
        .iter()
        .map(|kind| match kind {
            PuzzleKind::Bridges => Kind::Bridges,
            PuzzleKind::Hexes => Kind::Hexes,
            PuzzleKind::Warps => Kind::Warps,
            PuzzleKind::Walls => Kind::Walls,
            PuzzleKind::Holes => Kind::Holes,
        })
        .collect();
    let difficulty = args.difficulty.map(|grade| match grade {
        DifficultyArg::Easy => Difficulty::Easy,
        DifficultyArg::Medium => Difficulty::Medium,
        DifficultyArg::Hard => Difficulty::Hard,
    });
    Recipe::new(args.size, &kinds, difficulty).map_err(|error| Failure::Usage(error.to_string()))
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
