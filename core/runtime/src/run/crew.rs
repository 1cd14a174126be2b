//! The threads of a run, as the control thread keeps them.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::isolation::process::Lifeline;
#[cfg(unix)]
use crate::isolation::stage::Start;
use crate::pipeline::Isolation;
use crate::plugin::catalogue::Found;
use crate::plugin::host::Host;
use crate::plugin::instance::Instance;
use crate::plugin::tape::Tape;
use crate::replay::Replay;
use crate::run::StartError;
use crate::run::control::Event;
use crate::run::driver::{self, Driver, News};
use crate::run::retrace;
#[cfg(unix)]
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::watch::{Call, Watch};
use crate::run::worker::Worker;

/// One thread of a run.
pub(crate) struct Hand {
    /// Nobody hears of its thread any more: another may take its place.
    pub is_free: bool,
    pub stage: Arc<Stage>,
    pub contestant: usize,
    /// `None`: a driver, which calls no plugin.
    pub watch: Option<Arc<Watch>>,
    /// The processes of its plugins, where they have some.
    pub lifelines: Vec<Arc<Lifeline>>,
    /// To the driver, when this is a contestant of a race.
    pub driver: Option<Sender<News>>,
    pub notes: Notes,
    /// `None`: it has ended or was given up.
    pub thread: Option<JoinHandle<()>>,
}

/// What a thread hands back when it ends.
#[derive(Default)]
pub(crate) struct Left {
    /// None: a driver's thread, or one that was given up.
    pub instances: Vec<Instance>,
    pub anew: Option<Anew>,
    /// The stage pauses, and has more to do.
    pub paused: bool,
}

/// One of the instances is to be made anew, and a thread goes on with it.
pub(crate) struct Anew {
    pub instance: usize,
    pub after: Duration,
}

impl Left {
    pub(crate) fn for_good(instance: Instance) -> Self {
        Self {
            instances: vec![instance],
            ..Self::default()
        }
    }

    pub(crate) fn pausing(instance: Option<Instance>) -> Self {
        Self {
            instances: instance.into_iter().collect(),
            anew: None,
            paused: true,
        }
    }

    pub(crate) fn to_be_made_anew(
        instances: Vec<Instance>,
        instance: usize,
        after: Duration,
    ) -> Self {
        Self {
            instances,
            anew: Some(Anew { instance, after }),
            paused: false,
        }
    }
}

/// What the watchdog noted of the call in progress.
#[derive(Default)]
pub(crate) struct Notes {
    pub call: Option<Call>,
    pub warned: bool,
    /// How long the work had taken when the watchdog first saw that it was cancelled.
    pub cancelled_at: Option<i64>,
}

/// Makes a plugin into an active stage.
pub(crate) fn make(
    stage: &Stage,
    contestant: usize,
    found: &Found,
) -> Result<Instance, StartError> {
    let refuse = |step, reason| StartError::Plugin {
        stage: stage.settings.name.clone(),
        plugin: stage.plugin(contestant).to_owned(),
        step,
        reason,
    };
    let tape = match &stage.run.replay {
        Some(replay) => Tape::plays(replay.next_times(stage.index, contestant)),
        None if stage.run.logs_calls && stage.retraces => Tape::Records(Mutex::default()),
        None => Tape::Off,
    };
    let host = Host::new(
        &stage.settings.name,
        stage.index as u32,
        stage.run.services.clone(),
        tape,
    );
    let null = serde_json::Value::Null;
    let config = stage
        .settings
        .contestants
        .get(contestant)
        .map_or(&null, |it| &it.config);
    let mut instance = match stage.settings.isolation {
        Isolation::Thread => Instance::create(found, config, host),
        Isolation::Process => create_apart(stage, found, config, host),
    }
    .map_err(|reason| refuse("create", reason))?;
    if let Err(reason) = instance.activate(&stage.run) {
        instance.destroy();
        return Err(refuse("activate", reason));
    }
    Ok(instance)
}

#[cfg(unix)]
fn create_apart(
    stage: &Stage,
    found: &Found,
    config: &serde_json::Value,
    host: Arc<Host>,
) -> Result<Instance, String> {
    let Some(program) = &stage.run.program else {
        return Err("this program can't start processes for stages".to_owned());
    };
    // Memory that other processes can see costs the system more: it is taken from when there are such.
    stage.run.services.pool.share();
    let start = Start {
        program,
        run: &stage.run,
        cancels_from: match stage.is_source() {
            true => Mode::Drain,
            false => Mode::Abort,
        },
    };
    Instance::create_apart(found, config, host, &start)
}

#[cfg(not(unix))]
fn create_apart(
    _: &Stage,
    _: &Found,
    _: &serde_json::Value,
    _: Arc<Host>,
) -> Result<Instance, String> {
    Err("stages can't run in processes of their own on this system".to_owned())
}

/// A watch over these instances, and what it takes to kill those that are processes.
fn watch(instances: &[Instance]) -> (Arc<Watch>, Vec<Arc<Lifeline>>) {
    let watch = Arc::new(Watch::default());
    watch.show(instances.iter().filter_map(Instance::page).collect());
    let lifelines = instances.iter().filter_map(Instance::lifeline).collect();
    (watch, lifelines)
}

/// Starts the threads of a stage whose contestants are all there.
pub(crate) fn start(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    hands: &mut Vec<Hand>,
) -> Result<(), StartError> {
    let instances = instances.into_iter().enumerate().collect();
    start_those(stage, instances, &[], hands).map(drop)
}

