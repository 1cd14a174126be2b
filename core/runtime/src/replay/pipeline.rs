//! From a recording to a pipeline whose stages are run again.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use flowpipe_recording::entry::{About, AboutPlugin, AboutStage, Call};
use flowpipe_recording::{CALLS, Entry, Fault, Name, Recording};
use serde_json::Value;

use crate::pipeline::{self, Contestant, Isolation, OnError, OnStop, Pipeline};
use crate::plugin::catalogue::Catalogue;
use crate::replay::again::{self, Allowed, Withheld};
use crate::replay::allowance::{self, Allowance};
use crate::replay::ancestry::Ancestry;
use crate::replay::gaps::Gaps;
use crate::replay::outputs::Outputs;
use crate::replay::store::Store;
use crate::replay::turns::Turns;
use crate::replay::{Part, Replay};

/// How a recording is to be run again.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Only this stage, and what comes after it.
    pub from: Option<String>,
    /// Other plugins than those recorded.
    pub swaps: Vec<Swap>,
    /// What the stages that `from` and `swaps` name may do to the world.
    pub allowed: Allowed,
    /// How often faster than it was; `None`: as fast as it goes.
    pub speed: Option<f64>,
    /// Calls that run again may take as long and as much memory as they like.
    pub has_no_limits: bool,
}

/// Another plugin in a stage's place.
#[derive(Clone, Debug)]
pub struct Swap {
    /// The stage.
    pub stage: String,
    /// The plugin.
    pub plugin: String,
    /// Its config, as the user typed it.
    pub config: Value,
}

