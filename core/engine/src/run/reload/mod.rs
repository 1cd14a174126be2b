//! Changes a pipeline while it runs.
//!
//! What differs is found by the stages' names ([`difference`]), new plugins are made and got ready beside those that
//! run, and only then the stages that it concerns pause, each between two messages ([`pausing`]). State is handed over
//! ([`state_transfer`]), queues with what lies in them are joined as the new pipeline says ([`rewire`]), and all go on. Whatever fails
//! before that leaves everything as it was.

mod changes;
mod difference;
mod error;
mod live;
pub(crate) mod pausing;
mod rewire;
mod state_transfer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use changes::{Changed, Changes, LineUp, What};
pub use error::ChangeError;
use flowpipe_config::pipeline::{Isolation, Pipeline};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::instance::Instance;
use flowpipe_host::run::Mode;
use flowpipe_sync::lock;

use crate::run::control::Event;
use crate::run::create::create;
use crate::run::plan::Plan;
use crate::run::reload::difference::{Difference, same_code};
use crate::run::reload::live::LivePipeline;
use crate::run::reload::pausing::{PausedStage, PausedStages, Refusal, Request, Resume, Resumed};
use crate::run::shared::Shared;
use crate::run::stage::Stage;
use crate::run::summary::{CurrentLine, Line};
use crate::supervisor;

/// Changes a run, from anywhere.
#[derive(Clone)]
pub struct Changer {
    shared: Arc<Shared>,
    current: CurrentLine,
    /// Locked while a change is made: one comes after the other.
    live: Arc<Mutex<LivePipeline>>,
}

/// Instances by stage and contestant.
type Made = HashMap<(usize, usize), Instance>;

impl Changer {
    pub(crate) fn new(plan: &Plan, current: CurrentLine) -> Self {
        Self {
            shared: plan.shared.clone(),
            current,
            live: Arc::new(Mutex::new(LivePipeline::new(plan))),
        }
    }

    /// Makes the running pipeline into another one. Stages are known by their names; what is the same goes on untouched,
    /// and nothing that was emitted is lost or worked on twice. A stage whose plugin, config or settings differ pauses between
    /// two messages, as do those whose queues are joined in another way. A stage that is taken out works off what it
    /// was given, and ends. Plugins are the same when the catalogue has them from the same libraries as before.
    ///
    /// Waits until the change is made: besides what new plugins take to get ready and plugins for their states, for each stage
    /// that pauses no longer than two times the longest `timeout` and `watchdog` of all stages. A process of its own gets the
    /// `timeout` and `watchdog` of its stage for each step with its state.
    ///
    /// # Errors
    /// When the new pipeline can't be started, when a plugin refuses its config, does not get ready or does not give or take its state,
    /// when a stage does not come back from its message, and for what can't be changed in a run. The run goes on as it was; a
    /// plugin whose own process ends while its state is asked for is made anew, as after other crashes.
    pub fn change(
        &self,
        pipeline: Pipeline,
        catalogue: &Catalogue,
    ) -> Result<Changes, ChangeError> {
        let mut live = lock(&self.live);
        let shared = &self.shared;
        if shared.replay.is_some() {
            return Err(ChangeError::Replay);
        }
        if shared.mode() > Mode::Run {
            return Err(ChangeError::Ending);
        }
        let mut difference = Difference::new(shared, &live, &pipeline, catalogue)?;
        if !difference.changes.stages.is_empty() {
            self.apply(&mut live, &mut difference)?;
        }
        if shared.set_on_stop(pipeline.on_stop) {
            difference.changes.keys.push("on_stop");
        }
        Ok(difference.changes)
    }

