//! The threads of a run, as the control thread keeps them.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam_channel::Sender;

use crate::plugin::catalogue::Found;
use crate::plugin::host::Host;
use crate::plugin::instance::Instance;
use crate::plugin::tape::Tape;
use crate::replay::Replay;
use crate::run::StartError;
use crate::run::control::Event;
use crate::run::driver::{self, Driver, News};
use crate::run::retrace;
use crate::run::stage::Stage;
use crate::run::watch::{Call, Watch};
use crate::run::worker::{Left, Worker};

/// One thread of a run.
pub(crate) struct Hand {
    /// Nobody hears of its thread any more: another may take its place.
    pub is_free: bool,
    pub stage: Arc<Stage>,
    pub contestant: usize,
    /// `None`: a driver, which calls no plugin.
    pub watch: Option<Arc<Watch>>,
    /// To the driver, when this is a contestant of a race.
    pub driver: Option<Sender<News>>,
    pub notes: Notes,
    /// `None`: it has ended or was given up.
    pub thread: Option<JoinHandle<()>>,
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
        Some(replay) => Tape::plays(replay.first_times(stage.index, contestant)),
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
    let mut instance =
        Instance::create(found, config, host).map_err(|reason| refuse("create", reason))?;
    if let Err(reason) = instance.activate() {
        instance.destroy();
        return Err(refuse("activate", reason));
    }
    Ok(instance)
}

/// Starts the threads of a stage whose contestants are all there.
pub(crate) fn start(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    hands: &mut Vec<Hand>,
) -> Result<(), StartError> {
    start_those(stage, instances.into_iter().enumerate().collect(), hands)
}

/// Starts the threads of a stage with those of its contestants that there are.
pub(crate) fn start_those(
    stage: &Arc<Stage>,
    instances: Vec<(usize, Instance)>,
    hands: &mut Vec<Hand>,
) -> Result<(), StartError> {
    if let Some(replay) = &stage.run.replay {
        if !instances.is_empty() {
            let instances = instances.into_iter().map(|(_, instance)| instance);
            let replay = replay.clone();
            let id = place(hands);
            seat(
                hands,
                id,
                start_retracer(stage, instances.collect(), id, replay)?,
            );
        }
        return Ok(());
    }
    if stage.settings.contestants.len() == 1 {
        for (_, instance) in instances {
            let id = place(hands);
            seat(hands, id, start_worker(stage, instance, id)?);
        }
        return Ok(());
    }
    let (sender, news) = crossbeam_channel::unbounded();
    for (contestant, instance) in instances {
        let id = place(hands);
        let hand = start_contestant(stage, contestant, instance, id, &sender)?;
        seat(hands, id, hand);
    }
    let driver = Driver::new(stage.clone(), (sender, news));
    let name = stage.settings.name.clone();
    let id = place(hands);
    let thread = spawn(stage, name, id, move || driver.run().into())?;
    let hand = Hand {
        is_free: false,
        stage: stage.clone(),
        contestant: 0,
        watch: None,
        driver: None,
        notes: Notes::default(),
        thread: Some(thread),
    };
    seat(hands, id, hand);
    Ok(())
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
    let watch = Arc::new(Watch::default());
    let worker = Worker {
        stage: stage.clone(),
        contestant: 0,
        watch: watch.clone(),
        instance,
    };
    let name = stage.settings.name.clone();
    let thread = spawn(stage, name, id, move || worker.run().into())?;
    Ok(alone(stage, watch, thread))
}

/// Starts the thread of a stage whose recorded calls are run again.
fn start_retracer(
    stage: &Arc<Stage>,
    instances: Vec<Instance>,
    id: usize,
    replay: Arc<Replay>,
) -> Result<Hand, StartError> {
    let watch = Arc::new(Watch::default());
    let worker = |(contestant, instance)| Worker {
        stage: stage.clone(),
        contestant,
        watch: watch.clone(),
        instance,
    };
    let workers = instances.into_iter().enumerate().map(worker).collect();
    let name = stage.settings.name.clone();
    let own = stage.clone();
    let thread = spawn(stage, name, id, move || Ended {
        instances: retrace::retrace(&own, workers, &replay),
        paused: false,
    })?;
    Ok(alone(stage, watch, thread))
}

/// The only thread of a stage.
fn alone(stage: &Arc<Stage>, watch: Arc<Watch>, thread: JoinHandle<()>) -> Hand {
    Hand {
        is_free: false,
        stage: stage.clone(),
        contestant: 0,
        watch: Some(watch),
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
    let watch = Arc::new(Watch::default());
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
        driver::contest(worker, &work, &news).into()
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
        driver: Some(driver.clone()),
        notes: Notes::default(),
        thread: Some(thread),
    })
}

/// How the work of a thread ended.
#[derive(Default)]
struct Ended {
    instances: Vec<Instance>,
    paused: bool,
}

impl From<Left> for Ended {
    fn from(left: Left) -> Self {
        Self {
            instances: left.instance.into_iter().collect(),
            paused: left.paused,
        }
    }
}

/// Starts a thread that tells the control thread when it ends, also by a panic.
fn spawn(
    stage: &Arc<Stage>,
    name: String,
    id: usize,
    work: impl FnOnce() -> Ended + Send + 'static,
) -> Result<JoinHandle<()>, StartError> {
    let stage = stage.clone();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let panicked = result.is_err();
        if panicked {
            stage.close();
        }
        let Ended { instances, paused } = result.unwrap_or_default();
        let ended = Event::Ended {
            id,
            instances,
            paused,
            panicked,
        };
        // The control thread is gone only when this thread was given up.
        let _ = stage.run.events.send(ended);
    })?;
    Ok(thread)
}
