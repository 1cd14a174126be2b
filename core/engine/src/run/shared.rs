//! The state that all threads of a run share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::OnStop;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_host::run::StageProcess;
use flowpipe_host::run::{Ended, Mode, RunContext};
use flowpipe_host::table::Services;
use flowpipe_isolation::Program;
use flowpipe_sync::lock;

use crate::check::Checks;
use crate::report::marks::Marks;
use crate::run::Observer;
use crate::run::distributed::WorkerMachine;
use crate::run::event::ControlEvent;
use crate::run::message_schemas::{DeclaredSchema, MessageSchemas};
use crate::run::names::Names;
use crate::run::replay::Replay;
use crate::supervisor::{self, Action, StopCause, Supervisor};

/// One run.
pub(crate) struct Shared {
    pub services: Arc<Services>,
    pub checks: Checks,
    /// The JSON Schemas that configs declare. A reload replaces them.
    message_schemas: RwLock<MessageSchemas>,
    /// Whether there are any: most runs have none.
    has_message_schemas: AtomicBool,
    pub observers: Vec<Arc<dyn Observer>>,
    /// Whether an observer wants calls.
    pub logs_calls: bool,
    /// Whether an observer wants tasks.
    pub reports_tasks: bool,
    /// The replay, if this run is one.
    pub replay: Option<Arc<Replay>>,
    pub names: Names,
    pub marks: Marks,
    /// A dry run: no effects outside of the program.
    pub dry: bool,
    /// Whether other machines run stages.
    pub has_machines: bool,
    /// To the control thread.
    pub events: Sender<ControlEvent>,
    /// The states of all plugins.
    supervisor: Mutex<Supervisor>,
    /// Locked while a plugin is in a `[control-thread]` call.
    calls: Mutex<()>,
    /// The mode that the supervisor has set, for all threads to read.
    mode: AtomicU8,
    /// How long stages may wait once the run is on its way to the end.
    last_wait: Duration,
    /// When that time is over. [`i64::MAX`]: the run goes on.
    last_wait_until: AtomicI64,
    ended: Mutex<Option<Ended>>,
    problems: Mutex<Problems>,
    /// The names of stages that drive the mouse.
    drives_mouse: Mutex<BTreeSet<String>>,
    /// The processes of stages.
    processes: Mutex<Vec<Weak<dyn StageProcess>>>,
    /// How processes for stages are started.
    pub program: Option<Program>,
    /// The machines of workers that are not here, by stage and worker.
    pub worker_machines: BTreeMap<(usize, usize), Arc<dyn WorkerMachine>>,
}

/// The problems so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    /// The number of each kind.
    pub counts: HashMap<ProblemKind, u64>,
    /// The first ones, in full.
    pub first: Vec<Problem>,
    /// The one that ended the run.
    pub failure: Option<Problem>,
    /// The first crash or hang of a stage that drove the mouse.
    pub mouse_lost: Option<Problem>,
}

/// The number of problems that are kept for the report and logged as warnings.
const KEPT: usize = 100;

/// How long a thread waits for another one that creates or destroys a plugin.
const CALL_PATIENCE: Duration = Duration::from_secs(10);

impl Shared {
    pub(crate) fn new(
        services: Arc<Services>,
        options: super::Options,
        names: Names,
        on_stop: OnStop,
        events: Sender<ControlEvent>,
    ) -> Self {
        let mut supervisor = Supervisor::default();
        supervisor.handle(supervisor::Event::OnStop(on_stop), 0);
        Self {
            services,
            checks: Checks::new(options.validators),
            message_schemas: RwLock::default(),
            has_message_schemas: AtomicBool::new(false),
            logs_calls: options
                .observers
                .iter()
                .any(|observer| observer.wants_calls()),
            reports_tasks: options
                .observers
                .iter()
                .any(|observer| observer.wants_tasks()),
            observers: options.observers,
            replay: options.replay,
            names,
            marks: Marks::default(),
            dry: options.dry,
            has_machines: !options.elsewhere.is_empty(),
            events,
            supervisor: Mutex::new(supervisor),
            calls: Mutex::default(),
            mode: AtomicU8::new(0),
            last_wait: options.last_wait,
            last_wait_until: AtomicI64::new(i64::MAX),
            ended: Mutex::default(),
            problems: Mutex::default(),
            drives_mouse: Mutex::default(),
            processes: Mutex::default(),
            program: options.program,
            worker_machines: options.worker_machines,
        }
    }

