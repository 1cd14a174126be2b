//! One stage of a run: what its threads share and what outlives each of them.

use std::ffi::CStr;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{self, OnError, PortRef};
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::Limits;
use flowpipe_host::message::{Message, Origin};
use flowpipe_host::problem::{MessageId, Problem, ProblemKind};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::Call;
use flowpipe_sync::lock;

use crate::edge::gate::Gate;
use crate::edge::inputs::Inputs;
use crate::edge::outputs::{OutPort, Outputs, Sending};
use crate::report::times::Times;
use crate::run::driver::Contest;
use crate::run::journal::Journal;
use crate::run::shared::Shared;
use crate::supervisor::{Policy, Settings, Threads};
use crate::watch::Watch;

/// A stage, whoever runs it at the moment.
pub(crate) struct Stage {
    pub run: Arc<Shared>,
    pub index: usize,
    pub settings: pipeline::Stage,
    pub inputs: Vec<String>,
    pub outputs: Vec<OutputPort>,
    /// Held while a message is awaited or sent, and not while the plugin works: so that the ports
    /// can be taken from a worker that hangs.
    pub ports: Mutex<Ports>,
    /// What it has sent, by output: what a stage of this name goes on with that is put in its place.
    pub sent: Vec<Arc<AtomicU64>>,
    pub counts: Arc<Counts>,
    pub times: Arc<Mutex<Times>>,
    /// By contestant.
    pub contests: Vec<Arc<Contest>>,
    /// Closed while the stage is to pause.
    pub gate: Gate,
    /// Its stream has ended, and its ports are closed.
    pub over: AtomicBool,
    /// Whether its calls are written down so that they can be run again: it says that it is
    /// deterministic.
    pub retraces: bool,
}

/// The ends of the stage's edges.
#[derive(Default)]
pub(crate) struct Ports {
    pub inputs: Inputs,
    pub outputs: Outputs,
    /// The frame that the last message descended from.
    pub origin: Option<Origin>,
}

impl Ports {
    /// The ports of a stage that nothing is joined to yet.
    pub(crate) fn unjoined(manifest: &Manifest) -> Self {
        let outputs = manifest.outputs.iter().map(|_| OutPort::default());
        Self {
            outputs: Outputs::new(outputs.collect()),
            ..Self::default()
        }
    }
}

/// What messages of an output must be.
pub(crate) struct OutputPort {
    pub name: String,
    /// `None`: the plugin names the schema of each message.
    pub schema: Option<Arc<CStr>>,
}

/// What happened in a stage.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub received: AtomicU64,
    pub emitted: AtomicU64,
    pub failed: AtomicU64,
    pub timed_out: AtomicU64,
    pub given_up: AtomicU64,
    pub restarted: AtomicU64,
}

/// Whether a stage goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    End,
}

impl Stage {
    pub(crate) fn new(
        run: Arc<Shared>,
        index: usize,
        settings: pipeline::Stage,
        manifest: &Manifest,
        ports: Ports,
    ) -> Self {
        let output = |port: &flowpipe_config::manifest::Port| OutputPort {
            name: port.name.clone(),
            schema: (port.schema != "*")
                .then(|| CString::new(port.schema.as_str()).ok().map(Arc::from))
                .flatten(),
        };
        Self {
            run,
            index,
            contests: settings
                .contestants
                .iter()
                .map(|_| Arc::default())
                .collect(),
            sent: ports
                .outputs
                .ports()
                .iter()
                .map(OutPort::sent)
                .cloned()
                .collect(),
            retraces: manifest.deterministic,
            settings,
            inputs: manifest
                .inputs
                .iter()
                .map(|port| port.name.clone())
                .collect(),
            outputs: manifest.outputs.iter().map(output).collect(),
            ports: Mutex::new(ports),
            counts: Arc::default(),
            times: Arc::default(),
            gate: Gate::default(),
            over: AtomicBool::new(false),
        }
    }

    /// A stage that takes the place of this one, which has the same ports: it goes on counting where this one stopped.
    pub(crate) fn successor(&self, settings: pipeline::Stage, manifest: &Manifest) -> Self {
        let run = self.run.clone();
        let mut next = Self::new(run, self.index, settings, manifest, Ports::default());
        next.sent.clone_from(&self.sent);
        next.counts = self.counts.clone();
        next.times = self.times.clone();
        let known = |(index, contest): (usize, &mut Arc<Contest>)| {
            let plugin = next.settings.contestants.get(index).map(|it| &it.plugin);
            let is_it = |it: &pipeline::Contestant| Some(&it.plugin) == plugin;
            let contestants = &self.settings.contestants;
            let before = match contestants.get(index).is_some_and(is_it) {
                true => Some(index),
                false => contestants.iter().position(is_it),
            };
            if let Some(before) = before.and_then(|before| self.contests.get(before)) {
                *contest = before.clone();
            }
        };
        next.contests.iter_mut().enumerate().for_each(known);
        next
    }

    /// Notes what it does to the world, by the manifests of its plugins.
    pub(crate) fn note_effects(&self, found: &[Found]) {
        let mut plugins = self.settings.contestants.iter().zip(found);
        if !self.run.dry && plugins.any(|(it, found)| found.manifest.acts(&[], &it.config)) {
            self.run.note_drives_mouse(&self.settings.name);
        }
    }

