//! The workers that this machine has for another one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_engine::run::distributed::WorkerPlace;
use flowpipe_engine::run::served::{ServedInstance, WorkerHost};
use flowpipe_engine::run::worker_call::{Polls, WorkerCall, WorkerDone};
use flowpipe_host::clock::Clock;
use flowpipe_host::frame::Frame;
use flowpipe_host::run::RunContext;
use flowpipe_host::stage_clock::ClockSource;
use flowpipe_link::clock_offset::Offset;
use flowpipe_link::link::Link;
use flowpipe_link::session::MessageId;

use super::HeldNumbers;
use super::call::{Call, CallControl, DistantRun};
use super::held::HeldMessages;
use super::packets::{Packet, PacketSender};
use super::protocol::{Command, FromWorker, ToWorker, WorkerAnswer, place};
use crate::frame_coding::FrameDecoder;

/// How long plugins have to clean up when the other machine needs them no more.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is checked whether they have.
const STEP: Duration = Duration::from_millis(5);
/// How many instances may be there for each place: one, and those that hang or are being destroyed.
const MOST_INSTANCES: usize = 40;

/// What this machine may be asked to run for another one, and by what.
pub struct Served {
    /// Creates the instances.
    pub host: Arc<WorkerHost>,
    /// The stages and workers.
    pub workers: Vec<(usize, usize)>,
    /// The clock of the run here.
    pub clock: Clock,
    /// A dry run here: the workers have no effects outside of the program, whatever the other machine asks for.
    pub is_dry: bool,
}

/// The workers that this machine has for another one.
pub(crate) struct Server {
    served: Served,
    answers: Arc<PacketSender>,
    run: Arc<DistantRun>,
    held: Arc<HeldMessages>,
    /// By number.
    instances: HashMap<u64, Instance>,
    /// All that have not ended.
    threads: Vec<JoinHandle<()>>,
}

/// An instance that is called.
struct Instance {
    place: WorkerPlace,
    control: Arc<CallControl>,
    work: Sender<InstanceWork>,
    statuses: Sender<abi::Status>,
}

/// What the thread of an instance does next.
enum InstanceWork {
    Process(u64, WorkerCall),
    /// A call that can't be processed, for this reason.
    Refuse(u64, String),
    Reset,
}

/// What the thread of an instance needs.
struct InstanceThread {
    instance: u64,
    place: WorkerPlace,
    host: Arc<WorkerHost>,
    clock: Clock,
    control: Arc<CallControl>,
    answers: Arc<PacketSender>,
    held: Arc<HeldMessages>,
    work: Receiver<InstanceWork>,
    statuses: Receiver<abi::Status>,
}

impl Server {
    pub(crate) fn new(served: Served, answers: &Arc<PacketSender>) -> Self {
        let answers = answers.clone();
        Self {
            run: DistantRun::new(&answers, served.is_dry),
            served,
            answers,
            held: Arc::default(),
            instances: HashMap::new(),
            threads: Vec::new(),
        }
    }

    /// Does what the other machine sends, until it needs nothing more or is dead. `clock`: of the other machine. `refuse`
    /// is called with what is malformed. `report` is called at the end with the messages whose answers the other machine does
    /// not have.
    pub(crate) fn serve(
        mut self,
        link: &Link,
        arrivals: &Receiver<(MessageId, Vec<u8>)>,
        clock: impl Fn(MessageId) -> Option<Offset>,
        refuse: impl Fn(&str),
        report: impl FnOnce(HeldNumbers),
    ) {
        let mut frames = FrameDecoder::default();
        for (id, body) in arrivals {
            let Some(clock) = clock(id) else {
                break;
            };
            let accepted = Packet::<ToWorker>::decode(&body, &mut frames, self.answers.sharing())
                .ok_or_else(|| "a call of a worker is malformed".to_owned())
                .and_then(|packet| self.accept(packet, clock));
            link.take(id.channel);
            link.done(id);
            if let Err(reason) = accepted {
                refuse(&reason);
                // It would wait for an answer.
                link.give_up();
            }
        }
        report(self.held.unanswered(self.answers.finished()));
        self.end();
    }

