//! Changes a pipeline while it runs.
//!
//! Stages are compared by name ([`diff`]). New plugins are created and activated beside the running ones. Only then the
//! affected stages pause, each between two messages ([`pausing`]). New plugins that drive the mouse are created while all
//! stages that drive it are paused: such a plugin may move the pointer at once, which would drag what another one has
//! pressed. The state is transferred ([`state_transfer`]), the queues are rewired with their messages ([`rewire`]), and
//! the stages resume. A failure before that leaves the run unchanged.

mod changes;
mod diff;
mod error;
mod live;
pub(crate) mod pausing;
mod rewire;
mod state_transfer;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

pub use changes::{Changes, PipelineChange, StageChangeKind, StageChanges};
pub use error::ChangeError;
use flowpipe_config::pipeline::{Isolation, Pipeline};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::instance::Instance;
use flowpipe_host::run::Mode;
use flowpipe_sync::lock;

use crate::run::create::create;
use crate::run::event::ControlEvent;
use crate::run::plan::Plan;
use crate::run::reload::diff::PipelineDiff;
use crate::run::reload::live::{LivePipeline, LiveStage};
use crate::run::reload::pausing::{
    PauseRefused, PausedStage, PausedStages, Request, Resume, ResumedStage,
};
use crate::run::shared::Shared;
use crate::run::stage::Stage;
use crate::run::summary::{CurrentTopology, Topology};
use crate::supervisor::{self, Slot};

/// Changes a run, from any thread.
#[derive(Clone)]
pub struct Reloader {
    shared: Arc<Shared>,
    current: CurrentTopology,
    /// Locked during a change: there is one at a time.
    live: Arc<Mutex<LivePipeline>>,
}

/// New instances.
type CreatedInstances = HashMap<Slot, Instance>;

impl Reloader {
    pub(crate) fn new(plan: &Plan, current: CurrentTopology) -> Self {
        Self {
            shared: plan.shared.clone(),
            current,
            live: Arc::new(Mutex::new(LivePipeline::new(plan))),
        }
    }

