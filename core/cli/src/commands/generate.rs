//! `flowpipe generate --size SIZE`: generates puzzles with exactly one solution.

use flowpipe_terminal::counted;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufWriter, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender};
use flowpipe_generate::{GenerateError, Generated, Generator, Random, Rating, Recipe};
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::level::Tag;
use flowpipe_puzzle::text::{self, Format, Sheet};

use crate::args::{Generate, Global, PuzzleFormat};
use crate::batch::generating;
use crate::batch::task::GeneratorTask;
use crate::exit::{Ended, Failure};

/// How many puzzles are generated ahead of the next one that is printed. Jobs wait at this number.
const AHEAD: u64 = 256;
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
    let places = Arc::new(Places::default());
    // It has room for all that are ahead.
    let (sender, made) = crossbeam_channel::unbounded();
    for _ in 0..jobs {
        let (sender, places, recipe) = (sender.clone(), Arc::clone(&places), recipe.clone());
        let seed = args.seed;
        // Jobs are not joined: one that generates a surplus puzzle ends with the program.
        thread::spawn(move || work(&recipe, seed, &places, &sender));
    }
    drop(sender);
    print(&mut printer, &made, &places)?;
    Ok(Ended::Done)
}

/// Which puzzle is generated next.
#[derive(Default)]
struct Places {
    state: Mutex<PlacesState>,
    printed: Condvar,
}

#[derive(Default)]
struct PlacesState {
    next: u64,
    printed: u64,
}

impl Places {
    /// The next place. Waits while it is too far ahead.
    fn take(&self) -> u64 {
        let state = self.lock();
        let is_ahead = |it: &mut PlacesState| it.next >= it.printed + AHEAD;
        let waited = self.printed.wait_while(state, is_ahead);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.next += 1;
        state.next - 1
    }

    /// One more is printed.
    fn print(&self) {
        self.lock().printed += 1;
        self.printed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, PlacesState> {
        // No code that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A puzzle and its place in the order.
type Made = (u64, Result<Generated, GenerateError>);

/// Generates puzzles until the receiver is gone.
fn work(recipe: &Recipe, seed: u64, places: &Places, sender: &Sender<Made>) {
    let mut generator = Generator::new();
    loop {
        let place = places.take();
        let generated = generator.generate(recipe, Random::seed_of(seed, place));
        if sender.send((place, generated)).is_err() {
            return;
        }
    }
}

/// Prints puzzles in the order of their places, until there are enough.
fn print(
    printer: &mut PuzzlePrinter<'_>,
    made: &Receiver<Made>,
    places: &Places,
) -> Result<(), Failure> {
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
        places.print();
        printer.add(generated)?;
    }
    Ok(())
}

/// Prints the requested number of different puzzles.
struct PuzzlePrinter<'a> {
    args: &'a Generate,
    recipe: &'a Recipe,
    out: BufWriter<Box<dyn Write>>,
    /// A hash of each that was printed. It takes 16 bytes, and a puzzle a hundred times as many.
    seen: HashSet<u128>,
    hashers: [RandomState; 2],
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
            hashers: Default::default(),
            number: 0,
            repeats: 0,
        }
    }

    /// 128 bits, which no two puzzles have in common.
    fn hash(&self, puzzle: &Puzzle) -> u128 {
        let content = (puzzle.board().description(), puzzle.terminals());
        let halves = self
            .hashers
            .each_ref()
            .map(|it| u128::from(it.hash_one(content)));
        halves[0] << 64 | halves[1]
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
        let hash = self.hash(&generated.puzzle);
        if !self.seen.insert(hash) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_wait_that_are_far_ahead() {
        let places = Places::default();
        assert!((0..AHEAD).all(|place| places.take() == place));
        let (sender, taken) = crossbeam_channel::unbounded();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(places.take()));
            assert!(taken.try_recv().is_err());
            places.print();
            assert_eq!(taken.recv(), Ok(AHEAD));
        });
    }
}
