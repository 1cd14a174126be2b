//! Generated puzzles, as they are sent. What a worker has generated is verified.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use flowpipe_generate::{GenerateError, Generated, Generator, Random, Recipe};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_machines::batch::{Decoded, Encoded, Job, MAX_BODY, Runner, Supply};
use flowpipe_puzzle::{Puzzle, text};
use flowpipe_terminal::eprintln;

use crate::args::Global;
use crate::batch::generated_samples::GeneratedSamples;
use crate::batch::memory_limit::MemoryLimit;
use crate::batch::task::{GeneratorTask, Task};
use crate::batch::worker_pool::{PoolEvent, WorkerPool};
use crate::exit::Failure;
use crate::installed_facts::facts;

/// The most puzzles of a chunk.
const MOST: u64 = 1 << 16;
/// About what a cell of a puzzle takes: its node with its links, and its place in the solution.
const CELL_BYTES: usize = 256;

type Generation = Result<Generated, GenerateError>;

/// Generates puzzles on the workers of a file. Passes each to `each`, in their order, until it returns that there are
/// enough.
///
/// # Errors
/// When no worker can do it, or the error of `each`.
pub fn run(
    file: &Path,
    global: &Global,
    task: GeneratorTask,
    recipe: &Recipe,
    mut each: impl FnMut(Generation) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let seed = task.seed;
    let task = Task::Generate(task);
    let task = serde_json::to_value(task).map_err(|error| Failure::Run(error.to_string()))?;
    let received = Received::new(recipe, seed);
    let decode = |machine: &str, items: Range<u64>, body: &[u8], is_over: &dyn Fn() -> bool| {
        received.decode(machine, items, body, is_over).map(Some)
    };
    let job = Job {
        facts: &facts(&Catalogue::default(), [])?,
        task: &task,
        supply: &|| Supply::ENDLESS,
        encode: &encode,
        decode: &decode,
        longest_item: None,
    };
    let mut take = |event: PoolEvent<Generation>| -> Result<bool, Failure> {
        match event {
            PoolEvent::Results(_, results) => {
                for result in results {
                    if each(result)? {
                        return Ok(true);
                    }
                }
            }
            PoolEvent::Notice(text) => eprintln!("{text}"),
            PoolEvent::Idle => {}
        }
        Ok(false)
    };
    let broken = WorkerPool::open(file, global)?.run(&job, |event| match take(event) {
        Ok(false) => ControlFlow::Continue(()),
        Ok(true) => ControlFlow::Break(Ok(())),
        Err(failure) => ControlFlow::Break(Err(failure)),
    })?;
    match broken {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(result) => result,
    }
}

/// The first place of a chunk, and how many there are.
fn encode(items: Range<u64>) -> Encoded<Generation> {
    let count = items.end - items.start;
    let mut body = items.start.to_le_bytes().to_vec();
    body.extend_from_slice(&count.to_le_bytes());
    Encoded::Items(body, count)
}

/// Reads a line with one puzzle.
fn read(line: &[u8]) -> Result<Puzzle, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "a puzzle that is no text")?;
    let mut entries = text::read(line);
    let entry = entries.pop().filter(|_| entries.is_empty());
    let puzzle = entry.and_then(|entry| entry.puzzle.ok());
    puzzle
        .map(|(puzzle, _)| puzzle)
        .ok_or("a line that is no puzzle")
}

/// What the workers of a job have generated.
struct Received<'a> {
    recipe: &'a Recipe,
    seed: u64,
    samples: GeneratedSamples,
}

impl<'a> Received<'a> {
    fn new(recipe: &'a Recipe, seed: u64) -> Self {
        Self {
            recipe,
            seed,
            samples: GeneratedSamples::default(),
        }
    }