    /// Whether the run can't be changed any more: it was stopped or has failed, or all its stages have ended.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.ends(&lock(&self.live))
    }

    fn ends(&self, live: &LivePipeline) -> bool {
        let has_ended = |it: &LiveStage| it.stage.over.load(Ordering::SeqCst);
        self.shared.mode() > Mode::Run || live.stages.iter().all(has_ended)
    }

    /// Changes the running pipeline to another one. Stages are matched by name. Unchanged stages keep running, and no
    /// emitted message is lost or processed twice. A stage whose plugin, config or settings differ pauses between two
    /// messages, and so does a stage whose queues are rewired. A removed stage drains its queue, and ends. A plugin is
    /// unchanged if the catalogue has it from the same library as before.
    ///
    /// All stages that drive the mouse pause before a new plugin that drives it is created.
    ///
    /// Blocks until the change is complete. Besides the time to activate new plugins and to transfer state, it waits
    /// for each pausing stage at most twice the longest `timeout` plus `watchdog` of all stages. An isolated plugin
    /// gets the `timeout` and `watchdog` of its stage for each step of its state transfer. It waits at most ten seconds
    /// for a plugin that is created or destroyed elsewhere.
    ///
    /// # Errors
    /// When the new pipeline fails to start, when a plugin rejects its config, fails to activate or fails to save or
    /// load its state, when a stage does not return from its call, and for changes that a run does not support. The run
    /// then continues unchanged. An isolated plugin whose process ends while its state is saved is restarted, as after
    /// other crashes.
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
        if shared.has_machines {
            return Err(ChangeError::Machines);
        }
        if self.ends(&live) {
            return Err(ChangeError::Ending);
        }
        let mut diff = PipelineDiff::new(shared, &live, &pipeline, catalogue)?;
        if !diff.changes.stages.is_empty() {
            self.apply(&mut live, &mut diff)?;
        } else if !diff.changes.checks.is_empty() {
            shared.checks.add(std::mem::take(&mut diff.checks));
            self.notify_observers(&live, &diff.changes);
        }
        if shared.set_on_stop(pipeline.on_stop) {
            diff.changes.keys.push("on_stop");
        }
        Ok(diff.changes)
    }

    fn apply(&self, live: &mut LivePipeline, diff: &mut PipelineDiff) -> Result<(), ChangeError> {
        let mut created = CreatedInstances::new();
        if let Err(error) = self.create_instances(live, diff, false, &mut created) {
            self.destroy(created.into_values());
            return Err(error);
        }
        let requester = Arc::new(());
        let mut paused = match self.pause(live, diff, &requester) {
            Ok(paused) => paused,
            Err(error) => {
                self.destroy(created.into_values());
                return Err(error);
            }
        };
        let transferred = check_none_ended(diff, &paused)
            .and_then(|()| self.create_instances(live, diff, true, &mut created))
            .and_then(|()| {
                state_transfer::transfer(&self.shared, live, diff, &mut paused, &mut created)
            });
        if let Err(error) = transferred {
            let lost = state_transfer::lost(live, diff, &paused);
            if !lost.is_empty() {
                self.notify_observers(live, &lost);
            }
            let stages = diff.pausing.iter().map(|&index| &live.stages[index]);
            self.resume(stages.filter_map(|it| {
                Some(ResumedStage {
                    stage: it.stage.clone(),
                    found: it.found.clone(),
                    instances: instances(&mut paused, it.stage.index)?,
                })
            }));
            self.destroy(created.into_values());
            return Err(error);
        }
        for live_stage in &diff.next.stages[live.stages.len()..] {
            let manifest = diff::manifest(&live_stage.found);
            let name = &live_stage.stage.settings.name;
            self.shared.names.add(name, manifest);
        }
        let driving_mouse = diff.next.driving_mouse();
        let driving_mouse = driving_mouse.map(|it| it.stage.settings.name.clone());
        self.shared.set_drives_mouse(driving_mouse.collect());
        self.shared.checks.add(std::mem::take(&mut diff.checks));
        let schemas = std::mem::take(&mut diff.message_schemas);
        self.shared.set_message_schemas(schemas);
        self.notify_observers(&diff.next, &diff.changes);
        let pausing: Vec<_> = diff
            .pausing
            .iter()
            .map(|&index| live.stages[index].stage.clone())
            .collect();
        // Reported before they lose their senders, after which they may end at any time.
        for live_stage in diff.next.stages.iter().filter(|it| !it.is_live) {
            let stage = live_stage.stage.index;
            self.shared.supervise(supervisor::Event::Removed { stage });
        }
        rewire::rewire(diff, &pausing);
        let (resumed, left) = assign_instances(live, diff, &mut paused, created);
        self.current.set(Topology {
            stages: diff.next.stages.iter().map(|it| it.stage.clone()).collect(),
            edges: diff
                .next
                .edges
                .iter()
                .map(|it| it.summary.clone())
                .collect(),
        });
        *live = diff.next.clone();
        self.resume(resumed.into_iter());
        self.destroy(left.into_iter());
        Ok(())
    }

    /// Creates and activates the new instances of the stages that drive the mouse, or of all others.
    ///
    /// # Errors
    /// The first failure. What was created before it is in `created`.
    fn create_instances(
        &self,
        live: &LivePipeline,
        diff: &PipelineDiff,
        drives_mouse: bool,
        created: &mut CreatedInstances,
    ) -> Result<(), ChangeError> {
        for &index in diff.changed.iter().chain(&diff.added) {
            let next = &diff.next.stages[index];
            if next.drives_mouse() != drives_mouse {
                continue;
            }
            let known = kept_slots(live, diff, index);
            for slot in next.stage.slots(next.found.len()) {
                if known.contains_key(&slot) {
                    continue;
                }
                // An isolated plugin is not called in this process.
                let calls = match next.stage.settings.isolation {
                    Isolation::Process => None,
                    Isolation::Thread => {
                        Some(self.shared.control_calls().ok_or(ChangeError::CallsBusy)?)
                    }
                };
                let instance = create(&next.stage, slot, &next.found[slot.contestant]);
                drop(calls);
                created.insert(slot, instance?);
            }
        }
        Ok(())
    }

    /// Pauses stages, and receives their instances.
    fn pause(
        &self,
        live: &LivePipeline,
        diff: &PipelineDiff,
        requester: &Arc<()>,
    ) -> Result<PausedStages, ChangeError> {
        let stages = diff.pausing.iter();
        let stages: Vec<Arc<Stage>> = stages
            .map(|&index| live.stages[index].stage.clone())
            .collect();
        let (answer, answered) = crossbeam_channel::bounded(1);
        let request = Request {
            stages,
            answer,
            requester: Arc::downgrade(requester),
        };
        let sent = self.shared.events.send(ControlEvent::Pause(request));
        sent.map_err(|_| ChangeError::Ending)?;
        match answered.recv() {
            Ok(Ok(paused)) => Ok(paused),
            Ok(Err(PauseRefused::Busy(stage))) => Err(ChangeError::Busy {
                stage: stage.settings.name.clone(),
            }),
            Ok(Err(PauseRefused::Ending)) | Err(_) => Err(ChangeError::Ending),
        }
    }

    /// Notifies the observers, before new plugins run.
    fn notify_observers(&self, live: &LivePipeline, changes: &Changes) {
        let change = PipelineChange {
            live,
            changes,
            now_ns: self.shared.now(),
        };
        tracing::info!("changed: {changes}");
        for observer in &self.shared.observers {
            observer.changed(&change);
        }
    }

    fn resume(&self, resumed: impl Iterator<Item = ResumedStage>) {
        let (done, is_done) = crossbeam_channel::bounded(1);
        let resumed = resumed.collect();
        let sent = self.shared.events.send(ControlEvent::Resume(Resume {
            stages: resumed,
            done,
        }));
        if sent.is_ok() {
            // The control thread answers at once.
            let _ = is_done.recv();
        }
    }

    /// Destroys instances that are no longer needed.
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

