//! The threads of a run, as the control thread manages them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::Sender;
use flowpipe_host::instance::Instance;
use flowpipe_host::run::StageProcess;

use crate::run::driver::{self, Driver, RaceEvent};
use crate::run::error::StartError;
use crate::run::event::ControlEvent;
use crate::run::exit::WorkerExit;
use crate::run::replay::Replay;
use crate::run::replay_worker;
use crate::run::stage::Stage;
use crate::run::worker::Worker;
use crate::supervisor::{CallProcess, Slot, WorkerId};
use crate::watch::Watch;

/// The threads of a run that have neither ended nor been abandoned, by id.
#[derive(Default)]
pub(crate) struct Threads {
    threads: BTreeMap<usize, Thread>,
    next: usize,
}

/// One thread of a run.
pub(crate) struct Thread {
    pub stage: Arc<Stage>,
    pub role: Role,
    /// `None`: it calls no plugin.
    pub watch: Option<Arc<Watch>>,
    /// The processes of its isolated plugins.
    pub processes: Vec<Arc<dyn StageProcess>>,
    handle: JoinHandle<()>,
}

/// The role of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It calls this plugin.
    Plugin(Slot),
    /// It drives the race of a worker.
    Race(WorkerId),
    /// It calls all plugins of its stage, as recorded.
    Replay,
}

impl Threads {
    /// Starts a thread with a new id.
    ///
    /// # Errors
    /// When it failed to start.
    pub(crate) fn add(
        &mut self,
        start: impl FnOnce(usize) -> Result<Thread, StartError>,
    ) -> Result<(), StartError> {
        let id = self.next;
        self.next += 1;
        self.threads.insert(id, start(id)?);
        Ok(())
    }

    /// Removes a thread that has ended. `None`: it was abandoned before.
    pub(crate) fn end(&mut self, id: usize) -> Option<Thread> {
        self.threads.remove(&id)
    }

    pub(crate) fn get(&self, id: usize) -> Option<&Thread> {
        self.threads.get(&id)
    }

    /// Whether a thread calls only this plugin of this stage.
    pub(crate) fn calls(&self, stage: &Arc<Stage>, slot: Slot) -> bool {
        let role = Role::Plugin(slot);
        let mut threads = self.threads.values();
        threads.any(|it| it.role == role && Arc::ptr_eq(&it.stage, stage))
    }

    pub(crate) fn ids(&self) -> Vec<usize> {
        self.threads.keys().copied().collect()
    }

    /// The longest time that one call of any of these stages may take.
    pub(crate) fn patience(&self) -> Duration {
        let all = self.threads.values().map(|thread| thread.stage.patience());
        all.max().unwrap_or_default()
    }
}

impl Thread {
    /// Waits for its end. It has reported its exit, and its panic, if any, was caught.
    pub(crate) fn join(self) {
        let _ = self.handle.join();
    }

    /// The process of the plugin that it calls.
    pub(crate) fn call_process(&self) -> CallProcess {
        if self.processes.is_empty() {
            return CallProcess::Here;
        }
        match self.processes.iter().any(|process| process.is_busy()) {
            true => CallProcess::Busy,
            false => CallProcess::Idle,
        }
    }

    /// The plugin that problems of this thread are attributed to.
    pub(crate) fn slot(&self) -> Slot {
        match self.role {
            Role::Plugin(slot) => slot,
            Role::Race(race) => race.slot(0),
            Role::Replay => self.stage.worker_id(0).slot(0),
        }
    }
}

/// Creates a watch for these instances. Also returns the processes of the isolated ones.
fn watch(instances: &[Instance]) -> (Arc<Watch>, Vec<Arc<dyn StageProcess>>) {
    let watch = Arc::new(Watch::default());
    let processes: Vec<_> = instances
        .iter()
        .filter_map(|it| it.stage_process())
        .collect();
    watch.attach_processes(processes.clone());
    (watch, processes)
}