    fn apply(
        &self,
        live: &mut LivePipeline,
        difference: &mut Difference,
    ) -> Result<(), ChangeError> {
        let mut made = self.make(live, difference)?;
        let asker = Arc::new(());
        let mut paused = match self.pause(live, difference, &asker) {
            Ok(paused) => paused,
            Err(error) => {
                self.destroy(made.into_values());
                return Err(error);
            }
        };
        let taken_over = nobody_ended(difference, &paused).and_then(|()| {
            state_transfer::transfer(&self.shared, live, difference, &mut paused, &mut made)
        });
        if let Err(error) = taken_over {
            let lost = state_transfer::lost(live, difference, &paused);
            if !lost.is_empty() {
                self.tell(live, &lost);
            }
            let stages = difference.pausing.iter().map(|&index| &live.stages[index]);
            self.resume(stages.filter_map(|it| {
                Some(Resumed {
                    stage: it.stage.clone(),
                    found: it.found.clone(),
                    instances: instances(&mut paused, it.stage.index)?,
                })
            }));
            self.destroy(made.into_values());
            return Err(error);
        }
        for live_stage in &difference.next.stages[live.stages.len()..] {
            let manifest = difference::manifest(&live_stage.found);
            let name = &live_stage.stage.settings.name;
            self.shared.names.add(name, manifest);
        }
        self.tell(&difference.next, &difference.changes);
        let pausing: Vec<_> = difference
            .pausing
            .iter()
            .map(|&index| live.stages[index].stage.clone())
            .collect();
        // Known before they lose their senders, after which they may end at any time.
        for live_stage in difference.next.stages.iter().filter(|it| !it.is_live) {
            let stage = live_stage.stage.index;
            self.shared.supervise(supervisor::Event::Removed { stage });
        }
        rewire::rewire(difference, &pausing);
        let (resumed, left) = cast(live, difference, &mut paused, made);
        self.current.set(Line {
            stages: difference
                .next
                .stages
                .iter()
                .map(|it| it.stage.clone())
                .collect(),
            edges: difference
                .next
                .edges
                .iter()
                .map(|it| it.summary.clone())
                .collect(),
        });
        *live = difference.next.clone();
        self.resume(resumed.into_iter());
        self.destroy(left.into_iter());
        Ok(())
    }

    /// Makes all new instances, and gets them ready.
    fn make(&self, live: &LivePipeline, difference: &Difference) -> Result<Made, ChangeError> {
        let mut made = Made::new();
        for &index in difference.changed.iter().chain(&difference.added) {
            let next = &difference.next.stages[index];
            let known = kept(live, difference, index);
            for (contestant, found) in next.found.iter().enumerate() {
                if known[contestant].is_some() {
                    continue;
                }
                // What runs in a process of its own calls no plugin here.
                let calls = match next.stage.settings.isolation {
                    Isolation::Process => None,
                    Isolation::Thread => {
                        Some(self.shared.control_calls().ok_or(ChangeError::Ending)?)
                    }
                };
                let instance = create(&next.stage, contestant, found);
                drop(calls);
                match instance {
                    Ok(instance) => made.insert((index, contestant), instance),
                    Err(error) => {
                        self.destroy(made.into_values());
                        return Err(error.into());
                    }
                };
            }
        }
        Ok(made)
    }

    /// Has stages pause, and gets their instances.
    fn pause(
        &self,
        live: &LivePipeline,
        difference: &Difference,
        asker: &Arc<()>,
    ) -> Result<PausedStages, ChangeError> {
        let stages = difference.pausing.iter();
        let stages: Vec<Arc<Stage>> = stages
            .map(|&index| live.stages[index].stage.clone())
            .collect();
        let (answer, answered) = crossbeam_channel::bounded(1);
        let request = Request {
            stages,
            answer,
            asker: Arc::downgrade(asker),
        };
        let sent = self.shared.events.send(Event::Pause(request));
        sent.map_err(|_| ChangeError::Ending)?;
        match answered.recv() {
            Ok(Ok(paused)) => Ok(paused),
            Ok(Err(Refusal::Busy(stage))) => Err(ChangeError::Busy {
                stage: stage.settings.name.clone(),
            }),
            Ok(Err(Refusal::Ending)) | Err(_) => Err(ChangeError::Ending),
        }
    }

    /// Tells those who watch, before anything new speaks.
    fn tell(&self, live: &LivePipeline, changes: &Changes) {
        let line = LineUp {
            live,
            changes,
            now_ns: self.shared.now(),
        };
        tracing::info!("changed: {changes}");
        for observer in &self.shared.observers {
            observer.changed(&line);
        }
    }

