//! One stage of a run: the state that its threads share and that outlives each of them.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::manifest::{Carried, Content, Manifest};
use flowpipe_config::pipeline::{self, PortRef};
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::Limits;
use flowpipe_host::message::Message;
use flowpipe_host::problem::{MessageId, Problem, ProblemKind};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::Call;
use flowpipe_sync::lock;
use flowpipe_sync::tickets::Ticket;

use crate::check::SchemaChecks;
use crate::edge::Item;
use crate::edge::fed_input::{self, FedInputs, InputPort};
use crate::edge::gate::Gate;
use crate::edge::held_receipt::HeldReceipt;
use crate::edge::inputs::Inputs;
use crate::edge::outputs::{OutPort, Outputs, Sending};
use crate::report::times::Times;
use crate::run::counts::{ContestantCounts, StageCounts};
use crate::run::distributed::RemoteWorkers;
use crate::run::journal::Journal;
use crate::run::order::Order;
use crate::run::shared::Shared;
use crate::supervisor::{Decision, Policy, Settings, Slot, ThreadModel, WorkerId};
use crate::watch::{MessageSnapshot, Watch};

/// A stage of a run.
pub(crate) struct Stage {
    pub run: Arc<Shared>,
    pub index: usize,
    pub settings: pipeline::Stage,
    pub inputs: Vec<InputPort>,
    pub outputs: Vec<OutputPort>,
    /// Locked while a message is awaited, and not while a plugin is called, so that the ports can be taken from a worker
    /// that hangs.
    pub in_edges: Mutex<Inputs>,
    /// The same while a message is sent. Apart from the inputs, since another worker may wait for a message meanwhile.
    pub out_edges: Mutex<Outputs>,
    /// Whether every receiver is gone. Changed while the outputs are locked.
    pub outputs_gone: AtomicBool,
    /// `None`: it has one worker.
    pub order: Option<Order>,
    pub remote_workers: RemoteWorkers,
    /// The last sequence number of each output. A stage that replaces this one continues them.
    pub sent: Vec<Arc<AtomicU64>>,
    pub counts: Arc<StageCounts>,
    pub times: Arc<Mutex<Times>>,
    /// By contestant.
    pub contests: Vec<Arc<ContestantCounts>>,
    /// By worker: closed while the stage is to pause.
    pub gates: Vec<Gate>,
    /// Whether its stream has ended and its ports are closed.
    pub over: AtomicBool,
    /// By worker: whether its plugin has received the end of the stream.
    pub finishing: Vec<AtomicBool>,
    /// A call of it waited when the run could wait no longer: it takes no further message.
    pub waits_in_vain: AtomicBool,
    /// Whether its calls are recorded so that they can be rerun: its manifest declares it deterministic.
    pub is_deterministic: bool,
}

/// The ends of the stage's edges.
#[derive(Default)]
pub(crate) struct Ports {
    pub inputs: Inputs,
    pub outputs: Outputs,
}

impl Ports {
    /// The ports of a stage without edges.
    pub(crate) fn unconnected(manifest: &Manifest) -> Self {
        let outputs = manifest.outputs.iter().map(|_| OutPort::default());
        Self {
            outputs: Outputs::new(outputs.collect()),
            ..Self::default()
        }
    }
}

/// An output port.
pub(crate) struct OutputPort {
    pub name: String,
    /// `None`: the plugin names the schema of each message.
    pub schema: Option<Arc<CStr>>,
    /// What its messages may carry.
    pub carries: Carried,
    /// What judges its messages, if the schema is known.
    pub checks: SchemaChecks,
    /// Where its messages go. Of interest if the plugin names their schemas, or what they carry is declared.
    pub fed: FedInputs,
}

impl OutputPort {
    /// Checks that a message of this output may carry this.
    ///
    /// # Errors
    /// Why not, as the rest of a sentence about the stage.
    pub(crate) fn check_content(&self, content: Content<'_>) -> Result<(), String> {
        let carries = &self.carries;
        match carries.allows(content) {
            true => Ok(()),
            false => Err(format!(
                "a message with {content} where `carries` declares {carries}"
            )),
        }
    }
}

