//! A run whose stages are on several machines.

mod cycles;
mod distribution;
mod ended;
mod given_options;
pub mod lack;
mod notices;
mod observed;
mod observer;
pub mod placement;
pub mod progress;
mod starting;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::{Machines, Pipeline};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::remote::RemoteEnds;
use flowpipe_engine::run::{Options, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_link::clock_offset::Offset;
use flowpipe_machines::{
    Bridge, Facts, Observation, ObservationRouter, Observers, Peer, PeerSettings, Topology, Wanted,
    agree, whole_report,
};
use flowpipe_recorder::record::{Recorder, Recording, TransferReader};
use flowpipe_recorder::trace::Tracer;
use flowpipe_recording::{WriteError, bytes_hash};
use flowpipe_sync::lock;
use flowpipe_terminal::{eprintln, escape};

use crate::exit::Failure;
use crate::machines::cycles::DividedCycles;
use crate::machines::ended::{EndedLink, EndedMachine};
pub use crate::machines::ended::{EndedMachines, size};
pub use crate::machines::given_options::GivenOptions;
use crate::machines::notices::NoticeScope;
use crate::machines::observed::{Observations, RecordedMachine};
use crate::machines::progress::{LinkProgress, OtherProgress, ProgressClock};
use crate::machines::starting::StartingPeers;
use crate::machines::waiting::{WaitNotice, wait_for_others, wait_for_sending};
use crate::record::{LossMode, RecordedRun};
use crate::{installed_facts, signals, transports};

/// How long a machine waits for the others at the start.
const START_TIMEOUT: Duration = Duration::from_secs(600);
/// How often a caller is called back while the connections to the others are closed, which takes a moment.
const END_INTERVAL: Duration = Duration::from_millis(1);

/// The other machines of a run, which are ready to start.
pub struct OtherMachines {
    pipeline: Pipeline,
    own: usize,
    peers: StartingPeers,
    /// By machine, of all that are connected to this one, also over others.
    observations: BTreeMap<usize, Arc<Observations>>,
    router: ObservationRouter,
    observers: Observers,
    progress: OtherProgress,
    /// The clock of the run here, and how it was set.
    clock: Clock,
    clock_setting: Offset,
    /// What another machine records or traces.
    sent: Vec<Recording>,
    ending: Arc<Ending>,
}

/// The other machines of an active run.
pub struct Bridges {
    pipeline: Pipeline,
    own: usize,
    /// By machine.
    bridges: BTreeMap<usize, Bridge>,
    observations: BTreeMap<usize, Arc<Observations>>,
    router: ObservationRouter,
    progress: ProgressClock,
    cycles: DividedCycles,
    sent: Vec<Recording>,
    /// The clocks of all were set to the same time.
    has_common_clock: bool,
    /// The machines that know that the run ends here.
    stopped: BTreeSet<usize>,
    /// The machines that know of another one that is dead and had workers alone.
    sent_deaths: BTreeSet<(usize, usize)>,
    ending: Arc<Ending>,
    /// When the run started.
    began: Instant,
}

/// How a run ends because of other machines.
#[derive(Default)]
struct Ending {
    has_lost: AtomicBool,
    /// That a machine is dead or did not start, and which.
    reason: OnceLock<String>,
    /// The other machine that has ended it.
    machine: OnceLock<usize>,
    /// The machines that did not start, or that go on without this one, which was printed.
    reported: Mutex<BTreeSet<usize>>,
    /// Whether a machine is dead that had workers alone.
    has_lost_workers: AtomicBool,
    /// The machines that are dead and had workers alone, as far as this one knows.
    dead_workers: Mutex<BTreeSet<usize>>,
}

/// Checks the name of this machine. `None`: the pipeline has no machines.
///
/// # Errors
/// When a pipeline with machines has no such machine, or a name is given for one without.
pub fn own(machines: &Machines, name: Option<&str>) -> Result<Option<usize>, Failure> {
    let names: Vec<_> = machines.all.iter().map(|it| it.name.as_str()).collect();
    let all = names.join(", ");
    match name {
        None if names.is_empty() => Ok(None),
        None => Err(Failure::Usage(format!(
            "the pipeline runs on several machines: name this one with --machine ({all})"
        ))),
        Some(_) if names.is_empty() => Err(Failure::Usage(
            "--machine needs a pipeline with [machines.NAME]".to_owned(),
        )),
        Some(name) => match machines.find(name) {
            Some(own) => Ok(Some(own)),
            None => Err(Failure::Usage(format!(
                "the pipeline has no machine \"{name}\"; it has {all}"
            ))),
        },
    }
}

/// The stages of a machine, without their edges; of a pipeline without machines, all.
pub fn stages_of(pipeline: &Pipeline, own: Option<usize>) -> Pipeline {
    let mut here = pipeline.clone();
    here.edges.clear();
    let mut machines = pipeline.machines.of_stages.iter();
    here.stages.retain(|_| {
        let machine = machines.next();
        own.is_none() || machine.copied() == own
    });
    here
}

/// What all machines of a run must have in common. `text`: the pipeline file. `options`: what was given besides it.
///
/// # Errors
/// When a plugin can't be read.
pub fn facts(
    pipeline: &Pipeline,
    catalogue: &Catalogue,
    text: &str,
    options: &GivenOptions,
) -> Result<Facts, Failure> {
    let Facts(mut facts) =
        installed_facts::facts(catalogue, installed_facts::plugins_of(pipeline))?;
    let file = bytes_hash(text.as_bytes());
    facts.insert(Facts::PIPELINE_FILE.to_owned(), file);
    facts.extend(options.facts());
    Ok(Facts(facts))
}

/// Starts the links to the machines that this one exchanges messages with.
///
/// # Errors
/// When one can't be started, such as for lack of a certificate.
fn connect(
    pipeline: &Pipeline,
    own: usize,
    clock: Clock,
) -> Result<(Topology, Vec<(usize, Peer)>), Failure> {
    let machines = &pipeline.machines;
    let names: Vec<_> = machines.all.iter().map(|it| it.name.clone()).collect();
    let links = machines.links(pipeline.edges.iter().copied());
    let topology = Topology::new(names, own, &links);
    let mut transports = Vec::new();
    // A file without a way between two machines is an error.
    let opens = |peer: &usize| machines.opens(own, *peer) == Some(true);
    let (called, awaited): (Vec<_>, Vec<_>) = topology.peers.iter().copied().partition(opens);
    for peer in called {
        transports.push((peer, true, transports::open(machines, own, peer)?));
    }
    let listening = transports::listen(machines, own, &awaited)?;
    let listening = awaited.into_iter().zip(listening);
    transports.extend(listening.map(|(peer, transport)| (peer, false, transport)));
    let mut peers = Vec::new();
    for (peer, opens, transport) in transports {
        let now = Arc::new(move || clock.now());
        let settings = PeerSettings {
            machine: peer,
            name: &machines.all[peer].name,
            edges: pipeline.edges.len(),
            opens,
        };
        let link = Peer::connect(settings, transport, now);
        peers.push((peer, link.map_err(Failure::from)?));
    }
    Ok((topology, peers))
}

impl OtherMachines {
    /// Connects to the other machines, and waits until all are there and run the same. `wanted`: what this one wants to
    /// have of the whole run.
    ///
    /// # Errors
    /// When one does not come, or runs something else.
    pub fn connect(
        pipeline: &Pipeline,
        own: usize,
        clock: Clock,
        facts: &Facts,
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        let machines = &pipeline.machines;
        let (topology, peers) = connect(pipeline, own, clock)?;
        let all: Vec<_> = peers.iter().map(|(_, peer)| peer).collect();
        let notice = notices::missing(&machines.all[own]);
        let observers = agree(&topology, &all, facts, wanted, START_TIMEOUT, notice);
        let observers = observers.map_err(notices::refused)?;
        // Whatever fails from here on, the others learn that: they may not have received yet that all are ready.
        let mut peers = StartingPeers::new(peers);
        let all: Vec<_> = peers.all.iter().map(|(_, peer)| peer).collect();
        let observer = observer::find(machines, &topology, &observers)?;
        let (clock, clock_setting) = match observer {
            Some(observer) => observer::set_clock(clock, &topology, &all, observer)?,
            None => (clock, Offset::NONE),
        };
        if observer.is_some() {
            let links = peers.all.iter_mut();
            links.for_each(|(_, peer)| peer.set_same_clock());
        }
        let others = topology.ways.keys();
        let observations = others.map(|machine| (*machine, Arc::new(Observations::new())));
        let observations: BTreeMap<_, _> = observations.collect();
        let (of_others, of_pipeline) = (observations.clone(), pipeline.clone());
        let links = peers.all.iter_mut().map(|(_, peer)| peer);
        let router =
            ObservationRouter::start(&topology, observer, links, move |machine, observed| {
                let observations = of_others.get(&machine);
                observations.map_or(Ok(()), |it| it.take(observed, &of_pipeline))
            });
        let others = observations.iter();
        let others = others.map(|(&it, of)| (it, stages_on(machines, it), of.clone()));
        Ok(Self {
            pipeline: pipeline.clone(),
            own,
            progress: OtherProgress::new(topology.names, own, others),
            observations,
            router,
            observers,
            peers,
            clock,
            clock_setting,
            sent: Vec::new(),
            ending: Arc::default(),
        })
    }

    /// The name of this machine.
    pub fn own_name(&self) -> &str {
        &self.pipeline.machines.all[self.own].name
    }

    /// The clock of the run here.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Observes the whole run: records and traces what the others send, and sends what happens here to another machine
    /// that does.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn observe(
        &mut self,
        (recorder, tracer): (Option<Arc<Recorder>>, Option<Arc<Tracer>>),
        run: &RecordedRun<'_>,
        mode: &dyn Fn() -> LossMode,
        options: &mut Options,
    ) -> Result<(), Failure> {
        let machines = &self.pipeline.machines;
        if recorder.is_some() || tracer.is_some() {
            for (&machine, observations) in &self.observations {
                // One that has workers alone calls nothing of its own.
                if !machines.runs_stages(machine) {
                    continue;
                }
                let reader = TransferReader::new(run.about().0, stages_on(machines, machine));
                let named = (machine, machines.all[machine].name.as_str());
                let to = (recorder.clone(), tracer.clone());
                observations.record(RecordedMachine::new(named, to, self.clock, reader));
            }
        }
        let mut observers = self.observers.iter();
        let elsewhere = observers.find(|(machine, _)| **machine != self.own);
        if let Some((observer, wanted)) = elsewhere.filter(|_| machines.runs_stages(self.own)) {
            let send = observed::send_entries(self.router.sender(), self.clock_setting);
            let name = machines.all[*observer].name.clone();
            let mode = LossMode {
                machine: Some(name.clone()),
                ..mode()
            };
            let (about, mut settings) = (run.about().0, mode.settings());
            let (print, ending) = (settings.failed, self.ending.clone());
            let is_recorded = wanted.recording;
            settings.failed = Box::new(move |error| match error {
                // Not of a run that did not start, or that goes on without this machine: that was printed.
                WriteError::Gone if !lock(&ending.reported).is_empty() => {}
                WriteError::Gone => eprintln!("{}", observer::gone(&name, is_recorded)),
                error => print(error),
            });
            let started = Recorder::to_other(send, about, settings, wanted.recording);
            let (recorder, recording) = started.map_err(Failure::from)?;
            options.observers.push(recorder);
            self.sent.push(recording);
        }
        Ok(())
    }

    /// Returns the result. If the run does not start here because of it, the others learn why.
    pub fn or_fail<T>(others: &mut Option<Self>, result: Result<T, Failure>) -> Result<T, Failure> {
        if let (Some(others), Err(failure)) = (others, &result) {
            others.peers.fail(failure);
        }
        result
    }

    /// The counts of their stages, while the run goes on.
    pub fn progress(&self) -> OtherProgress {
        self.progress.clone()
    }

    /// Distributes stages: their workers on other machines, and those that this one has for others.
    pub fn distribute(&mut self, catalogue: &Catalogue, options: &mut Options) {
        let pipeline = (&self.pipeline, self.own);
        distribution::distribute(
            pipeline,
            &mut self.peers.all,
            catalogue,
            self.clock,
            options,
        );
    }

    /// The stages that they run.
    pub fn stages(&self) -> BTreeSet<usize> {
        let of_stages = self.pipeline.machines.of_stages.iter().enumerate();
        let others = of_stages.filter(|(_, machine)| **machine != self.own);
        others.map(|(stage, _)| stage).collect()
    }

    /// Connects the stages of a run that has started with those of the others.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(mut self, run: &mut RunHandle) -> Result<Bridges, Failure> {
        let mut ends = run.take_remote_ends();
        let ending = self.ending;
        let mut bridges = BTreeMap::new();
        let machines = &self.pipeline.machines;
        let cycles = DividedCycles::new(std::mem::take(&mut ends.cycles), machines, self.own);
        for (peer, link) in std::mem::take(&mut self.peers.all) {
            let is_peer = |stage: usize| machines.of_stages[stage] == peer;
            let own_ends = RemoteEnds {
                outgoing: ends
                    .outgoing
                    .extract_if(.., |it| is_peer(it.edge().to.stage))
                    .collect(),
                incoming: ends
                    .incoming
                    .extract_if(.., |it| is_peer(it.edge().from.stage))
                    .collect(),
                cycles: cycles.all().to_vec(),
            };
            let notice = notices::print(NoticeScope {
                pipeline: self.pipeline.clone(),
                own: self.own,
                peer,
                stopper: run.stopper(),
                ending: ending.clone(),
                idle: cycles.idle_machines(),
                observations: self.observations.clone(),
            });
            let timeout = machines.reconnect_timeout(self.own, peer);
            let bridge = Bridge::start(link, own_ends, timeout, notice);
            bridges.insert(peer, bridge.map_err(Failure::from)?);
        }
        Ok(Bridges {
            pipeline: self.pipeline,
            own: self.own,
            bridges,
            observations: self.observations,
            router: self.router,
            progress: ProgressClock::new(&self.progress),
            cycles,
            sent: self.sent,
            has_common_clock: !self.observers.is_empty(),
            stopped: BTreeSet::new(),
            sent_deaths: BTreeSet::new(),
            ending,
            began: Instant::now(),
        })
    }
}

