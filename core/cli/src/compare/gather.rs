//! Listens to a run, and keeps what is compared.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_puzzle::message::{OUTCOME, SIGHTING, SOLVED, STROKES};
use flowpipe_runtime::message::Message;
use flowpipe_runtime::pipeline::PortRef;
use flowpipe_runtime::problem::{Problem, ProblemKind};
use flowpipe_runtime::run::{Observer, Task, Worked, Worth};

use crate::compare::frame::Failed;

/// What a run says. Messages are kept as they are: reading them takes time that is not the pipeline's.
pub struct Gather {
    /// By stage: whether what it emits is its own word, and not passed on.
    speaks: Vec<bool>,
    gathered: Mutex<Gathered>,
}

/// The message of a source that something descends from: its output and its number there.
pub type Root = (PortRef, u64);

/// What a run has said.
#[derive(Default)]
pub struct Gathered {
    /// Sightings, answers, strokes and outcomes.
    pub messages: Vec<Arc<Message>>,
    /// What went wrong, warnings left out.
    pub problems: Vec<Noted>,
    /// By stage, output and number, from 1: what each message descends from.
    roots: Vec<Vec<Vec<Root>>>,
    /// By stage, how long it worked each time, nanoseconds.
    pub times: Vec<Vec<u64>>,
}

/// Something that went wrong. Thousands may say the same.
pub struct Noted {
    pub kind: ProblemKind,
    pub plugin: Arc<str>,
    pub failed: Arc<Failed>,
    /// The input, and the number of the message that came by it.
    pub message: Option<(Arc<str>, u64)>,
}

impl Gathered {
    /// What a message descends from.
    pub fn root(&self, output: PortRef, number: u64) -> Option<Root> {
        let numbers = self.roots.get(output.stage)?.get(output.port)?;
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        numbers.get(place).copied()
    }

    /// The numbers of an output follow each other.
    fn note_root(&mut self, stage: usize, port: usize, root: Root) {
        if self.roots.len() <= stage {
            self.roots.resize(stage + 1, Vec::new());
        }
        let ports = &mut self.roots[stage];
        if ports.len() <= port {
            ports.resize(port + 1, Vec::new());
        }
        ports[port].push(root);
    }

    fn note_problem(&mut self, problem: &Problem) {
        let last = self.problems.last();
        let same = last.filter(|last| last.failed.is(problem));
        let failed = same.map(|last| last.failed.clone());
        let shared = |known: Option<&Arc<str>>, text: &String| match known {
            Some(known) if **known == **text => known.clone(),
            _ => text.as_str().into(),
        };
        let input = last.and_then(|last| Some(&last.message.as_ref()?.0));
        let message = problem.message.as_ref();
        let noted = Noted {
            kind: problem.kind,
            plugin: shared(last.map(|last| &last.plugin), &problem.plugin),
            failed: failed.unwrap_or_else(|| Arc::new(Failed::of(problem))),
            message: message.map(|it| (shared(input, &it.port), it.sequence)),
        };
        self.problems.push(noted);
    }
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
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let speaks = self.speaks.get(stage).copied().unwrap_or(true);
        let is_kept = speaks && matches!(message.schema(), SIGHTING | SOLVED | STROKES | OUTCOME);
        let mut gathered = self.lock();
        gathered.note_root(stage, port, message.root());
        if is_kept {
            gathered.messages.push(Arc::clone(message));
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        if problem.kind != ProblemKind::Slow {
            self.lock().note_problem(problem);
        }
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn worked(&self, task: &Task<'_>, worked: &Worked<'_>) {
        // Of a race, the plugin that answered.
        if matches!(worked.result, Worth::Lost | Worth::Stopped) {
            return;
        }
        let nanoseconds = worked.ended_ns - task.began_ns - worked.waited_ns;
        if let Some(times) = self.lock().times.get_mut(task.stage) {
            times.push(u64::try_from(nanoseconds).unwrap_or(0));
        }
    }
}