/// Whether a stage's loop continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopControl {
    Continue,
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
            schema: fed_input::schema(port),
            carries: port.carries.clone(),
            checks: run.checks.of(&port.schema),
            fed: FedInputs::default(),
        };
        let outputs = manifest.outputs.iter().map(output).collect();
        let workers = settings.workers;
        let this = Self {
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
            is_deterministic: manifest.deterministic,
            order: (workers > 1).then(|| Order::new(workers, settings.ordered)),
            remote_workers: RemoteWorkers::new(&run.worker_machines, index, workers),
            settings,
            inputs: manifest.inputs.iter().map(InputPort::new).collect(),
            outputs,
            run,
            in_edges: Mutex::new(ports.inputs),
            out_edges: Mutex::new(ports.outputs),
            outputs_gone: AtomicBool::new(false),
            counts: Arc::default(),
            times: Arc::default(),
            gates: (0..workers).map(|_| Gate::default()).collect(),
            over: AtomicBool::new(false),
            waits_in_vain: AtomicBool::new(false),
            finishing: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        };
        this.note_outputs(&lock(&this.out_edges));
        this
    }

    /// Creates a stage that replaces this one and has the same ports. It continues this one's counts.
    pub(crate) fn successor(&self, settings: pipeline::Stage, manifest: &Manifest) -> Self {
        let run = self.run.clone();
        let mut next = Self::new(run, self.index, settings, manifest, Ports::default());
        next.sent.clone_from(&self.sent);
        next.counts = self.counts.clone();
        next.times = self.times.clone();
        let known = |(index, contest): (usize, &mut Arc<ContestantCounts>)| {
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

    /// Whether it drives the mouse, by the manifests of its plugins.
    pub(crate) fn drives_mouse(&self, found: &[Found]) -> bool {
        let mut plugins = self.settings.contestants.iter().zip(found);
        !self.run.dry && plugins.any(|(it, found)| found.manifest.acts(&[], &it.config))
    }

    /// How many workers it has: without those that have ended because their machines are dead.
    pub(crate) fn active_workers(&self) -> u64 {
        let lost = self.remote_workers.lost();
        self.settings.workers.saturating_sub(lost) as u64
    }

    /// One of its workers.
    pub(crate) fn worker_id(&self, worker: usize) -> WorkerId {
        WorkerId {
            stage: self.index,
            worker,
        }
    }

    /// The supervisor's slots, worker by worker. `contestants`: the number of plugins of each.
    pub(crate) fn slots(&self, contestants: usize) -> impl Iterator<Item = Slot> + use<> {
        let stage = self.index;
        (0..self.settings.workers).flat_map(move |worker| {
            (0..contestants).map(move |contestant| WorkerId { stage, worker }.slot(contestant))
        })
    }

    /// Whether its plugins race.
    pub(crate) fn races(&self) -> bool {
        self.settings.contestants.len() > 1
    }

    pub(crate) fn is_source(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Whether the stage has to end after the current call.
    pub(crate) fn must_end(&self) -> bool {
        self.run.mode().ends(self.is_source()) || self.waits_in_vain.load(Ordering::Relaxed)
    }

    /// How soon a call that has not started yet may need a check.
    pub(crate) fn first_check(&self) -> Duration {
        let watchdog = self.settings.watchdog;
        self.settings.timeout.unwrap_or(watchdog).min(watchdog)
    }

    /// How long one call may take.
    pub(crate) fn patience(&self) -> Duration {
        let timeout = self.settings.timeout.unwrap_or_default();
        timeout.saturating_add(self.settings.watchdog)
    }

    /// The supervisor's settings of the stage. `contestants`: the number of plugins of each worker.
    pub(crate) fn supervision(&self, contestants: usize) -> Settings {
        Settings {
            policy: match self.run.replay {
                Some(_) => Policy::replay(&self.settings),
                None => Policy::new(&self.settings),
            },
            is_source: self.is_source(),
            threads: match contestants {
                _ if self.run.replay.is_some() => ThreadModel::Replay,
                // None: another machine runs it.
                0 | 1 => ThreadModel::One,
                _ => ThreadModel::Race,
            },
            workers: self.settings.workers,
            contestants,
            timeout: self.settings.timeout,
            watchdog: self.settings.watchdog,
        }
    }

    /// The limits of calls other than `process`.
    pub(crate) fn limits(&self) -> Limits<'_> {
        Limits {
            run: &*self.run,
            patience: self.patience(),
        }
    }

    /// The name of an input. Empty: it has no such input.
    pub(crate) fn input_name(&self, port: usize) -> &str {
        self.inputs.get(port).map_or("", |input| &input.name)
    }

    /// Whether an input takes a message. False: it has no such input.
    pub(crate) fn takes(&self, port: usize, message: &Message) -> bool {
        let input = self.inputs.get(port);
        input.is_some_and(|input| input.takes(&message.schema, message.content()))
    }

    /// The plugin name of a contestant.
    pub(crate) fn plugin(&self, contestant: usize) -> &str {
        self.settings
            .contestants
            .get(contestant)
            .map_or("?", |contestant| &contestant.plugin)
    }

    /// Sends a message through an output port, on behalf of a worker. `number`: its sequence number, if not the next
    /// one of the port.
    pub(crate) fn send(
        &self,
        watch: &Watch,
        port: usize,
        mut message: Message,
        receipt: &HeldReceipt,
        number: Option<u64>,
        journal: &Journal,
    ) -> abi::Status {
        self.wait_for_observers(watch);
        let mut outputs = lock(&self.out_edges);
        if watch.is_abandoned() {
            return abi::STOPPED;
        }
        // A race that is decided has released it. Its winner may have been abandoned since the check above.
        let Ok(receipt) = receipt.share() else {
            return abi::STOPPED;
        };
        let Some(output) = outputs.port(port) else {
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
        let item = Item { message, receipt };
        if output.send(item, &TimedSender { stage: self, watch }) {
            abi::OK
        } else {
            self.note_gone(&outputs);
            abi::STOPPED
        }
    }

    /// Notes whether every receiver is gone.
    fn note_gone(&self, outputs: &Outputs) {
        let are_gone = outputs.are_gone();
        self.outputs_gone.store(are_gone, Ordering::Relaxed);
    }

    /// Notes where messages go from now on. No worker emits meanwhile.
    pub(crate) fn note_outputs(&self, outputs: &Outputs) {
        self.note_gone(outputs);
        for (output, port) in self.outputs.iter().zip(outputs.ports()) {
            output.fed.set(port.fed());
        }
    }

    /// A worker has finished a message.
    pub(crate) fn finish_ticket(&self, ticket: Option<Ticket>) {
        if let (Some(order), Some(ticket)) = (&self.order, ticket) {
            order.finish(ticket);
        }
    }

    /// Waits for observers that want time, as for a full queue.
    fn wait_for_observers(&self, watch: &Watch) {
        let observers = &self.run.observers;
        if observers.iter().all(|observer| !observer.wants_time()) {
            return;
        }
        watch.begin_wait(self.run.now());
        let gives_up = || watch.is_abandoned() || self.run.mode() == Mode::Abort;
        for observer in observers {
            observer.wait_for_room(&gives_up);
        }
        watch.end_wait(self.run.now());
    }

    /// Reports a call that has returned to the observers.
    pub(crate) fn report_call(&self, call: Option<Box<Call>>) {
        if let Some(call) = call {
            for observer in &self.run.observers {
                observer.call(self.index, &call);
            }
        }
    }

    /// Notes how long a message was processed.
    pub(crate) fn note_latency(&self, nanoseconds: i64) {
        lock(&self.times).note(u64::try_from(nanoseconds).unwrap_or(0));
    }

    /// Handles a failure on a message as the supervisor has decided: it costs the message, or ends the run.
    pub(crate) fn conclude(&self, problem: Problem, decision: Decision) {
        match decision {
            Decision::Continue | Decision::Restart(_) => self.skip(problem),
            Decision::End => {
                self.count(&problem);
                self.run.fail(problem);
            }
        }
    }

    /// Handles a failure that costs only the message.
    fn skip(&self, problem: Problem) {
        self.count(&problem);
        self.run.report(problem);
    }

    /// Reports that a call was cancelled because it waited while the run ended, which is no failure of the run.
    pub(crate) fn lose(&self, contestant: usize, message: Option<MessageSnapshot>) {
        let message = message.map(|it| self.message_id(it.port, it.sequence, it.frame));
        let lost = match message {
            Some(_) => ": this message is lost, and so are those behind it",
            None => "",
        };
        let text = format!("it still waited when the run was ending{lost}");
        self.skip(self.problem(ProblemKind::TimedOut, contestant, message, text));
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
            port: self.input_name(port).to_owned(),
            sequence,
            frame,
            source: None,
        }
    }

    /// Closes all ports: senders notice that the receiver is gone, receivers that the stream has ended.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
        let inputs = std::mem::take(&mut *lock(&self.in_edges));
        let outputs = std::mem::take(&mut *lock(&self.out_edges));
        // Dropped outside the locks: this frees the queued messages.
        drop((inputs, outputs));
    }
}

/// Excludes waits for full queues from the worker's call time.
struct TimedSender<'a> {
    stage: &'a Stage,
    watch: &'a Watch,
}

impl Sending for TimedSender<'_> {
    fn begin_wait(&self) {
        self.watch.begin_wait(self.stage.run.now());
    }

    fn end_wait(&self) {
        self.watch.end_wait(self.stage.run.now());
    }

    fn dropped(&self, edge: usize, message: &Message) {
        for observer in &self.stage.run.observers {
            observer.dropped(edge, message, self.stage.run.now());
        }
    }
}