    pub(crate) fn is_source(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Whether a source has to end, or any stage after the message in hand.
    pub(crate) fn must_end(&self) -> bool {
        let mode = self.run.mode();
        mode >= Mode::Drop || mode == Mode::Drain && self.is_source()
    }

    /// How long it may take to come back from one thing.
    pub(crate) fn patience(&self) -> Duration {
        let timeout = self.settings.timeout.unwrap_or_default();
        timeout.saturating_add(self.settings.watchdog)
    }

    /// What the supervisor knows of it. `contestants`: how many plugins it has.
    pub(crate) fn supervision(&self, contestants: usize) -> Settings {
        Settings {
            policy: Policy::new(&self.settings),
            is_source: self.is_source(),
            threads: match self.settings.contestants.len() {
                _ if self.run.replay.is_some() => Threads::Replay,
                1 => Threads::One,
                _ => Threads::Race,
            },
            contestants,
            is_removed: false,
        }
    }

    /// What a call outside of `process` may take.
    pub(crate) fn limits(&self) -> Limits<'_> {
        Limits {
            run: &*self.run,
            patience: self.patience(),
        }
    }

    /// The plugin's name of one of the contestants.
    pub(crate) fn plugin(&self, contestant: usize) -> &str {
        self.settings
            .contestants
            .get(contestant)
            .map_or("?", |contestant| &contestant.plugin)
    }

    /// Sends a message out of a port of the stage, on behalf of a worker. `number`: its own, where it is not the next
    /// of the port.
    pub(crate) fn send(
        &self,
        watch: &Watch,
        port: usize,
        mut message: Message,
        number: Option<u64>,
        journal: &Journal,
    ) -> abi::Status {
        self.wait_for_observers(watch);
        let mut ports = lock(&self.ports);
        if watch.is_given_up() {
            return abi::STOPPED;
        }
        let Some(output) = ports.outputs.port(port) else {
            return abi::STOPPED;
        };
        let source = PortRef {
            stage: self.index,
            port,
        };
        message.number(number.unwrap_or_else(|| output.number()), source);
        let message = Arc::new(message);
        self.counts.emitted.fetch_add(1, Ordering::Relaxed);
        journal.note_emitted(&self.run, &message);
        for observer in &self.run.observers {
            observer.message(self.index, port, &message);
        }
        if let Some(replay) = &self.run.replay {
            replay.keep(message);
            return abi::OK;
        }
        if output.send(message, &Sender { stage: self, watch }) {
            abi::OK
        } else {
            abi::STOPPED
        }
    }

    /// Waits for those who watch and want time, as for a full queue.
    fn wait_for_observers(&self, watch: &Watch) {
        let observers = &self.run.observers;
        if observers.iter().all(|observer| !observer.wants_time()) {
            return;
        }
        watch.waits(self.run.now());
        let gives_up = || watch.is_given_up() || self.run.mode() == Mode::Abort;
        for observer in observers {
            observer.wait_for_room(&gives_up);
        }
        watch.waited(self.run.now());
    }

    /// Tells those who want to know of a call that has come back.
    pub(crate) fn tell_call(&self, call: Option<Box<Call>>) {
        if let Some(call) = call {
            for observer in &self.run.observers {
                observer.call(self.index, &call);
            }
        }
    }

    /// Notes that a message was worked on, and how long.
    pub(crate) fn note_time(&self, nanoseconds: i64) {
        lock(&self.times).note(u64::try_from(nanoseconds).unwrap_or(0));
    }

    /// The stage failed on a message: goes on or ends the run, as configured.
    pub(crate) fn fail(&self, problem: Problem) -> Then {
        match self.settings.on_error {
            OnError::Skip => {
                self.skip(problem);
                Then::GoOn
            }
            OnError::Stop => {
                self.count(&problem);
                self.run.fail(problem);
                Then::End
            }
        }
    }

    /// The stage failed on a message, which is all that it costs.
    pub(crate) fn skip(&self, problem: Problem) {
        self.count(&problem);
        self.run.report(problem);
    }

    fn count(&self, problem: &Problem) {
        let count = match problem.kind {
            ProblemKind::TimedOut => &self.counts.timed_out,
            _ => &self.counts.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// A problem of one of the stage's plugins.
    pub(crate) fn problem(
        &self,
        kind: ProblemKind,
        contestant: usize,
        message: Option<MessageId>,
        text: String,
    ) -> Problem {
        Problem {
            kind,
            stage: self.settings.name.clone(),
            plugin: self.plugin(contestant).to_owned(),
            message,
            text,
        }
    }

    /// Names a message that came by an input.
    pub(crate) fn message_id(&self, port: usize, sequence: u64, frame: u64) -> MessageId {
        MessageId {
            port: self.inputs.get(port).cloned().unwrap_or_default(),
            sequence,
            frame,
        }
    }

    /// Gives up all ports: upstream notices that nobody takes, downstream that the stream has ended.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
        let ports = std::mem::take(&mut *lock(&self.ports));
        // Dropped outside the lock: what is still queued is freed here.
        drop(ports);
    }
}

/// Keeps the time that a worker waits for full queues out of the time that it works.
struct Sender<'a> {
    stage: &'a Stage,
    watch: &'a Watch,
}

impl Sending for Sender<'_> {
    fn waits(&self) {
        self.watch.waits(self.stage.run.now());
    }

    fn waited(&self) {
        self.watch.waited(self.stage.run.now());
    }

    fn dropped(&self, edge: usize, message: &Message) {
        for observer in &self.stage.run.observers {
            observer.dropped(edge, message, self.stage.run.now());
        }
    }
}