/// Starts the threads of a stage with those of its contestants that there are. `missing`: by number, those that are yet
/// to be made. Returns the driver, where it is a race.
pub(crate) fn start_those(
    stage: &Arc<Stage>,
    instances: Vec<(usize, Instance)>,
    missing: &[usize],
    hands: &mut Vec<Hand>,
) -> Result<Option<Sender<News>>, StartError> {
    if let Some(replay) = &stage.run.replay {
        if !instances.is_empty() {
            let began = replay.begins(stage.index);
            let new = vec![began; instances.len()];
            let instances = instances.into_iter().map(|(_, instance)| instance);
            let id = place(hands);
            let hand = start_retracer(stage, instances.collect(), id, (replay, new))?;
            seat(hands, id, hand);
        }
        return Ok(None);
    }
    if stage.settings.contestants.len() == 1 {
        for (_, instance) in instances {
            let id = place(hands);
            seat(hands, id, start_worker(stage, instance, id)?);
        }
        return Ok(None);
    }
    let (sender, news) = crossbeam_channel::unbounded();
    for &contestant in missing {
        let is_made = News::GivenUp {
            contestant,
            comes_back: true,
        };
        // Who hears it is here.
        let _ = sender.send(is_made);
    }
    for (contestant, instance) in instances {
        let id = place(hands);
        let hand = start_contestant(stage, contestant, instance, id, &sender)?;
        seat(hands, id, hand);
    }
    let driver = Driver::new(stage.clone(), (sender.clone(), news));
    let name = stage.settings.name.clone();
    let id = place(hands);
    let thread = spawn(stage, name, id, move || driver.run())?;
    let hand = Hand {
        is_free: false,
        stage: stage.clone(),
        contestant: 0,
        watch: None,
        lifelines: Vec::new(),
        driver: None,
        notes: Notes::default(),
        thread: Some(thread),
    };
    seat(hands, id, hand);
    Ok(Some(sender))
}

/// The number of the next thread.
pub(crate) fn place(hands: &[Hand]) -> usize {
    let free = hands.iter().position(|hand| hand.is_free);
    free.unwrap_or(hands.len())
}

/// Puts a thread into its place.
pub(crate) fn seat(hands: &mut Vec<Hand>, id: usize, hand: Hand) {
    match hands.get_mut(id) {
        Some(place) => *place = hand,
        None => hands.push(hand),
    }
}

/// Starts the thread of a stage that does not race.
pub(crate) fn start_worker(
    stage: &Arc<Stage>,
    instance: Instance,
    id: usize,
) -> Result<Hand, StartError> {
    let (watch, lifelines) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        contestant: 0,
        watch: watch.clone(),
        instance,
    };
    let name = stage.settings.name.clone();
    let thread = spawn(stage, name, id, move || worker.run())?;
    Ok(alone(stage, (watch, lifelines), thread))
}

/// Starts the thread of a stage whose recorded calls are run again. By contestant: whether it was made just now.
pub(crate) fn start_retracer(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    id: usize,
    (replay, new): (&Arc<Replay>, Vec<bool>),
) -> Result<Hand, StartError> {
    let (watch, lifelines) = watch(&instances);
    let worker = |(contestant, instance)| Worker {
        stage: stage.clone(),
        contestant,
        watch: watch.clone(),
        instance,
    };
    let workers = instances.into_iter().enumerate().map(worker).collect();
    let name = stage.settings.name.clone();
    let (own, replay) = (stage.clone(), replay.clone());
    let thread = spawn(stage, name, id, move || {
        retrace::retrace(&own, workers, new, &replay)
    })?;
    Ok(alone(stage, (watch, lifelines), thread))
}

/// The only thread of a stage.
fn alone(
    stage: &Arc<Stage>,
    (watch, lifelines): (Arc<Watch>, Vec<Arc<Lifeline>>),
    thread: JoinHandle<()>,
) -> Hand {
    Hand {
        is_free: false,
        stage: stage.clone(),
        contestant: 0,
        watch: Some(watch),
        lifelines,
        driver: None,
        notes: Notes::default(),
        thread: Some(thread),
    }
}

/// Starts the thread of one plugin of a race, and tells the driver.
pub(crate) fn start_contestant(
    stage: &Arc<Stage>,
    contestant: usize,
    instance: Instance,
    id: usize,
    driver: &Sender<News>,
) -> Result<Hand, StartError> {
    let (watch, lifelines) = watch(std::slice::from_ref(&instance));
    let worker = Worker {
        stage: stage.clone(),
        contestant,
        watch: watch.clone(),
        instance,
    };
    let (jobs, work) = crossbeam_channel::unbounded();
    let news = driver.clone();
    let name = format!("{}/{}", stage.settings.name, stage.plugin(contestant));
    let thread = spawn(stage, name, id, move || {
        driver::contest(worker, &work, &news)
    })?;
    // Gone only when the driver has ended, and then the new contestant ends at once.
    let _ = driver.send(News::Joined {
        contestant,
        jobs,
        watch: watch.clone(),
    });
    Ok(Hand {
        is_free: false,
        stage: stage.clone(),
        contestant,
        watch: Some(watch),
        lifelines,
        driver: Some(driver.clone()),
        notes: Notes::default(),
        thread: Some(thread),
    })
}

/// Starts a thread that tells the control thread when it ends, also by a panic.
fn spawn(
    stage: &Arc<Stage>,
    name: String,
    id: usize,
    work: impl FnOnce() -> Left + Send + 'static,
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
            left: result.unwrap_or_default(),
            panicked,
        };
        // The control thread is gone only when this thread was given up.
        let _ = stage.run.events.send(ended);
    })?;
    Ok(thread)
}
