//! Collects the messages of a run that are compared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_engine::run::{Completion, Observer, Task, TaskResult};
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{OUTCOME, SIGHTING, SOLVED, STROKES};
use flowpipe_recording::Topic;
use flowpipe_recording::entry::Call;

/// Collects the messages of a run. They are parsed later: parsing would slow the pipeline down.
pub struct Collector {
    /// Whether the messages are a stage's own, not forwarded ones, by stage.
    is_shown: Vec<bool>,
    collected: Mutex<Collected>,
}

/// The collected messages.
#[derive(Default)]
pub struct Collected {
    /// Sightings, answers, strokes and outcomes.
    pub messages: Vec<Arc<Message>>,
    /// Problems, without warnings.
    pub problems: Vec<Problem>,
    /// The parent of each message, both by output and number.
    pub parents: HashMap<(Topic, u64), (Topic, u64)>,
    /// The times of all calls, by stage, nanoseconds.
    pub times: Vec<Vec<u64>>,
}

impl Collector {
    /// An empty collection for a pipeline with this many stages.
    pub fn new(is_shown: Vec<bool>) -> Self {
        let collected = Collected {
            times: vec![Vec::new(); is_shown.len()],
            ..Collected::default()
        };
        Self {
            is_shown,
            collected: Mutex::new(collected),
        }
    }

    /// Takes the collected messages.
    pub fn take(&self) -> Collected {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        // No code that holds the lock can panic.
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Collector {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        let is_shown = self.is_shown.get(stage).copied().unwrap_or(true);
        if is_shown && matches!(message.schema(), SIGHTING | SOLVED | STROKES | OUTCOME) {
            self.lock().messages.push(Arc::clone(message));
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        if problem.kind != ProblemKind::Slow {
            self.lock().problems.push(problem.clone());
        }
    }

    fn wants_calls(&self) -> bool {
        true
    }

    fn call(&self, _: usize, call: &Call) {
        let Some(took) = &call.took else { return };
        let parent = (Topic::new(&took.from, &took.output), took.sequence);
        let parents = &mut self.lock().parents;
        for emitted in &call.emitted {
            let topic = Topic::new(&call.stage, &emitted.port);
            parents.insert((topic, emitted.sequence), parent.clone());
        }
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_finished(&self, task: &Task<'_>, worked: &Completion<'_>) {
        // In a race, only the winner counts.
        if matches!(worked.result, TaskResult::Lost | TaskResult::Stopped) {
            return;
        }
        let nanoseconds = worked.ended_ns - task.began_ns - worked.waited_ns;
        if let Some(times) = self.lock().times.get_mut(task.stage) {
            times.push(u64::try_from(nanoseconds).unwrap_or(0));
        }
    }
}