/// Why a recording can't be run again as wished.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It has no such stage.
    #[error("the recording has no stage \"{name}\"; it has {}", there.join(", "))]
    NoStage {
        /// What was asked for.
        name: String,
        /// What there is.
        there: Vec<String>,
    },
    /// No stage can be run again.
    #[error(
        "no stage of the recording can be run again: none has a plugin here that takes messages, is deterministic and has no effects"
    )]
    Nothing,
    /// A stage can't be run again at all.
    #[error("stage \"{0}\" can't be run again: it takes no messages")]
    Source(String),
    /// Another plugin does not fit in a stage's place.
    #[error("{plugin} can't stand in for stage \"{stage}\": its inputs and outputs differ")]
    Ports {
        /// The stage.
        stage: String,
        /// The plugin.
        plugin: String,
    },
    /// A stage was another one before and after.
    #[error(
        "stage \"{0}\" can't be run again: its plugin, config or settings changed while it ran; --swap puts one plugin in its place"
    )]
    Changed(String),
    /// Calls of the recording form a cycle.
    #[error("{} can't be run again: {fault}", path.display())]
    Cycle {
        /// The recording.
        path: PathBuf,
        /// Which call.
        fault: Box<Fault>,
    },
    /// A stage has effects that nobody allowed.
    #[error(
        "stage \"{stage}\" is not run again: {plugin} {}; {} permits it",
        effects.join(", and "),
        needed.iter().map(|effect| format!("--allow {effect}")).collect::<Vec<_>>().join(" ")
    )]
    Effects {
        /// The stage.
        stage: String,
        /// Its plugin.
        plugin: String,
        /// What it would do, in words.
        effects: Vec<String>,
        /// What has to be allowed.
        needed: Vec<String>,
    },
    /// A plugin's config can't be used.
    #[error("stage \"{stage}\" can't be run again: the config of {plugin} can't be used: {reason}")]
    Config {
        /// The stage.
        stage: String,
        /// Its plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

/// A stage that sits on one message for so long is warned about, and hangs when its call was cancelled.
const WATCHDOG: Duration = Duration::from_secs(60);
/// The same for one that did hang.
const SHORT_WATCHDOG: Duration = Duration::from_secs(2);
/// A plugin that stands in for another gets so long where the recorded one had no limit.
const PATIENCE: Duration = Duration::from_secs(10);

impl PlanError {
    /// `call`: one of the cycle.
    fn cycle(recording: &Recording, call: Option<&Call>) -> Self {
        let is_it = |entry: &Entry| {
            let (Entry::Call(it), Some(call)) = (entry, call) else {
                return false;
            };
            (&it.stage, it.taken_ns, &it.took) == (&call.stage, call.taken_ns, &call.took)
        };
        let place = recording.entries().iter().position(is_it);
        let place = place.and_then(|entry| recording.place(entry));
        let took = call.and_then(|call| call.took.as_ref());
        let what = match (call, took) {
            (Some(call), Some(took)) => format!(
                "the call of stage \"{}\" takes message {} of {}.{}, which descends from that call itself",
                call.stage, took.sequence, took.from, took.output
            ),
            _ => "a call takes what descends from itself".to_owned(),
        };
        Self::Cycle {
            path: recording.path().to_owned(),
            fault: Box::new(Fault {
                topic: CALLS.to_owned(),
                place: place.unwrap_or_default(),
                what,
            }),
        }
    }
}

impl Replay {
    /// Which stages of a recording are run again, as a pipeline to run with [`crate::run::Options::replay`].
    ///
    /// # Errors
    /// When the wish names stages that are not there, and when nothing is left to run.
    pub fn new(
        recording: Arc<Recording>,
        wish: &Wish,
        catalogue: &Catalogue,
    ) -> Result<(Pipeline, Arc<Self>), PlanError> {
        let about = recording.about().clone();
        let index = |name: &String| {
            let position = about.stages.iter().position(|stage| stage.name == *name);
            position.ok_or_else(|| PlanError::NoStage {
                name: name.clone(),
                there: about.stages.iter().map(|it| it.name.clone()).collect(),
            })
        };
        let mut swapped = HashMap::new();
        for swap in &wish.swaps {
            swapped.insert(index(&swap.stage)?, swap);
        }
        let from = wish.from.as_ref().map(index).transpose()?;
        let below = from.map(|from| downstream(&about, from));
        let changed = changed(&recording);
        let mut calls = by_stage(&recording);
        let mut parts = Vec::new();
        let mut plugins = Vec::new();
        for (number, stage) in about.stages.iter().enumerate() {
            let is_other = changed.contains(&stage.name.as_str());
            let among = below.as_ref().is_none_or(|below| below.contains(&number));
            let swap = swapped.get(&number);
            let again = match swap {
                Some(swap) => Ok(again::swapped(stage, swap, &wish.allowed, catalogue)?),
                None if from == Some(number) && is_other => {
                    return Err(PlanError::Changed(stage.name.clone()));
                }
                None if from == Some(number) => {
                    Ok(again::as_recorded(stage, &wish.allowed, catalogue)?)
                }
                None if is_other => Err(Some(Withheld::Changed)),
                None if !among => Err(None),
                None => again::by_itself(stage, catalogue).map(|plugins| (plugins, Vec::new())),
            };
            let mut calls = calls.remove(stage.name.as_str()).unwrap_or_default();
            if swap.is_some() {
                let calls = calls.iter_mut().map(Arc::make_mut);
                calls.for_each(forget);
            }
            let runs_again = again.is_ok();
            let (contestants, effects, withheld) = match again {
                Ok((contestants, effects)) => (contestants, effects, None),
                Err(withheld) => (as_recorded(stage), Vec::new(), withheld),
            };
            plugins.push(contestants);
            parts.push(Part {
                about: stage.clone(),
                calls,
                runs_again,
                effects,
                withheld,
                is_swapped: swap.is_some(),
                next: AtomicUsize::new(0),
                is_abandoned: AtomicBool::new(false),
            });
        }
        if !parts.iter().any(|part| part.runs_again) {
            return Err(PlanError::Nothing);
        }
        let pipeline = Pipeline {
            name: about.name.clone(),
            stages: stages(&about, plugins, &parts, |stage| {
                swapped.contains_key(&stage)
            }),
            // A stage gets its messages by the recorded order, and from no queue.
            edges: Vec::new(),
            on_stop: OnStop::Drop,
            record: None,
        };
        let replay = Self::of(recording, parts, wish)?;
        Ok((pipeline, Arc::new(replay)))
    }

    fn of(recording: Arc<Recording>, parts: Vec<Part>, wish: &Wish) -> Result<Self, PlanError> {
        let mut outputs = Outputs::of(&parts);
        let calls = parts.iter().map(|part| part.calls.as_slice());
        let ancestry = Ancestry::of(calls, &mut outputs).map_err(|cycle| {
            let calls = parts.get(cycle.stage).map_or(&[][..], |part| &part.calls);
            PlanError::cycle(&recording, calls.get(cycle.call).map(|call| &**call))
        })?;
        let mut store = Store::default();
        let mut turns = Vec::new();
        let mut recorded = Duration::ZERO;
        for (stage, part) in parts.iter().enumerate() {
            turns.push(Turns::of(&part.calls));
            if !part.runs_again {
                continue;
            }
            store.works(stage);
            for (number, call) in part.calls.iter().enumerate() {
                let took = call.took.as_ref();
                let took = took.and_then(|it| ancestry.took(stage, number, it.sequence));
                if let Some(message) = took {
                    store.add_taker(message);
                }
            }
            let calls = part.calls.iter().map(|call| &**call);
            recorded = recorded.saturating_add(allowance::recorded(calls));
        }
        let last = ancestry.last();
        Ok(Self {
            allowance: Allowance::of((!wish.has_no_limits).then_some(recorded)),
            exceeded: Mutex::default(),
            gaps: Gaps::of(&recording, &parts),
            recording,
            parts,
            speed: wish.speed,
            began: Instant::now(),
            outputs,
            ancestry,
            turns,
            store: Mutex::new(store),
            arrived: Condvar::new(),
            unrecorded: AtomicU64::new(last),
        })
    }
}

/// Stages that were other ones at the start of their run than at its end: what they remembered when they became others is
/// not recorded.
pub(super) fn changed(recording: &Recording) -> Vec<&str> {
    let changes = recording.changes().iter();
    let stages = changes.flat_map(|change| &change.stages);
    let mut seen = HashSet::new();
    let mut told = HashSet::new();
    let mut changed = Vec::new();
    for stage in stages {
        let name = stage.stage.name.as_str();
        // One that came back began anew.
        let came_back = stage.added && seen.contains(name);
        if (stage.other || came_back) && told.insert(name) {
            changed.push(name);
        }
        seen.insert(name);
    }
    changed
}

/// The recorded calls by stage. Of a race, those of the plugin that answered.
fn by_stage(recording: &Recording) -> HashMap<Name, Vec<Arc<Call>>> {
    let mut stages = recording.calls_by_stage();
    for calls in stages.values_mut() {
        if calls.iter().any(|call| call.plugin > 0) {
            keep_answers(calls);
        }
    }
    stages
}

fn keep_answers(calls: &mut Vec<Arc<Call>>) {
    let mut best: HashMap<_, usize> = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        let message = (call.took.clone(), call.taken_ns);
        let kept = best.entry(message).or_insert(index);
        if calls[*kept].emitted.is_empty() && !call.emitted.is_empty() {
            *kept = index;
        }
    }
    let mut index = 0;
    calls.retain(|call| {
        let kept = best.get(&(call.took.clone(), call.taken_ns)) == Some(&index);
        index += 1;
        kept
    });
}

