//! Builds the pipeline of a replay from a recording.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use flowpipe_config::effects::EffectKind;
use flowpipe_config::pipeline::{self, Contestant, Isolation, OnError, OnStop, Pipeline};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::entry::{About, AboutPlugin, AboutStage, Call};
use flowpipe_recording::{Name, Recording};

use crate::run::replay::allowance::{self, Allowance};
use crate::run::replay::ancestry::Ancestry;
use crate::run::replay::error::{PlanError, flags_of_stage};
use crate::run::replay::gaps::Gaps;
use crate::run::replay::options::ReplayOptions;
use crate::run::replay::outputs::ReplayOutputs;
use crate::run::replay::rerun::{self, NotRerunReason};
use crate::run::replay::store::Store;
use crate::run::replay::turns::Turns;
use crate::run::replay::{Replay, ReplayedStage};

/// The watchdog time of rerun stages.
const WATCHDOG: Duration = Duration::from_secs(60);
/// The watchdog time of a stage that hung in the recording.
const SHORT_WATCHDOG: Duration = Duration::from_secs(2);
/// The timeout of a replacement whose recorded stage has none.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most plugins of all workers of the rerun stages. A recording may list as many without workers.
const PLUGINS: usize = 256;
/// The most of them in isolated stages: they are processes.
const PROCESSES: usize = 32;

impl Replay {
    /// Plans a replay. Returns the pipeline to run with [`crate::run::Options::replay`].
    ///
    /// # Errors
    /// When the options name stages that the recording lacks, and when no stage can be rerun.
    pub fn new(
        recording: Arc<Recording>,
        options: &ReplayOptions,
        catalogue: &Catalogue,
    ) -> Result<(Pipeline, Arc<Self>), PlanError> {
        let whole = Arc::clone(&recording);
        let about = whole.about();
        let index = |name: &String| {
            let position = about.stages.iter().position(|stage| stage.name == *name);
            position.ok_or_else(|| PlanError::NoStage {
                name: name.clone(),
                there: about.stages.iter().map(|it| it.name.clone()).collect(),
            })
        };
        let mut swapped = HashMap::new();
        for swap in &options.swaps {
            swapped.insert(index(&swap.stage)?, swap);
        }
        let from = options.from.as_ref().map(index).transpose()?;
        let below = from.map(|from| downstream(about, from));
        let changed = changed(&recording);
        let mut calls = by_stage(&recording);
        let mut parts = Vec::new();
        let mut plugins = Vec::new();
        for (number, stage) in about.stages.iter().enumerate() {
            let is_other = changed.contains(&stage.name.as_str());
            let among = below.as_ref().is_none_or(|below| below.contains(&number));
            let swap = swapped.get(&number);
            let rerun = match swap {
                Some(swap) => Ok(rerun::swapped(
                    stage,
                    about,
                    swap,
                    &options.allowed,
                    catalogue,
                )?),
                None if from == Some(number) && is_other => {
                    return Err(PlanError::Changed(stage.name.clone()));
                }
                None if from == Some(number) => Ok(rerun::as_recorded(
                    stage,
                    about,
                    &options.allowed,
                    catalogue,
                )?),
                None if is_other => Err(Some(NotRerunReason::Changed)),
                None if !among => Err(None),
                None => {
                    rerun::by_itself(stage, about, catalogue).map(|plugins| (plugins, Vec::new()))
                }
            };
            let mut calls = calls.remove(stage.name.as_str()).unwrap_or_default();
            if swap.is_some() {
                let calls = calls.iter_mut().map(Arc::make_mut);
                calls.for_each(clear_responses);
            }
            let runs_again = rerun.is_ok();
            let (contestants, effects, withheld) = match rerun {
                Ok((contestants, effects)) => (contestants, effects, None),
                Err(withheld) => (as_recorded(stage), Vec::new(), withheld),
            };
            plugins.push(contestants);
            parts.push(ReplayedStage {
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
            let permitted = first_permitted(about, &changed, catalogue);
            let is_replaceable =
                |it: &&AboutStage| !it.inputs.is_empty() && changed.contains(&it.name.as_str());
            let replaceable = about.stages.iter().filter(is_replaceable);
            let changed = replaceable.map(|it| it.name.clone()).collect();
            return Err(PlanError::Nothing { changed, permitted });
        }
        if !options.has_no_limits {
            check_workers(&plugins, &parts)?;
        }
        let pipeline = Pipeline {
            name: about.name.clone(),
            stages: stages(about, plugins, &parts, |stage| swapped.contains_key(&stage)),
            // Stages get their messages in the recorded order, and from no queue.
            edges: Vec::new(),
            on_stop: OnStop::Drop,
            machines: flowpipe_config::pipeline::Machines::default(),
            record: None,
        };
        let replay = Self::of(recording, parts, options)?;
        Ok((pipeline, Arc::new(replay)))
    }

    /// The flags by which a replay of a recorded run runs a stage again: none, if it does so by itself. `failed`: the stage
    /// that is to run again if that is possible without pressing the mouse. `None`: no flags run one again.
    #[must_use]
    pub fn flags(about: &About, failed: Option<&str>, catalogue: &Catalogue) -> Option<String> {
        let runs = |stage: &AboutStage| rerun::by_itself(stage, about, catalogue).is_ok();
        let mut stages = about.stages.iter();
        let failed = stages.find(|stage| Some(&*stage.name) == failed && !runs(stage));
        let of_failed = failed.and_then(|stage| {
            let needed = rerun::needed(stage, about, catalogue)?;
            let mouse = EffectKind::DrivesMouse.as_str();
            let is_harmless = !needed.iter().any(|effect| effect == mouse);
            is_harmless.then(|| (stage.name.clone(), needed))
        });
        let named = match of_failed {
            Some(named) => named,
            None if about.stages.iter().any(runs) => return Some(String::new()),
            None => first_permitted(about, &[], catalogue)?,
        };
        Some(flags_of_stage(&named.0, &named.1))
    }

    fn of(
        recording: Arc<Recording>,
        parts: Vec<ReplayedStage>,
        options: &ReplayOptions,
    ) -> Result<Self, PlanError> {
        let mut outputs = ReplayOutputs::of(&parts);
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
            allowance: Allowance::of((!options.has_no_limits).then_some(recorded)),
            exceeded: Mutex::default(),
            gaps: Gaps::of(&recording, &parts),
            recording,
            parts,
            speed: options.speed,
            began: Instant::now(),
            outputs,
            ancestry,
            turns,
            store: Mutex::new(store),
            arrived: Condvar::new(),
            captured: Mutex::default(),
            unrecorded: AtomicU64::new(last),
        })
    }
}