/// Checks that no stage to be changed has ended meanwhile.
fn check_none_ended(diff: &PipelineDiff, paused: &PausedStages) -> Result<(), ChangeError> {
    let new_edges = diff.new_edges.iter();
    let receivers = new_edges.map(|&edge| diff.next.edges[edge].edge.to.stage);
    let mut needed = diff.changed.iter().copied().chain(receivers);
    let ended = needed.find(|stage| matches!(paused.get(stage), Some(PausedStage::Over)));
    let name = |stage: usize| diff.next.stages[stage].stage.settings.name.clone();
    ended.map_or(Ok(()), |stage| {
        Err(ChangeError::Ended { stage: name(stage) })
    })
}

/// The slots of a changed stage that keep a running instance, each with the slot that the instance has now. A worker keeps
/// its own instances.
fn kept_slots(live: &LivePipeline, diff: &PipelineDiff, index: usize) -> HashMap<Slot, Slot> {
    let known = kept_contestants(live, diff, index);
    let before = live.stages.get(index);
    let workers = before.map_or(0, |it| it.stage.settings.workers);
    let next = &diff.next.stages[index];
    let slots = next.stage.slots(known.len());
    let kept = slots
        .filter(|slot| slot.worker < workers)
        .filter_map(|slot| {
            let contestant = (*known.get(slot.contestant)?)?;
            Some((slot, slot.worker_id().slot(contestant)))
        });
    kept.collect()
}

/// By contestant of a changed stage: the running contestant that it keeps, if any.
fn kept_contestants(live: &LivePipeline, diff: &PipelineDiff, index: usize) -> Vec<Option<usize>> {
    let next = &diff.next.stages[index];
    let mut taken = Vec::new();
    // With another isolation it is a new instance.
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
                    && old.revision == contestant.revision
                    && code.is_same_code(found)
            })?;
            taken.push(same);
            Some(same)
        })
        .collect()
}

fn instances(paused: &mut PausedStages, index: usize) -> Option<Vec<(Slot, Instance)>> {
    match paused.remove(&index)? {
        PausedStage::Paused(instances) => Some(instances),
        PausedStage::Over => None,
    }
}

/// Assigns the instances to the stages that resume. Also returns those that are no longer needed.
fn assign_instances(
    live: &LivePipeline,
    diff: &PipelineDiff,
    paused: &mut PausedStages,
    mut created: CreatedInstances,
) -> (Vec<ResumedStage>, Vec<Instance>) {
    let mut resumed = Vec::new();
    let mut left = Vec::new();
    // Receivers first, so that senders don't wait for long.
    let stages = diff.added.iter().chain(diff.pausing.iter().rev());
    for &index in stages {
        let next = &diff.next.stages[index];
        let is_new = diff.added.contains(&index);
        let old = match instances(paused, index) {
            Some(old) => old,
            None if is_new => Vec::new(),
            None => continue,
        };
        if !next.is_live && next.stage.is_source() {
            left.extend(old.into_iter().map(|(_, instance)| instance));
            continue;
        }
        let changes = is_new || diff.changed.contains(&index);
        let instances = match changes {
            false => old,
            true => {
                let mut old: HashMap<_, _> = old.into_iter().collect();
                let known = kept_slots(live, diff, index);
                let mut paused_stage = Vec::new();
                for slot in next.stage.slots(next.found.len()) {
                    let kept = known.get(&slot).and_then(|known| old.remove(known));
                    let instance = kept.or_else(|| created.remove(&slot));
                    paused_stage.extend(instance.map(|instance| (slot, instance)));
                }
                left.extend(old.into_values());
                paused_stage
            }
        };
        resumed.push(ResumedStage {
            stage: next.stage.clone(),
            found: next.found.clone(),
            instances,
        });
    }
    (resumed, left)
}
