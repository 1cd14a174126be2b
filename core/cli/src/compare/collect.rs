//! Collects the messages of a run that are compared.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_config::pipeline::PortRef;
use flowpipe_engine::run::{Completion, Observer, Task, TaskResult};
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_message::METRICS;
use flowpipe_puzzle::message::{OUTCOME, SIGHTING, SOLVED, STROKES};
use flowpipe_recording::entry::Event;

use crate::compare::frame::StageFailure;
use crate::compare::messages::log::{Content, MessageLog, Root};

/// Collects the messages of a run. They are parsed later, because parsing would slow the pipeline down. Only JSON that
/// is too much to keep is parsed at once, for its hash.
pub struct Collector {
    kept: KeptMessages,
    /// Whether the messages of a stage are kept, by stage.
    is_kept: Vec<bool>,
    collected: Mutex<Collected>,
}

/// Which messages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptMessages {
    /// Those that concern boards.
    OfBoards,
    /// All, in a log.
    All,
}

/// The collected messages.
#[derive(Default)]
pub struct Collected {
    /// Sightings, answers, strokes and outcomes.
    pub messages: Vec<Arc<Message>>,
    /// All messages, if they are compared one by one.
    pub log: MessageLog,
    /// Problems, without warnings.
    pub problems: Vec<CollectedProblem>,
    /// The first ancestor of each message, by stage, output and number, from 1.
    roots: Vec<Vec<Vec<Root>>>,
    /// The times of all calls but those at the end of the stream, by stage, nanoseconds.
    pub times: Vec<Vec<u64>>,
}

/// A problem. Thousands may have the same text.
pub struct CollectedProblem {
    pub kind: ProblemKind,
    pub plugin: Arc<str>,
    pub failed: Arc<StageFailure>,
    /// The input, and the number of its message.
    pub message: Option<(Arc<str>, u64)>,
}

impl Collected {
    /// The first ancestor of a message.
    pub fn root(&self, output: PortRef, number: u64) -> Option<Root> {
        let numbers = self.roots.get(output.stage)?.get(output.port)?;
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        numbers.get(place).copied()
    }

    /// The numbers of an output are consecutive.
    fn add_root(&mut self, stage: usize, port: usize, root: Root) {
        if self.roots.len() <= stage {
            self.roots.resize(stage + 1, Vec::new());
        }
        let ports = &mut self.roots[stage];
        if ports.len() <= port {
            ports.resize(port + 1, Vec::new());
        }
        ports[port].push(root);
    }

    fn add_problem(&mut self, problem: &Problem) {
        let last = self.problems.last();
        let same = last.filter(|last| last.failed.is(problem));
        let failed = same.map(|last| last.failed.clone());
        let shared = |known: Option<&Arc<str>>, text: &String| match known {
            Some(known) if **known == **text => known.clone(),
            _ => text.as_str().into(),
        };
        let input = last.and_then(|last| Some(&last.message.as_ref()?.0));
        let message = problem.message.as_ref();
        let collected = CollectedProblem {
            kind: problem.kind,
            plugin: shared(last.map(|last| &last.plugin), &problem.plugin),
            failed: failed.unwrap_or_else(|| Arc::new(StageFailure::of(problem))),
            message: message.map(|it| (shared(input, &it.port), it.sequence)),
        };
        self.problems.push(collected);
    }
}

impl Collector {
    /// An empty collection. `is_kept`: whether the messages of a stage are kept, by stage.
    pub fn new(kept: KeptMessages, is_kept: Vec<bool>) -> Self {
        let collected = Collected {
            times: vec![Vec::new(); is_kept.len()],
            ..Collected::default()
        };
        Self {
            kept,
            is_kept,
            collected: Mutex::new(collected),
        }
    }

    /// Takes the collected messages.
    pub fn take(&self) -> Collected {
        std::mem::take(&mut self.lock())
    }

    /// Adds a message to the log. The other stages do not wait for hashes.
    fn log(&self, message: &Message) {
        if message.schema() == METRICS {
            // Without what the checks have parsed.
            self.lock().log.add_metrics(message.without_frame());
            return;
        }
        let keeps_json = self.lock().log.reserve(message);
        let content = Content::of(message, keeps_json);
        self.lock().log.add(message, content);
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        // No code that holds the lock can panic.
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Collector {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let is_kept = self.is_kept.get(stage).copied().unwrap_or(true);
        if self.kept == KeptMessages::All {
            if is_kept {
                self.log(message);
            }
            return;
        }
        let is_kept = is_kept && matches!(message.schema(), SIGHTING | SOLVED | STROKES | OUTCOME);
        // Without what the checks have parsed: all messages of the run are kept.
        let kept = is_kept.then(|| Arc::new(message.without_frame()));
        let mut collected = self.lock();
        collected.add_root(stage, port, message.root());
        collected.messages.extend(kept);
    }

    fn problem(&self, problem: &Problem, _: i64) {
        if problem.kind != ProblemKind::Slow {
            self.lock().add_problem(problem);
        }
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_finished(&self, task: &Task<'_>, worked: &Completion<'_>) {
        // In a race, only the winner counts. The call at the end of the stream is not the latency of any message.
        let is_end = task.event == Event::Finish;
        if is_end || matches!(worked.result, TaskResult::Lost | TaskResult::Stopped) {
            return;
        }
        let nanoseconds = worked.ended_ns - task.began_ns - worked.waited_ns;
        if let Some(times) = self.lock().times.get_mut(task.stage) {
            times.push(u64::try_from(nanoseconds).unwrap_or(0));
        }
    }
}