    fn accept(&mut self, packet: Packet<ToWorker>, clock: Offset) -> Result<(), String> {
        let Packet { what, json, pixels } = packet;
        let ToWorker { instance, what } = what;
        let what = match what {
            Command::Create {
                stage,
                worker,
                plugin,
                clock,
                dry,
                mode,
            } => {
                self.run.set_mode(mode);
                if dry {
                    self.run.set_dry();
                }
                return self.create(instance, place(stage, worker, plugin), clock);
            }
            what => what,
        };
        let Some(it) = self.instances.get(&instance) else {
            // It was given up.
            return Ok(());
        };
        match what {
            Command::Process {
                event,
                call,
                message,
            } => {
                let is_possible = match event {
                    abi::EVENT_MESSAGE => message.is_some(),
                    abi::EVENT_FINISH => message.is_none(),
                    _ => false,
                };
                if !is_possible {
                    return Err("it calls a worker as no run does".to_owned());
                }
                if let Some(message) = &message {
                    let (stage, sequence) = (it.place.stage, message.sequence());
                    self.held.add(instance, stage, sequence, call);
                }
                let owner = u32::try_from(it.place.stage).unwrap_or(u32::MAX);
                let work = match pixels.frame(self.served.host.pool(), owner) {
                    Ok(frame) => {
                        let message = message.map(|it| it.message(json, frame, clock));
                        InstanceWork::Process(call, WorkerCall { event, message })
                    }
                    // What it has of other calls may be freed soon.
                    Err(why) => InstanceWork::Refuse(call, why),
                };
                return pass(&it.work, work);
            }
            Command::Reset => return pass(&it.work, InstanceWork::Reset),
            Command::Status(status) => return pass(&it.statuses, status),
            Command::Control { mode, cancelled } => {
                it.control.set_cancelled(cancelled);
                self.run.set_mode(mode);
            }
            Command::Kill => {
                self.held.remove(instance);
                if let Some(it) = self.instances.remove(&instance) {
                    it.control.give_up("it hangs");
                }
            }
            // Its thread destroys it.
            Command::Destroy => {
                self.held.remove(instance);
                drop(self.instances.remove(&instance));
            }
            Command::Create { .. } => {}
        }
        Ok(())
    }

    fn create(
        &mut self,
        instance: u64,
        place: WorkerPlace,
        clock: ClockSource,
    ) -> Result<(), String> {
        self.threads.retain(|thread| !thread.is_finished());
        let is_served = self.served.workers.contains(&(place.stage, place.worker));
        if !is_served || place.plugin >= self.served.host.plugins(place.stage) {
            return Err("it needs a worker that is not of this machine".to_owned());
        }
        let is_there = self.instances.values().any(|it| it.place == place);
        if is_there || self.instances.contains_key(&instance) {
            return Err("it needs a worker twice".to_owned());
        }
        let most = self.served.workers.len() * MOST_INSTANCES;
        if self.threads.len() >= most {
            let why = "too many of its workers hang".to_owned();
            self.answer(instance, WorkerAnswer::not_created(why));
            return Ok(());
        }
        let control = CallControl::new(&self.run);
        let (work, works) = crossbeam_channel::bounded(1);
        let (statuses, received) = crossbeam_channel::bounded(1);
        let name = self.served.host.name(place.stage);
        self.run.add(name, place.stage);
        let thread = InstanceThread {
            instance,
            place,
            host: self.served.host.clone(),
            clock: self.served.clock,
            control: control.clone(),
            answers: self.answers.clone(),
            held: self.held.clone(),
            work: works,
            statuses: received,
        };
        let run: Arc<dyn RunContext> = self.run.clone();
        let started = std::thread::Builder::new()
            .name(format!("{name}#{}", place.worker + 1))
            .spawn(move || thread.run(&clock, &run));
        match started {
            Ok(thread) => {
                self.threads.push(thread);
                let instance_of = Instance {
                    place,
                    control,
                    work,
                    statuses,
                };
                self.instances.insert(instance, instance_of);
            }
            Err(error) => {
                let why = format!("its thread can't be started: {error}");
                self.answer(instance, WorkerAnswer::not_created(why));
            }
        }
        Ok(())
    }

    fn answer(&self, instance: u64, answer: WorkerAnswer) {
        let answer = FromWorker::new(instance, Polls::default(), answer);
        // The other machine is dead.
        let _ = self.answers.send(answer, b"", None);
    }

