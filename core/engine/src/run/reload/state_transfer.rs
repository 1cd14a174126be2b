//! Transfers the state of a plugin to its replacement.

use flowpipe_host::instance::Instance;

use crate::run::reload::changes::{Changes, StageChangeKind, StageChanges};
use crate::run::reload::diff::PipelineDiff;
use crate::run::reload::error::ChangeError;
use crate::run::reload::live::LivePipeline;
use crate::run::reload::pausing::{PausedStage, PausedStages};
use crate::run::reload::{CreatedInstances, kept_slots};
use crate::run::shared::Shared;
use crate::supervisor::Slot;

/// Transfers the state of each plugin that is replaced, if both plugins support it. The replacement is the new plugin
/// of the same name in the same worker, else the one in the same position. A plugin of another name may start with no
/// state if it does not know the format; one of the same name may not.
///
/// # Errors
/// When a plugin fails to save or load the state.
pub(crate) fn transfer(
    shared: &Shared,
    live: &LivePipeline,
    diff: &mut PipelineDiff,
    paused: &mut PausedStages,
    created: &mut CreatedInstances,
) -> Result<(), ChangeError> {
    for index in diff.changed.clone() {
        let Some(PausedStage::Paused(old)) = paused.get_mut(&index) else {
            continue;
        };
        let last = &live.stages[index].stage;
        let next = &diff.next.stages[index].stage.clone();
        let (before, after) = (&last.settings.contestants, &next.settings);
        let kept: Vec<_> = kept_slots(live, diff, index).into_values().collect();
        for slot in next.slots(after.contestants.len()) {
            let plugin = &after.contestants[slot.contestant];
            let Some(new) = created.get_mut(&slot) else {
                continue;
            };
            let leaves = |it: &(Slot, _)| it.0.worker == slot.worker && !kept.contains(&it.0);
            let plugin_of = |slot: Slot| before.get(slot.contestant).map(|it| &it.plugin);
            let same = old
                .iter()
                .position(|it| leaves(it) && plugin_of(it.0) == Some(&plugin.plugin));
            let stays = |slot| {
                after
                    .contestants
                    .iter()
                    .any(|it| plugin_of(slot) == Some(&it.plugin))
            };
            let place = || {
                old.iter()
                    .position(|it| it.0 == slot && leaves(it) && !stays(it.0))
            };
            let Some(old) = same.or_else(place).and_then(|index| old.get_mut(index)) else {
                continue;
            };
            let of = plugin_of(old.0).map_or("?", String::as_str);
            let fail = |plugin: &str, step, reason| ChangeError::State {
                stage: after.name.clone(),
                plugin: plugin.to_owned(),
                step,
                reason,
            };
            let has_state = call(shared, new, |new| new.has_state(&next.limits()))?;
            if !has_state.map_err(|reason| fail(&plugin.plugin, "load", reason))? {
                continue;
            }
            let state = call(shared, &mut old.1, |old| old.save(&last.limits()))?;
            let state = state.map_err(|reason| fail(of, "save", reason))?;
            let Some(state) = state else {
                continue;
            };
            match call(shared, new, |new| new.load(&state, &next.limits()))? {
                Ok(true) => diff.note_state_kept(index),
                Ok(false) if of != plugin.plugin => tracing::debug!(
                    stage = after.name,
                    format = state.format,
                    "{} starts with no state: it does not know the format of {of}",
                    plugin.plugin
                ),
                Ok(false) => {
                    let reason = format!("it does not know the format {:?}", state.format);
                    return Err(fail(&plugin.plugin, "load", reason));
                }
                Err(reason) => return Err(fail(&plugin.plugin, "load", reason)),
            }
        }
    }
    Ok(())
}

/// The stages that can't continue unchanged, because a process of theirs ended while its state was saved.
pub(crate) fn lost(live: &LivePipeline, diff: &PipelineDiff, paused: &PausedStages) -> Changes {
    let ended = |stage: &usize| match paused.get(stage) {
        Some(PausedStage::Paused(instances)) => {
            instances.iter().any(|(_, it)| it.crash().is_some())
        }
        Some(PausedStage::Over) | None => false,
    };
    let stages = diff.pausing.iter().copied().filter(ended);
    let restarted = |index: usize| StageChanges {
        stage: live.stages[index].stage.settings.name.clone(),
        index,
        what: vec![StageChangeKind::Restarted],
    };
    Changes {
        stages: stages.map(restarted).collect(),
        ..Changes::default()
    }
}

/// Makes a `[control-thread]` call. An isolated plugin returns or is killed, and blocks no other thread meanwhile.
fn call<T>(
    shared: &Shared,
    instance: &mut Instance,
    call: impl FnOnce(&mut Instance) -> T,
) -> Result<T, ChangeError> {
    let _calls = match instance.stage_process() {
        Some(_) => None,
        None => Some(shared.control_calls().ok_or(ChangeError::CallsBusy)?),
    };
    Ok(call(instance))
}