    fn resume(&self, resumed: impl Iterator<Item = Resumed>) {
        let (done, is_done) = crossbeam_channel::bounded(1);
        let resumed = resumed.collect();
        let sent = self.shared.events.send(Event::Resume(Resume {
            stages: resumed,
            done,
        }));
        if sent.is_ok() {
            // The control thread waits for this, and answers at once.
            let _ = is_done.recv();
        }
    }

    /// Ends instances that are of no more use.
    fn destroy(&self, instances: impl Iterator<Item = Instance>) {
        for instance in instances {
            if instance.stage_process().is_some() {
                instance.destroy();
                continue;
            }
            match self.shared.control_calls() {
                Some(_calls) => instance.destroy(),
                None => std::mem::forget(instance),
            }
        }
    }
}

/// A stage that was to be changed may have ended on its own meanwhile.
fn nobody_ended(difference: &Difference, paused: &PausedStages) -> Result<(), ChangeError> {
    let laid = difference.laid.iter();
    let receivers = laid.map(|&edge| difference.next.edges[edge].edge.to.stage);
    let mut needed = difference.changed.iter().copied().chain(receivers);
    let ended = needed.find(|stage| matches!(paused.get(stage), Some(PausedStage::Over)));
    let name = |stage: usize| difference.next.stages[stage].stage.settings.name.clone();
    ended.map_or(Ok(()), |stage| {
        Err(ChangeError::Ended { stage: name(stage) })
    })
}

/// Which contestant of what stands goes on as which one of a stage that changes.
fn kept(live: &LivePipeline, difference: &Difference, index: usize) -> Vec<Option<usize>> {
    let next = &difference.next.stages[index];
    let mut taken = Vec::new();
    // In another process it is another one.
    let isolation = next.stage.settings.isolation;
    let before = live.stages.get(index);
    let before = before.filter(|it| it.is_live && it.stage.settings.isolation == isolation);
    let contestants = next.stage.settings.contestants.iter().zip(&next.found);
    contestants
        .map(|(contestant, found)| {
            let before = before?;
            let old = before.stage.settings.contestants.iter();
            let mut old = old.zip(&before.found).enumerate();
            let (same, _) = old.find(|(number, (old, code))| {
                !taken.contains(number)
                    && old.plugin == contestant.plugin
                    && old.config == contestant.config
                    && same_code(code, found)
            })?;
            taken.push(same);
            Some(same)
        })
        .collect()
}

fn instances(paused: &mut PausedStages, index: usize) -> Option<Vec<(usize, Instance)>> {
    match paused.remove(&index)? {
        PausedStage::Paused(instances) => Some(instances),
        PausedStage::Over => None,
    }
}

/// Who goes on in which stage, and who is of no more use.
fn cast(
    live: &LivePipeline,
    difference: &Difference,
    paused: &mut PausedStages,
    mut made: Made,
) -> (Vec<Resumed>, Vec<Instance>) {
    let mut resumed = Vec::new();
    let mut left = Vec::new();
    // Receivers first, so that nobody waits for long.
    let stages = difference
        .added
        .iter()
        .chain(difference.pausing.iter().rev());
    for &index in stages {
        let next = &difference.next.stages[index];
        let is_new = difference.added.contains(&index);
        let old = match instances(paused, index) {
            Some(old) => old,
            None if is_new => Vec::new(),
            None => continue,
        };
        if !next.is_live && next.stage.is_source() {
            left.extend(old.into_iter().map(|(_, instance)| instance));
            continue;
        }
        let changes = is_new || difference.changed.contains(&index);
        let instances = match changes {
            false => old,
            true => {
                let mut old: HashMap<_, _> = old.into_iter().collect();
                let known = kept(live, difference, index);
                let mut paused_stage = Vec::new();
                for (contestant, known) in known.into_iter().enumerate() {
                    let kept = known.and_then(|known| old.remove(&known));
                    let instance = kept.or_else(|| made.remove(&(index, contestant)));
                    paused_stage.extend(instance.map(|instance| (contestant, instance)));
                }
                left.extend(old.into_values());
                paused_stage
            }
        };
        resumed.push(Resumed {
            stage: next.stage.clone(),
            found: next.found.clone(),
            instances,
        });
    }
    (resumed, left)
}