/// Another plugin asks other questions: what the recorded one was told says nothing to it.
fn forget(call: &mut Call) {
    call.plugin = 0;
    call.clock.clear();
    call.waits.clear();
    call.cancelled = None;
}

/// The plugins of a stage that is not run again.
fn as_recorded(stage: &AboutStage) -> Vec<Contestant> {
    let plugins = stage.plugins.iter();
    let contestant = |plugin: &AboutPlugin| Contestant {
        plugin: plugin.name.clone(),
        config: plugin.config.clone(),
    };
    plugins.map(contestant).collect()
}

/// A stage, and all that get its messages, directly or through others.
fn downstream(about: &About, from: usize) -> Vec<usize> {
    let index = |name: &str| about.stages.iter().position(|stage| stage.name == name);
    let mut found = vec![from];
    let mut next = 0;
    while let Some(&stage) = found.get(next) {
        next += 1;
        for edge in &about.edges {
            if index(&edge.from.0) == Some(stage)
                && let Some(to) = index(&edge.to.0)
                && !found.contains(&to)
            {
                found.push(to);
            }
        }
    }
    found
}

fn stages(
    about: &About,
    plugins: Vec<Vec<Contestant>>,
    parts: &[Part],
    is_swapped: impl Fn(usize) -> bool,
) -> Vec<pipeline::Stage> {
    let stage = |((number, stage), contestants): ((usize, &AboutStage), Vec<Contestant>)| {
        let limit = stage
            .timeout_ns
            .map(|limit| Duration::from_nanos(limit).min(WATCHDOG));
        let hung = parts
            .get(number)
            .is_some_and(|part| part.calls.iter().any(|call| call.hung));
        pipeline::Stage {
            name: stage.name.clone(),
            contestants,
            // What ran into its timeout then is told so at the same point now; what hung did not ask.
            timeout: (is_swapped(number) || hung).then(|| limit.unwrap_or(PATIENCE)),
            on_error: OnError::Skip,
            watchdog: if hung { SHORT_WATCHDOG } else { WATCHDOG },
            // What crashed then would take the replay along now.
            isolation: match stage.isolated {
                true => Isolation::Process,
                false => Isolation::Thread,
            },
            restart: None,
            fresh: false,
        }
    };
    let stages = about.stages.iter().enumerate();
    stages.zip(plugins).map(stage).collect()
}
