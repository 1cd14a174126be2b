//! Listens to a run, and keeps what is compared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_engine::run::{Completion, Observer, Task, TaskResult};
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{OUTCOME, SIGHTING, SOLVED, STROKES};
use flowpipe_recording::Topic;
use flowpipe_recording::entry::Call;

/// What a run says. Messages are kept as they are: reading them takes time that is not the pipeline's.
pub struct Gather {
    /// By stage: whether what it emits is its own word, and not passed on.
    speaks: Vec<bool>,
    gathered: Mutex<Gathered>,
}

/// What a run has said.
#[derive(Default)]
pub struct Gathered {
    /// Sightings, answers, strokes and outcomes.
    pub messages: Vec<Arc<Message>>,
    /// What went wrong, warnings left out.
    pub problems: Vec<Problem>,
    /// Which message descends from which, each by the output that gave it and its number there.
    pub parents: HashMap<(Topic, u64), (Topic, u64)>,
    /// By stage, how long it worked each time, nanoseconds.
    pub times: Vec<Vec<u64>>,
}

impl Gather {
    /// Nothing has been said yet, in a pipeline of as many stages.
    pub fn new(speaks: Vec<bool>) -> Self {
        let gathered = Gathered {
            times: vec![Vec::new(); speaks.len()],
            ..Gathered::default()
        };
        Self {
            speaks,
            gathered: Mutex::new(gathered),
        }
    }

    /// Everything that was said.
    pub fn take(&self) -> Gathered {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        // Nothing that holds it can panic half way.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Gather {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        let speaks = self.speaks.get(stage).copied().unwrap_or(true);
        if speaks && matches!(message.schema(), SIGHTING | SOLVED | STROKES | OUTCOME) {
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
        // Of a race, the plugin that answered.
        if matches!(worked.result, TaskResult::Lost | TaskResult::Stopped) {
            return;
        }
        let nanoseconds = worked.ended_ns - task.began_ns - worked.waited_ns;
        if let Some(times) = self.lock().times.get_mut(task.stage) {
            times.push(u64::try_from(nanoseconds).unwrap_or(0));
        }
    }
}