/// The first stage that is rerun if the options name it, and the effects that they must allow. Those that changed are
/// never rerun.
fn first_permitted(
    about: &About,
    changed: &[&str],
    catalogue: &Catalogue,
) -> Option<(String, Vec<String>)> {
    let permitted = |stage: &AboutStage| {
        let needed = rerun::needed(stage, about, catalogue)?;
        Some((stage.name.clone(), needed))
    };
    let stages = about.stages.iter();
    let mut unchanged = stages.filter(|it| !changed.contains(&it.name.as_str()));
    unchanged.find_map(permitted)
}

/// Stages that changed while they were recorded. Their state at that time is not in the recording.
pub(super) fn changed(recording: &Recording) -> Vec<&str> {
    let changes = recording.changes().iter();
    let stages = changes.flat_map(|change| &change.stages);
    let mut seen = HashSet::new();
    let mut noted = HashSet::new();
    let mut changed = Vec::new();
    for stage in stages {
        let name = stage.stage.name.as_str();
        // A stage that was added again started with no state.
        let came_back = stage.added && seen.contains(name);
        if (stage.other || came_back) && noted.insert(name) {
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
        let message = (call.took.clone(), call.worker, call.taken_ns);
        let kept = best.entry(message).or_insert(index);
        if calls[*kept].emitted.is_empty() && !call.emitted.is_empty() {
            *kept = index;
        }
    }
    let mut index = 0;
    calls.retain(|call| {
        let message = (call.took.clone(), call.worker, call.taken_ns);
        let kept = best.get(&message) == Some(&index);
        index += 1;
        kept
    });
}

/// Checks that the workers of the rerun stages are not too many: a short recording may name many of them.
fn check_workers(plugins: &[Vec<Contestant>], parts: &[ReplayedStage]) -> Result<(), PlanError> {
    let (mut all, mut apart) = (0, 0);
    let rerun = parts.iter().zip(plugins).filter(|(it, _)| it.runs_again);
    for (part, contestants) in rerun {
        let instances = contestants.len() * workers(&part.calls);
        all += instances;
        apart += instances * usize::from(part.about.isolated);
    }
    let counts = [
        (apart, PROCESSES, "plugins in processes of their own"),
        (all, PLUGINS, "plugins"),
    ];
    match counts.into_iter().find(|(count, most, _)| count > most) {
        Some((count, most, what)) => Err(PlanError::Workers { count, most, what }),
        None => Ok(()),
    }
}

/// The number of workers that made these calls. Calls of others, which no run has, are not rerun.
fn workers(calls: &[Arc<Call>]) -> usize {
    let last = calls.iter().map(|call| call.worker).max().unwrap_or(0);
    last.saturating_add(1).min(pipeline::Stage::MAX_WORKERS)
}

/// Clears the recorded host responses: another plugin makes other host calls.
fn clear_responses(call: &mut Call) {
    call.plugin = 0;
    call.clock.clear();
    call.waits.clear();
    call.cancelled = None;
}

/// The plugins of a stage that is not rerun.
fn as_recorded(stage: &AboutStage) -> Vec<Contestant> {
    let plugins = stage.plugins.iter();
    let contestant = |plugin: &AboutPlugin| Contestant {
        plugin: plugin.name.clone(),
        config: plugin.config.clone(),
        revision: 0,
    };
    plugins.map(contestant).collect()
}

/// A stage and all stages downstream of it.
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
    parts: &[ReplayedStage],
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
            // A recorded timeout is replayed at the same check; a call that hung did not check.
            timeout: (is_swapped(number) || hung).then(|| limit.unwrap_or(PATIENCE)),
            on_error: OnError::Skip,
            watchdog: if hung { SHORT_WATCHDOG } else { WATCHDOG },
            // A plugin that crashed would crash the replay.
            isolation: match stage.isolated {
                true => Isolation::Process,
                false => Isolation::Thread,
            },
            restart: None,
            fresh: false,
            // Each worker that called its plugins has its own instances. One thread calls all of them, in the order in
            // which they took their messages, so that their order is the recorded one.
            workers: parts.get(number).map_or(1, |part| workers(&part.calls)),
            ordered: true,
        }
    };
    let stages = about.stages.iter().enumerate();
    stages.zip(plugins).map(stage).collect()
}