impl Ending {
    /// Reports to the other machines that the run is ending. It is tried again where it was not taken. `own`: this machine.
    fn stop_others(
        &self,
        bridges: &BTreeMap<usize, Bridge>,
        stopped: &mut BTreeSet<usize>,
        own: usize,
    ) {
        let ended_by = self.machine.get().copied().unwrap_or(own);
        for (&machine, bridge) in bridges {
            let reason = self.reason.get().cloned();
            if !stopped.contains(&machine) && bridge.stop(ended_by, reason) {
                stopped.insert(machine);
            }
        }
    }
}

impl Bridges {
    /// Reports to the others how the run goes here, and when it is ending. Ends cycles.
    pub fn update(&mut self, run: &RunHandle) {
        let links = || {
            let links = self.bridges.iter();
            links
                .map(|(it, bridge)| LinkProgress::of(*it, bridge))
                .collect()
        };
        if let Some(progress) = self.progress.next(|| run.view(), links) {
            self.router.sender().send(Observation::Counts, &progress);
        }
        self.cycles.update(&self.bridges);
        if self.ending.has_lost_workers.load(Ordering::Relaxed) {
            run.end_workers_of_dead_machines();
        }
        let dead: Vec<_> = lock(&self.ending.dead_workers).iter().copied().collect();
        for (&to, bridge) in &self.bridges {
            for &machine in &dead {
                let death = (to, machine);
                if !self.sent_deaths.contains(&death) && bridge.send_workers_died(machine) {
                    self.sent_deaths.insert(death);
                }
            }
        }
        if run.is_ending() {
            self.ending
                .stop_others(&self.bridges, &mut self.stopped, self.own);
        }
    }