    /// Reads what a worker has generated, generates a sample of it again, and verifies all of it, until `is_over`. Where it
    /// found no puzzle, this machine looks for itself: that takes at most some 20 s. It does each once an answer. What
    /// follows is given to a worker again.
    fn decode(
        &self,
        machine: &str,
        items: Range<u64>,
        body: &[u8],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Decoded<Generation>, String> {
        let mut generator = Generator::new();
        let (mut sent, mut puzzles) = (Vec::new(), Vec::new());
        let mut lacks = None;
        let mut places = items;
        for line in body.split(|byte| *byte == b'\n') {
            let place = places.next().ok_or("more puzzles than were asked for")?;
            if line.is_empty() {
                lacks = Some(place);
                break;
            }
            let puzzle = read(line)?;
            sent.push((place, text::write_line(&puzzle)));
            puzzles.push(puzzle);
        }
        // First: one that is wrong costs no more than that.
        self.check_sample(machine, &sent, &mut generator, is_over)?;
        let mut made = Vec::new();
        for puzzle in puzzles {
            if is_over() {
                break;
            }
            match generator.verify(self.recipe, puzzle, is_over) {
                Some(verified) => made.push(Ok(verified)),
                None if is_over() => break,
                None => return Err("a puzzle of another recipe".to_owned()),
            }
        }
        if let Some(place) = lacks {
            let found = generator.generate_until(self.recipe, self.seed_of(place), is_over);
            if !matches!(found, Err(GenerateError::Cancelled)) {
                made.push(found);
            }
        }
        let cells = made.iter().flatten().map(|it| it.puzzle.board().len());
        Ok(Decoded {
            heap_bytes: cells.sum::<usize>() * CELL_BYTES,
            results: made,
        })
    }

    /// Generates a sample of what a worker has sent again.
    ///
    /// # Errors
    /// When that is another puzzle.
    fn check_sample(
        &self,
        machine: &str,
        sent: &[(u64, String)],
        generator: &mut Generator,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let Some((place, line)) = self.samples.choose(machine, sent) else {
            return Ok(());
        };
        let found = generator.generate_until(self.recipe, self.seed_of(*place), is_over);
        let is_same = match found {
            Ok(generated) => text::write_line(&generated.puzzle) == *line,
            Err(error) => error == GenerateError::Cancelled,
        };
        let why =
            "a puzzle that is not the one of its seed: others that it sent before may be wrong too";
        is_same.then_some(()).ok_or_else(|| why.to_owned())
    }

    fn seed_of(&self, place: u64) -> u64 {
        Random::seed_of(self.seed, place)
    }
}

/// Generates puzzles for another machine.
struct GeneratingRunner {
    recipe: Recipe,
    seed: u64,
    memory: Arc<MemoryLimit>,
}

/// What does a task.
///
/// # Errors
/// When there are no such puzzles.
pub fn runner(task: &GeneratorTask, memory: Arc<MemoryLimit>) -> Result<Box<dyn Runner>, String> {
    let recipe = task.recipe().map_err(|error| error.to_string())?;
    let seed = task.seed;
    Ok(Box::new(GeneratingRunner {
        recipe,
        seed,
        memory,
    }))
}

impl Runner for GeneratingRunner {
    fn run(&self, items: &[u8], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
        let malformed = || "a malformed chunk".to_owned();
        let (first, count) = items.split_first_chunk().ok_or_else(malformed)?;
        let first = u64::from_le_bytes(*first);
        let count = u64::from_le_bytes(count.try_into().map_err(|_| malformed())?);
        let work = self.memory.begin();
        let is_over = || is_cancelled() || work.is_too_much();
        let lines = self.lines(first, count.clamp(1, MOST), &is_over);
        drop(work);
        if let Some(lines) = lines {
            return Ok(lines.into_bytes());
        }
        // The rest of the chunk is given to a worker again.
        let work = self.memory.begin_alone();
        let is_over = || is_cancelled() || work.is_too_much();
        let line = self.lines(first, 1, &is_over);
        line.map(String::into_bytes)
            .ok_or_else(|| self.memory.reason())
    }
}

impl GeneratingRunner {
    /// The lines of so many puzzles, or of the first ones until `is_over`. `None`: it was over before there was one.
    fn lines(&self, first: u64, count: u64, is_over: &dyn Fn() -> bool) -> Option<String> {
        let mut generator = Generator::new();
        let mut lines: Option<String> = None;
        for number in 0..count {
            let seed = Random::seed_of(self.seed, first.wrapping_add(number));
            let line = match generator.generate_until(&self.recipe, seed, is_over) {
                Ok(generated) => text::write_line(&generated.puzzle),
                Err(GenerateError::Cancelled) => break,
                // An empty line: there is none.
                Err(_) => String::new(),
            };
            match &mut lines {
                None => lines = Some(line),
                Some(lines) if lines.len() + 1 + line.len() > MAX_BODY => break,
                Some(lines) => {
                    lines.push('\n');
                    lines.push_str(&line);
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::args::PuzzleKind;

    fn task() -> GeneratorTask {
        GeneratorTask {
            cols: 5,
            rows: 5,
            kinds: Vec::new(),
            difficulty: None,
            seed: 7,
        }
    }

    fn runner(memory: MemoryLimit) -> Box<dyn Runner> {
        super::runner(&task(), Arc::new(memory)).unwrap()
    }

    fn chunk(count: u64) -> Vec<u8> {
        [0, count].map(u64::to_le_bytes).concat()
    }

    #[test]
    fn it_is_cancelled_within_the_first_puzzle() {
        let asked = AtomicU32::new(0);
        let is_cancelled = || {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        };
        let runner = runner(MemoryLimit::measured_by(None, || 0));
        // Nobody waits for what it returns.
        assert!(runner.run(&chunk(1 << 16), &is_cancelled).is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 2, "at once, and alone");
    }

    #[test]
    fn only_the_first_place_without_a_puzzle_is_checked() {
        let recipe = task().recipe().unwrap();
        let runner = runner(MemoryLimit::measured_by(None, || 0));
        let line = runner.run(&chunk(1), &|| false).unwrap();
        // What follows is not even read.
        for rest in [&b""[..], b"\n", b"\n\n\n", b"\nnone\n"] {
            for (body, count) in [(rest.to_vec(), 1), ([&line, &b"\n"[..], rest].concat(), 2)] {
                let received = Received::new(&recipe, 7);
                let decoded = received.decode("rack", 0..8, &body, &|| false).unwrap();
                assert_eq!(decoded.results.len(), count, "{body:?}");
                assert!(decoded.results.iter().all(Result::is_ok));
                // Once the job is over, this machine verifies and generates nothing.
                let decoded = received.decode("rack", 0..8, &body, &|| true).unwrap();
                assert!(decoded.results.is_empty(), "{body:?}");
            }
        }
    }

    /// What an honest worker sends for the first places.
    fn sent(task: &GeneratorTask, count: u64) -> Vec<u8> {
        let memory = Arc::new(MemoryLimit::measured_by(None, || 0));
        let runner = super::runner(task, memory).unwrap();
        runner.run(&chunk(count), &|| false).unwrap()
    }

    #[test]
    fn what_an_honest_worker_sends_is_accepted() {
        use PuzzleKind::{Bridges, Hexes, Holes, Walls, Warps};
        for (size, kinds) in [
            // There are few different ones of this size.
            (3, Vec::new()),
            (6, Vec::new()),
            (6, vec![Bridges]),
            (5, vec![Hexes]),
            (6, vec![Warps, Walls, Holes]),
        ] {
            let task = GeneratorTask {
                cols: size,
                rows: size,
                kinds,
                ..task()
            };
            let recipe = task.recipe().unwrap();
            let body = sent(&task, 40);
            // Each is in an answer of its own: those of a new worker are always generated again.
            for (place, line) in (0..).zip(body.split(|byte| *byte == b'\n')) {
                let received = Received::new(&recipe, 7);
                let decoded = received.decode("rack", place..place + 1, line, &|| false);
                assert!(decoded.is_ok(), "{task:?} {place} {decoded:?}");
            }
            let received = Received::new(&recipe, 7);
            let decoded = received.decode("rack", 0..40, &body, &|| false).unwrap();
            assert_eq!(decoded.results.len(), 40);
        }
    }

    #[test]
    fn puzzles_of_another_seed_are_refused() {
        let recipe = task().recipe().unwrap();
        let body = sent(&GeneratorTask { seed: 8, ..task() }, 8);
        let decode = |received: &Received<'_>, machine: &str, body: &[u8]| {
            let decoded = received.decode(machine, 0..8, body, &|| false);
            decoded.map(|it| it.results.len())
        };
        let received = Received::new(&recipe, 7);
        let error = decode(&received, "rack", &body).unwrap_err();
        assert!(error.contains("not the one of its seed"), "{error}");
        // What one worker has sent does not count against another one.
        assert_eq!(decode(&received, "tower", &sent(&task(), 8)), Ok(8));
        assert!(decode(&received, "shelf", &body).is_err());
    }

    #[test]
    fn one_puzzle_again_and_again_is_refused() {
        let recipe = task().recipe().unwrap();
        let received = Received::new(&recipe, 7);
        let first = sent(&task(), 1);
        // It is that of its place, and of no other one.
        assert!(received.decode("rack", 0..1, &first, &|| false).is_ok());
        let again = received.decode("rack", 1..2, &first, &|| false);
        assert!(again.is_err(), "{again:?}");
    }

    #[test]
    fn its_memory_is_limited() {
        let memory = Arc::new(AtomicU64::new(0));
        let measured = memory.clone();
        let limit = move || measured.load(Ordering::Relaxed);
        let runner = runner(MemoryLimit::measured_by(Some(64 << 20), limit));
        let asked = AtomicU32::new(0);
        // It takes too much from a question on.
        let run = |count: u64, from: u32| {
            asked.store(0, Ordering::Relaxed);
            runner.run(&chunk(count), &|| {
                if asked.fetch_add(1, Ordering::Relaxed) >= from {
                    memory.fetch_add(65 << 20, Ordering::Relaxed);
                    // Until then, what was measured before counts.
                    std::thread::sleep(Duration::from_millis(10));
                }
                false
            })
        };
        let error = run(9, 0).unwrap_err();
        assert!(error.contains("more than 64 MiB of memory"), "{error}");
        // What is there before the limit is exceeded is an answer.
        let [all, some] = [(9, u32::MAX), (1 << 16, 20)]
            .map(|(count, from)| String::from_utf8(run(count, from).unwrap()).unwrap());
        let [all, some] = [&all, &some].map(|text| text.lines().collect::<Vec<_>>());
        assert_eq!(all.len(), 9);
        assert!((1..20).contains(&some.len()), "{some:?}");
        let both = all.len().min(some.len());
        assert_eq!(some[..both], all[..both]);
    }
}