    /// Destroys all instances. One that hangs stays.
    fn end(self) {
        for instance in self.instances.into_values() {
            instance.control.give_up("the other machine is dead");
        }
        let deadline = Instant::now() + CLEAN_UP_TIMEOUT;
        let all_have_ended = || self.threads.iter().all(JoinHandle::is_finished);
        while !all_have_ended() && Instant::now() < deadline {
            std::thread::sleep(STEP);
        }
        self.answers.end();
    }
}

/// Passes something on to the thread of an instance, which waits for it.
fn pass<T>(to: &Sender<T>, what: T) -> Result<(), String> {
    match to.try_send(what) {
        Err(TrySendError::Full(_)) => Err("it does not wait for its worker".to_owned()),
        // It has ended, and has answered that.
        Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
    }
}

/// The result of a call that failed, for this reason.
fn refused(why: String) -> WorkerDone {
    WorkerDone {
        status: abi::ERROR,
        error: Some((abi::ERROR, why)),
        ..WorkerDone::default()
    }
}

impl InstanceThread {
    /// Creates the instance, does its work, and destroys it.
    fn run(self, clock: &ClockSource, run: &Arc<dyn RunContext>) {
        let work = std::panic::AssertUnwindSafe(|| self.work(clock, run));
        let result = std::panic::catch_unwind(work);
        if result.is_err() {
            let text = "its thread panicked, which is a bug in flowpipe itself".to_owned();
            self.answer(WorkerAnswer::Done {
                status: abi::ERROR,
                error: None,
                clock: Vec::new(),
                death: Some((false, text)),
            });
        }
    }

    fn work(&self, clock: &ClockSource, run: &Arc<dyn RunContext>) {
        let created = {
            let _calls = self.host.control_calls();
            self.host.create(self.place, clock, run)
        };
        let mut instance = match created {
            Ok(instance) => instance,
            Err(error) => {
                let why = error.to_string();
                self.answer(WorkerAnswer::not_created(why));
                return;
            }
        };
        if let Some(process) = instance.process_of() {
            // It is set once.
            let _ = self.control.process.set(process);
        }
        let clock = instance.created().clock;
        self.answer(WorkerAnswer::Created { clock });
        for work in &self.work {
            let (call, done) = match work {
                InstanceWork::Process(number, call) => {
                    self.control.begin(number);
                    (Some(number), self.process(&mut instance, call))
                }
                InstanceWork::Refuse(number, why) => {
                    self.control.begin(number);
                    (Some(number), refused(why))
                }
                InstanceWork::Reset => (None, instance.reset()),
            };
            let packet = self.answer(WorkerAnswer::done(done));
            if let (Some(call), Some(packet)) = (call, packet) {
                self.held.answer(self.instance, call, packet);
            }
        }
        let _calls = self.host.control_calls();
        instance.destroy();
    }

    fn process(&self, instance: &mut ServedInstance, call: WorkerCall) -> WorkerDone {
        if let Some(message) = &call.message {
            let schema = std::ffi::CString::new(message.schema.as_str()).unwrap_or_default();
            let port = message.port as usize;
            let content = message.frame.as_ref();
            let content = content.map_or(Content::Nothing, Frame::content);
            if !self.host.takes(self.place, port, &schema, content) {
                return refused("the message is none that it takes".to_owned());
            }
        }
        let context = Call {
            instance: self.instance,
            control: &self.control,
            answers: &self.answers,
            statuses: &self.statuses,
            clock: self.clock,
            is_awaited: AtomicBool::new(false),
            is_too_long: AtomicBool::new(false),
        };
        // Of the call before: its status came after it had returned.
        while self.statuses.try_recv().is_ok() {}
        let done = instance.process(call, &context);
        context.result(done.unwrap_or_else(refused))
    }

    /// Returns the number of the packet, if it was sent.
    fn answer(&self, answer: WorkerAnswer) -> Option<u64> {
        // Its call was cut short, and what it returned is not its answer.
        if self.control.is_given_up() {
            return None;
        }
        let answer = FromWorker::new(self.instance, self.control.polls(), answer);
        // Otherwise the other machine is dead, and this thread ends, too.
        self.answers.send(answer, b"", None).ok()
    }
}