    /// Whether other machines may need workers of this one.
    pub fn are_serving(&self) -> bool {
        self.bridges.values().any(Bridge::is_serving)
    }

    /// After the end of the run: waits until the others have everything and have ended too. `report`: that of the stages
    /// here. `update` is called again and again while it waits.
    pub fn finish(mut self, report: Report, mut update: impl FnMut()) -> EndedMachines {
        let all = &self.pipeline.machines.all;
        let mut notice = WaitNotice::new();
        self.bridges.values().for_each(Bridge::end_workers);
        let mut update_others = || {
            update();
            // The run of the others may go on for long.
            if signals::was_asked() || self.ending.machine.get().is_some() {
                self.ending
                    .stop_others(&self.bridges, &mut self.stopped, self.own);
            }
        };
        let (sent, sender, last) = (self.sent, self.router.sender(), &report);
        let send = move || {
            for recording in sent {
                // An error has been printed, and the recording lacks its end.
                let _ = recording.finish();
            }
            observed::send_last(&sender, last);
        };
        wait_for_sending(send, || {
            update_others();
            notice.update(all, || {
                let mut active = waiting::active(&self.observations);
                active.extend(self.router.awaited());
                active
            });
        });
        wait_for_others(all, &self.observations, &mut notice, &mut update_others);
        let observations = self.observations.iter();
        let others: BTreeMap<_, _> = observations
            .filter_map(|(machine, observations)| Some((*machine, observations.wait()?)))
            .collect();
        let reports: Vec<_> = (0..all.len())
            .map(|machine| match machine == self.own {
                true => Some(&report),
                false => others.get(&machine),
            })
            .collect();
        let has_gaps = self.observations.values().any(|it| it.has_gap());
        let whole = whole_report(&self.pipeline, self.own, &reports);
        // A machine may have workers for others long after the run of its own stages, or have none of those.
        let took = self.began.elapsed();
        let mut links: BTreeMap<_, _> = self
            .bridges
            .iter()
            .map(|(machine, bridge)| {
                let (clock, traffic) = (bridge.peer_clock(), bridge.traffic());
                // That of a dead machine may be of a second program, which was refused.
                let is_meant = !self.has_common_clock && others.contains_key(machine);
                let clock = clock.filter(|_| is_meant);
                let frames = bridge.frame_traffic().into_values();
                let frames = frames.chain(bridge.worker_frame_traffic());
                let mut link = EndedLink::new(clock, traffic, frames, took);
                link.processed = bridge.processed();
                (*machine, link)
            })
            .collect();
        let machines = all.iter().zip(&reports).enumerate();
        let machines = machines.map(|(machine, (it, report))| EndedMachine {
            name: it.name.clone(),
            // One that has workers alone has no counts of its own.
            reported: report.is_some() || !self.pipeline.machines.runs_stages(machine),
            link: links.remove(&machine),
        });
        let machines: Vec<_> = machines.collect();
        // All that it had to pass on is sent.
        drop(self.router);
        notice.restart();
        // At the same time: in a ring of machines, each would wait for the next one.
        let dead: Vec<_> = std::thread::scope(|scope| {
            let each = self.bridges.into_iter();
            let each = each.map(|(machine, bridge)| (machine, scope.spawn(|| bridge.finish())));
            let each: Vec<_> = each.collect();
            while !each.iter().all(|(_, finishing)| finishing.is_finished()) {
                std::thread::sleep(END_INTERVAL);
                update();
                notice.update(all, || {
                    let active = each.iter();
                    let active = active.filter(|(_, finishing)| !finishing.is_finished());
                    active.map(|(machine, _)| *machine).collect()
                });
            }
            let dead = each.into_iter().filter_map(|(machine, finishing)| {
                // A panic has been printed.
                let has_finished = finishing.join().unwrap_or(false);
                (!has_finished).then_some(machine)
            });
            dead.collect()
        });
        let reported = lock(&self.ending.reported);
        for &machine in dead.iter().filter(|it| !reported.contains(*it)) {
            let name = escape(&all[machine].name);
            eprintln!("machine {name} died before the end");
        }
        drop(reported);
        EndedMachines {
            has_all: dead.is_empty()
                && !self.ending.has_lost.load(Ordering::Relaxed)
                && !has_gaps
                && machines.iter().all(|it| it.reported),
            report: whole.unwrap_or(report),
            machines,
        }
    }
}

/// The stages of a machine.
fn stages_on(machines: &Machines, machine: usize) -> BTreeSet<usize> {
    let of_stages = machines.of_stages.iter().enumerate();
    let of_machine = of_stages.filter(|(_, it)| **it == machine);
    of_machine.map(|(stage, _)| stage).collect()
}

#[cfg(test)]
mod testing {
    use flowpipe_config::pipeline::{Machines, OnStop, Pipeline};

    /// One without stages.
    pub fn pipeline() -> Pipeline {
        Pipeline {
            name: String::new(),
            stages: Vec::new(),
            edges: Vec::new(),
            on_stop: OnStop::Drain,
            record: None,
            machines: Machines::default(),
        }
    }
}