/// The name of a worker's thread. Workers count from 1, as in traces and reports.
fn name(stage: &Stage, worker: usize) -> String {
    let name = &stage.settings.name;
    match stage.settings.workers {
        1 => name.clone(),
        _ => format!("{name}#{}", worker + 1),
    }
}

/// Starts the threads of a race.
///
/// # Errors
/// When the system can't create a thread.
pub(crate) fn start_race(
    stage: &Arc<Stage>,
    race: WorkerId,
    instances: Vec<(Slot, Instance)>,
    threads: &mut Threads,
) -> Result<Sender<RaceEvent>, StartError> {
    let (sender, events) = crossbeam_channel::unbounded();
    for (slot, instance) in instances {
        threads.add(|id| start_contestant(stage, slot, instance, id, &sender))?;
    }
    let driver = Driver::new(stage.clone(), race, (sender.clone(), events));
    let name = name(stage, race.worker);
    threads.add(|id| {
        Ok(Thread {
            stage: stage.clone(),
            role: Role::Race(race),
            watch: None,
            processes: Vec::new(),
            handle: spawn(stage, name, id, move || driver.run())?,
        })
    })?;
    Ok(sender)
}

/// Starts the thread of a worker with one plugin.
pub(crate) fn start_worker(
    stage: &Arc<Stage>,
    slot: Slot,
    instance: Instance,
    id: usize,
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        slot,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let name = name(stage, slot.worker);
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Plugin(slot),
        watch: Some(watch),
        processes,
        handle: spawn(stage, name, id, move || worker.run())?,
    })
}

/// Starts the thread of a stage whose recorded calls are rerun. `instances`: of all its slots. `new`: by slot, whether it
/// was just created.
pub(crate) fn start_replay_worker(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    id: usize,
    (replay, new): (&Arc<Replay>, Vec<bool>),
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(&instances);
    let worker = |(slot, instance)| Worker {
        stage: stage.clone(),
        slot,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let slots = stage.slots(stage.settings.contestants.len());
    let workers = slots.zip(instances).map(worker).collect();
    let name = stage.settings.name.clone();
    let (own, replay) = (stage.clone(), replay.clone());
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Replay,
        watch: Some(watch),
        processes,
        handle: spawn(stage, name, id, move || {
            replay_worker::run(&own, workers, new, &replay)
        })?,
    })
}

/// Starts the thread of one plugin of a race, and notifies the driver.
pub(crate) fn start_contestant(
    stage: &Arc<Stage>,
    slot: Slot,
    instance: Instance,
    id: usize,
    driver: &Sender<RaceEvent>,
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        slot,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let (jobs, work) = crossbeam_channel::unbounded();
    let events = driver.clone();
    let contestant = slot.contestant;
    let name = format!("{}/{}", name(stage, slot.worker), stage.plugin(contestant));
    let handle = spawn(stage, name, id, move || {
        driver::run_contestant(worker, &work, &events)
    })?;
    // Disconnected only when the driver has ended, and then the new contestant ends at once.
    let _ = driver.send(RaceEvent::Joined {
        contestant,
        jobs,
        watch: watch.clone(),
    });
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Plugin(slot),
        watch: Some(watch),
        processes,
        handle,
    })
}

/// Starts a thread that reports to the control thread when it ends or panics.
fn spawn(
    stage: &Arc<Stage>,
    name: String,
    id: usize,
    work: impl FnOnce() -> WorkerExit + Send + 'static,
) -> Result<JoinHandle<()>, StartError> {
    let stage = stage.clone();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let panicked = result.is_err();
        if panicked {
            stage.close_alone();
        }
        let ended = ControlEvent::Ended {
            id,
            exit: result.unwrap_or_default(),
            panicked,
        };
        // Disconnected only when this thread was abandoned.
        let _ = stage.run.events.send(ended);
    })?;
    Ok(thread)
}
