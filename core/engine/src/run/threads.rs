//! The threads of a run, as the control thread keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::Sender;
use flowpipe_host::instance::Instance;
use flowpipe_host::run::StageProcess;

use crate::run::StartError;
use crate::run::control::Event;
use crate::run::driver::{self, Driver, News};
use crate::run::replay::Replay;
use crate::run::retrace;
use crate::run::stage::Stage;
use crate::run::worker::Worker;
use crate::supervisor::watchdog::Watchdog;
use crate::watch::Watch;

/// The threads of a run that have neither ended nor hang, by number.
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
    /// The processes of its plugins, where they have some.
    pub processes: Vec<Arc<dyn StageProcess>>,
    pub watchdog: Watchdog,
    handle: JoinHandle<()>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It calls this contestant.
    Plugin(usize),
    /// It drives a race.
    Race,
    /// It calls all plugins of its stage, as a recording says.
    Replay,
}

/// What a thread hands back when it ends.
#[derive(Default)]
pub(crate) struct WorkerExit {
    /// None: a race's thread, or one that was left behind.
    pub instances: Vec<Instance>,
    /// One of the instances is to be restarted after this time.
    pub restart: Option<(usize, Duration)>,
    /// The stage pauses, and has more to do.
    pub is_paused: bool,
}

impl WorkerExit {
    /// The stream has ended.
    pub(crate) fn finished(instance: Instance) -> Self {
        Self {
            instances: vec![instance],
            ..Self::default()
        }
    }

    pub(crate) fn paused(instance: Option<Instance>) -> Self {
        Self {
            instances: instance.into_iter().collect(),
            is_paused: true,
            ..Self::default()
        }
    }

    pub(crate) fn restart(instances: Vec<Instance>, which: usize, after: Duration) -> Self {
        Self {
            instances,
            restart: Some((which, after)),
            is_paused: false,
        }
    }
}

impl Threads {
    /// Starts a thread, which gets its number.
    ///
    /// # Errors
    /// When it can't be started.
    pub(crate) fn add(
        &mut self,
        start: impl FnOnce(usize) -> Result<Thread, StartError>,
    ) -> Result<(), StartError> {
        let id = self.next;
        self.next += 1;
        self.threads.insert(id, start(id)?);
        Ok(())
    }

    /// A thread has said that it ends. `None`: it was left behind before.
    pub(crate) fn end(&mut self, id: usize) -> Option<Thread> {
        self.threads.remove(&id)
    }

    pub(crate) fn get_mut(&mut self, id: usize) -> Option<&mut Thread> {
        self.threads.get_mut(&id)
    }

    pub(crate) fn ids(&self) -> Vec<usize> {
        self.threads.keys().copied().collect()
    }

    /// The longest time that a stage with a thread may take to come back from one thing.
    pub(crate) fn patience(&self) -> Duration {
        let all = self.threads.values().map(|thread| thread.stage.patience());
        all.max().unwrap_or_default()
    }
}

impl Thread {
    /// Waits for its end. It has said that it ends, and its panic, if any, was caught.
    pub(crate) fn join(self) {
        let _ = self.handle.join();
    }

    /// The plugin that problems of this thread are reported of.
    pub(crate) fn contestant(&self) -> usize {
        match self.role {
            Role::Plugin(contestant) => contestant,
            Role::Race | Role::Replay => 0,
        }
    }
}

/// A watch over these instances, and the processes of those that have one.
fn watch(instances: &[Instance]) -> (Arc<Watch>, Vec<Arc<dyn StageProcess>>) {
    let watch = Arc::new(Watch::default());
    let processes: Vec<_> = instances
        .iter()
        .filter_map(|it| it.stage_process())
        .collect();
    watch.show(processes.clone());
    (watch, processes)
}

/// Starts the threads of a race.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn start_race(
    stage: &Arc<Stage>,
    instances: Vec<(usize, Instance)>,
    missing: &[usize],
    threads: &mut Threads,
) -> Result<Sender<News>, StartError> {
    let (sender, news) = crossbeam_channel::unbounded();
    for &contestant in missing {
        let is_created = News::Missing {
            contestant,
            returns: true,
        };
        // The race that hears it is started below.
        let _ = sender.send(is_created);
    }
    for (contestant, instance) in instances {
        threads.add(|id| start_contestant(stage, contestant, instance, id, &sender))?;
    }
    let driver = Driver::new(stage.clone(), (sender.clone(), news));
    let name = stage.settings.name.clone();
    threads.add(|id| {
        Ok(Thread {
            stage: stage.clone(),
            role: Role::Race,
            watch: None,
            processes: Vec::new(),
            watchdog: Watchdog::default(),
            handle: spawn(stage, name, id, move || driver.run())?,
        })
    })?;
    Ok(sender)
}

/// Starts the thread of a stage that does not race.
pub(crate) fn start_worker(
    stage: &Arc<Stage>,
    instance: Instance,
    id: usize,
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        contestant: 0,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let name = stage.settings.name.clone();
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Plugin(0),
        watch: Some(watch),
        processes,
        watchdog: Watchdog::default(),
        handle: spawn(stage, name, id, move || worker.run())?,
    })
}

/// Starts the thread of a stage whose recorded calls are run again. By contestant: whether it was made just now.
pub(crate) fn start_retracer(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    id: usize,
    (replay, new): (&Arc<Replay>, Vec<bool>),
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(&instances);
    let worker = |(contestant, instance)| Worker {
        stage: stage.clone(),
        contestant,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let workers = instances.into_iter().enumerate().map(worker).collect();
    let name = stage.settings.name.clone();
    let (own, replay) = (stage.clone(), replay.clone());
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Replay,
        watch: Some(watch),
        processes,
        watchdog: Watchdog::default(),
        handle: spawn(stage, name, id, move || {
            retrace::retrace(&own, workers, new, &replay)
        })?,
    })
}

/// Starts the thread of one plugin of a race, and tells the driver.
pub(crate) fn start_contestant(
    stage: &Arc<Stage>,
    contestant: usize,
    instance: Instance,
    id: usize,
    driver: &Sender<News>,
) -> Result<Thread, StartError> {
    let (watch, processes) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        contestant,
        watch: watch.clone(),
        instance,
        may_have_failed: true,
    };
    let (jobs, work) = crossbeam_channel::unbounded();
    let news = driver.clone();
    let name = format!("{}/{}", stage.settings.name, stage.plugin(contestant));
    let handle = spawn(stage, name, id, move || {
        driver::contest(worker, &work, &news)
    })?;
    // Gone only when the driver has ended, and then the new contestant ends at once.
    let _ = driver.send(News::Joined {
        contestant,
        jobs,
        watch: watch.clone(),
    });
    Ok(Thread {
        stage: stage.clone(),
        role: Role::Plugin(contestant),
        watch: Some(watch),
        processes,
        watchdog: Watchdog::default(),
        handle,
    })
}

/// Starts a thread that reports to the control thread when it ends, also by a panic.
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
            stage.close();
        }
        let ended = Event::Ended {
            id,
            exit: result.unwrap_or_default(),
            panicked,
        };
        // The control thread is gone only when this thread was given up.
        let _ = stage.run.events.send(ended);
    })?;
    Ok(thread)
}