    /// Nanoseconds since the run began.
    pub(crate) fn now(&self) -> i64 {
        self.services.clock.now()
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Relaxed) {
            0 => Mode::Run,
            1 => Mode::Drain,
            2 => Mode::Drop,
            _ => Mode::Abort,
        }
    }

    /// Reports an event to the supervisor, and returns the actions to perform. See
    /// [`Event::is_from_any_thread`](supervisor::Event::is_from_any_thread) for which thread may report which event.
    pub(crate) fn supervise(&self, event: supervisor::Event) -> Vec<Action> {
        let mut supervisor = self.supervisor();
        supervisor.handle(event, self.now())
    }

    /// Ends the run as the supervisor decides.
    pub(crate) fn stop(&self, cause: StopCause) {
        for action in self.supervise(supervisor::Event::Stop(cause)) {
            if let Action::SetMode(mode) = action {
                self.set_mode(mode);
            }
        }
    }

    pub(crate) fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        lock(&self.supervisor)
    }

    /// Sets the run's mode, unless it is further already, and notifies the control thread.
    pub(crate) fn set_mode(&self, mode: Mode) {
        let before = self.mode.fetch_max(mode as u8, Ordering::SeqCst);
        if before == Mode::Run as u8 && mode > Mode::Run {
            let last_wait = i64::try_from(self.last_wait.as_nanos()).unwrap_or(i64::MAX);
            let until = self.now().saturating_add(last_wait);
            self.last_wait_until.store(until, Ordering::Relaxed);
        }
        if before < mode as u8 {
            for process in lock(&self.processes).iter().filter_map(Weak::upgrade) {
                process.set_mode(self.mode());
            }
            // Disconnected only when the run is over.
            let _ = self.events.send(ControlEvent::Nudge);
        }
    }

    /// Whether stages may no longer wait: the run is on its way to the end, and has waited for them.
    pub(crate) fn ends_waits(&self) -> bool {
        let until = self.last_wait_until.load(Ordering::Relaxed);
        until != i64::MAX && self.now() >= until
    }

    /// Sets what a request to stop does with queued messages. Returns whether that is a change.
    pub(crate) fn set_on_stop(&self, on_stop: OnStop) -> bool {
        let mut supervisor = self.supervisor();
        let before = supervisor.on_stop();
        supervisor.handle(supervisor::Event::OnStop(on_stop), self.now());
        before != on_stop
    }

    /// Acquires the right to make `[control-thread]` calls, which one thread at a time has. `None`: such a call of
    /// another thread does not return.
    pub(crate) fn control_calls(&self) -> Option<MutexGuard<'_, ()>> {
        let began = Instant::now();
        loop {
            let calls = self.try_control_calls();
            if calls.is_some() || began.elapsed() > CALL_PATIENCE {
                return calls;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// As [`Self::control_calls`], without waiting. `None`: another thread has the right.
    pub(crate) fn try_control_calls(&self) -> Option<MutexGuard<'_, ()>> {
        match self.calls.try_lock() {
            Ok(calls) => Some(calls),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether the run was asked to stop.
    pub(crate) fn was_asked(&self) -> bool {
        self.supervisor().was_asked()
    }

    /// The stage that ended the run, if any.
    pub(crate) fn ended(&self) -> Option<Ended> {
        lock(&self.ended).clone()
    }

    /// Sets the names of the stages that drive the mouse: a run in which one of them crashes or hangs has failed.
    pub(crate) fn set_drives_mouse(&self, stages: BTreeSet<String>) {
        *lock(&self.drives_mouse) = stages;
    }

    /// Sets the JSON Schemas of messages, by schema id.
    pub(crate) fn set_message_schemas(&self, schemas: MessageSchemas) {
        let has_any = !schemas.is_empty();
        let current = self.message_schemas.write();
        self.has_message_schemas.store(has_any, Ordering::Relaxed);
        *current.unwrap_or_else(PoisonError::into_inner) = schemas;
    }

    /// The JSON Schema of messages of a schema id, if a config declares one.
    pub(crate) fn message_schema(&self, id: &str) -> Option<Arc<DeclaredSchema>> {
        if !self.has_message_schemas.load(Ordering::Relaxed) {
            return None;
        }
        let schemas = self.message_schemas.read();
        let schemas = schemas.unwrap_or_else(PoisonError::into_inner);
        schemas.get(id).cloned()
    }

    /// Counts and logs a problem, and notifies the observers.
    pub(crate) fn report(&self, problem: Problem) {
        let is_death = matches!(problem.kind, ProblemKind::Crashed | ProblemKind::Hang);
        let is_mouse_loss = is_death && lock(&self.drives_mouse).contains(&problem.stage);
        let kept = {
            let mut problems = lock(&self.problems);
            *problems.counts.entry(problem.kind).or_default() += 1;
            if is_mouse_loss {
                problems.mouse_lost.get_or_insert_with(|| problem.clone());
            }
            let kept = problems.first.len() < KEPT;
            if kept {
                problems.first.push(problem.clone());
            }
            kept
        };
        if kept {
            tracing::warn!("{problem}");
        } else {
            tracing::debug!("{problem}");
        }
        for observer in &self.observers {
            observer.problem(&problem, self.now());
        }
    }

    /// Reports the problem that ends the run, and ends it. The first such problem is the run's failure.
    pub(crate) fn fail(&self, problem: Problem) {
        lock(&self.problems)
            .failure
            .get_or_insert_with(|| problem.clone());
        self.report(problem);
        self.stop(StopCause::Failure);
    }

    /// The number of problems of each kind.
    pub(crate) fn problem_counts(&self) -> BTreeMap<String, u64> {
        lock(&self.problems).by_word()
    }

    /// The memory that the processes of stages have resident, by the stage's name.
    pub(crate) fn resident_bytes(&self) -> BTreeMap<String, u64> {
        let processes = lock(&self.processes).clone();
        let mut all = BTreeMap::new();
        for process in processes.iter().filter_map(Weak::upgrade) {
            if let Some((stage, bytes)) = process.resident_bytes() {
                let total: &mut u64 = all.entry(stage.to_owned()).or_default();
                *total = total.saturating_add(bytes);
            }
        }
        all
    }

    pub(crate) fn problems(&self) -> Problems {
        lock(&self.problems).clone()
    }
}

impl Problems {
    /// The number of each kind, by its name.
    pub(crate) fn by_word(&self) -> BTreeMap<String, u64> {
        let counts = self.counts.iter();
        counts
            .map(|(of, count)| (of.word().to_owned(), *count))
            .collect()
    }
}

impl RunContext for Shared {
    fn mode(&self) -> Mode {
        self.mode()
    }

    fn is_dry(&self) -> bool {
        self.dry
    }

    fn end(&self, ended: Ended) {
        let how = ended.how;
        tracing::info!(stage = ended.stage, "the run ends: {}", ended.reason);
        lock(&self.ended).get_or_insert(ended);
        self.stop(StopCause::Stage(how));
    }

    fn follow(&self, process: &Arc<dyn StageProcess>) {
        let mut processes = lock(&self.processes);
        processes.retain(|process| process.strong_count() > 0);
        processes.push(Arc::downgrade(process));
        process.set_mode(self.mode());
    }
}
