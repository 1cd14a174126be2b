//! Generated puzzles, as they are sent. What a worker has generated is verified.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use flowpipe_generate::{GenerateError, Generated, Generator, Random, Recipe};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_machines::batch::{Decoded, Encoded, Job, MAX_BODY, Runner};
use flowpipe_puzzle::text;
use flowpipe_terminal::eprintln;

use crate::args::Global;
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
    let decode = |_: &str, items: Range<u64>, body: &[u8]| decode(recipe, seed, items, body);
    let job = Job {
        facts: &facts(&Catalogue::default(), [])?,
        task: &task,
        items: None,
        encode: &encode,
        decode: &decode,
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

/// Reads and verifies what a worker has generated. Where it found no puzzle, this machine looks for itself.
fn decode(
    recipe: &Recipe,
    seed: u64,
    items: Range<u64>,
    body: &[u8],
) -> Result<Decoded<Generation>, String> {
    let mut generator = Generator::new();
    let mut made = Vec::new();
    let mut places = items;
    for line in body.split(|byte| *byte == b'\n') {
        let place = places.next().ok_or("more puzzles than were asked for")?;
        if line.is_empty() {
            made.push(generator.generate(recipe, Random::seed_of(seed, place)));
            continue;
        }
        let line = std::str::from_utf8(line).map_err(|_| "a puzzle that is no text")?;
        let mut entries = text::read(line);
        let entry = entries.pop().filter(|_| entries.is_empty());
        let (puzzle, _) = entry
            .and_then(|entry| entry.puzzle.ok())
            .ok_or("a line that is no puzzle")?;
        let verified = generator.verify(recipe, puzzle);
        made.push(Ok(verified.ok_or("a puzzle of another recipe")?));
    }
    let cells = made.iter().flatten().map(|it| it.puzzle.board().len());
    Ok(Decoded {
        heap_bytes: cells.sum::<usize>() * CELL_BYTES,
        results: made,
    })
}

/// Generates puzzles for another machine.
struct GeneratingRunner {
    recipe: Recipe,
    seed: u64,
}

/// What does a task.
///
/// # Errors
/// When there are no such puzzles.
pub fn runner(task: &GeneratorTask) -> Result<Box<dyn Runner>, String> {
    let recipe = task.recipe().map_err(|error| error.to_string())?;
    let seed = task.seed;
    Ok(Box::new(GeneratingRunner { recipe, seed }))
}

impl Runner for GeneratingRunner {
    fn run(&self, items: &[u8], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
        let malformed = || "a malformed chunk".to_owned();
        let (first, count) = items.split_first_chunk().ok_or_else(malformed)?;
        let first = u64::from_le_bytes(*first);
        let count = u64::from_le_bytes(count.try_into().map_err(|_| malformed())?);
        let mut generator = Generator::new();
        let mut body = String::new();
        for number in 0..count.clamp(1, MOST) {
            if number > 0 && is_cancelled() {
                break;
            }
            let place = first.wrapping_add(number);
            let made = generator.generate(&self.recipe, Random::seed_of(self.seed, place));
            // An empty line: there is none.
            let line = made.map_or_else(|_| String::new(), |it| text::write_line(&it.puzzle));
            if body.len() + 1 + line.len() > MAX_BODY {
                break;
            }
            if number > 0 {
                body.push('\n');
            }
            body.push_str(&line);
        }
        Ok(body.into_bytes())
    }
}
