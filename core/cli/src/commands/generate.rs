//! `flowpipe generate --size SIZE`: generates puzzles with exactly one solution.

use flowpipe_terminal::counted;
use std::collections::{BTreeMap, HashSet};
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender};
use flowpipe_generate::{GenerateError, Generated, Generator, Random, Rating, Recipe};
use flowpipe_puzzle::Terminal;
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::level::Tag;
use flowpipe_puzzle::text::{self, Format, Sheet};

use crate::args::{Generate, Global, PuzzleFormat};
use crate::batch::generating;
use crate::batch::task::GeneratorTask;
use crate::exit::{Ended, Failure};

/// The capacity of the queue of generated puzzles. Jobs wait while it is full.
const AHEAD: usize = 64;
/// After this many duplicates in a row, the search for further puzzles ends.
const REPEATS: usize = 500;

pub fn run(global: &Global, args: &Generate) -> Result<Ended, Failure> {
    let task = GeneratorTask::of(args);
    let recipe = task.recipe()?;
    let mut printer = PuzzlePrinter::new(args, &recipe);
    if let Some(file) = &args.machines {
        if args.count > 0 {
            generating::run(file, global, task, &recipe, |generated| {
                printer.add(generated)
            })?;
        }
        return Ok(Ended::Done);
    }
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
    print(&mut printer, &made)?;
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

/// Prints puzzles in the order of their places, until there are enough.
fn print(printer: &mut PuzzlePrinter<'_>, made: &Receiver<Made>) -> Result<(), Failure> {
    let mut waiting = BTreeMap::new();
    let mut place = 0;
    while !printer.has_all() {
        let Some(generated) = waiting.remove(&place) else {
            let (at, generated) = made
                .recv()
                .map_err(|_| Failure::Run("a job failed".to_owned()))?;
            waiting.insert(at, generated);
            continue;
        };
        place += 1;
        printer.add(generated)?;
    }
    Ok(())
}

/// Prints the requested number of different puzzles.
struct PuzzlePrinter<'a> {
    args: &'a Generate,
    recipe: &'a Recipe,
    out: BufWriter<Box<dyn Write>>,
    seen: HashSet<(Description, Vec<Terminal>)>,
    number: u64,
    /// Duplicates in a row.
    repeats: usize,
}

impl<'a> PuzzlePrinter<'a> {
    fn new(args: &'a Generate, recipe: &'a Recipe) -> Self {
        Self {
            args,
            recipe,
            out: BufWriter::new(Box::new(flowpipe_terminal::plain_stdout())),
            seen: HashSet::new(),
            number: 0,
            repeats: 0,
        }
    }

    fn has_all(&self) -> bool {
        self.number >= self.args.count
    }

    /// Prints the next puzzle. Returns whether there are enough now.
    fn add(&mut self, generated: Result<Generated, GenerateError>) -> Result<bool, Failure> {
        let generated = match generated {
            Ok(generated) => generated,
            Err(error) => {
                self.out.flush()?;
                return Err(Failure::Run(error.to_string()));
            }
        };
        let puzzle = &generated.puzzle;
        if !self.seen.insert((
            puzzle.board().description().clone(),
            puzzle.terminals().to_vec(),
        )) {
            self.repeats += 1;
            if self.repeats < REPEATS {
                return Ok(false);
            }
            self.out.flush()?;
            let what = format!(
                "only {} different puzzles of {}",
                self.number,
                self.recipe.size()
            );
            return Err(Failure::Run(format!("{what} were found")));
        }
        self.repeats = 0;
        self.number += 1;
        // A blank line ends a grid.
        if self.number > 1 && self.args.format == PuzzleFormat::Grid {
            writeln!(self.out)?;
        }
        let text = write(self.args, self.recipe, self.number, &generated)?;
        self.out.write_all(text.as_bytes())?;
        if self.has_all() {
            self.out.flush()?;
        }
        Ok(self.has_all())
    }
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

fn processors() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
