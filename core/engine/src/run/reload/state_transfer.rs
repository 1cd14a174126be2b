//! Hands over what a plugin remembers to the one in its place.

use flowpipe_host::instance::Instance;

use crate::run::reload::changes::{Changed, Changes, What};
use crate::run::reload::difference::Difference;
use crate::run::reload::error::ChangeError;
use crate::run::reload::live::LivePipeline;
use crate::run::reload::pausing::{PausedStage, PausedStages};
use crate::run::reload::{Made, kept};
use crate::run::shared::Shared;

/// Hands over the state of each plugin that another takes the place of, where both know how: one of the same name, else
/// the one that stands in its place. One of another name may begin afresh when it does not know the format; one of the same name may not.
///
/// # Errors
/// When a plugin can't hand over its state or take it over.
pub(crate) fn transfer(
    shared: &Shared,
    live: &LivePipeline,
    difference: &mut Difference,
    paused: &mut PausedStages,
    made: &mut Made,
) -> Result<(), ChangeError> {
    for index in difference.changed.clone() {
        let Some(PausedStage::Paused(old)) = paused.get_mut(&index) else {
            continue;
        };
        let last = &live.stages[index].stage;
        let next = &difference.next.stages[index].stage.clone();
        let (before, after) = (&last.settings.contestants, &next.settings);
        let kept = kept(live, difference, index);
        for (contestant, plugin) in after.contestants.iter().enumerate() {
            let Some(new) = made.get_mut(&(index, contestant)) else {
                continue;
            };
            let leaves = |it: &(usize, _)| !kept.contains(&Some(it.0));
            let plugin_of = |number: usize| before.get(number).map(|it| &it.plugin);
            let same = old
                .iter()
                .position(|it| leaves(it) && plugin_of(it.0) == Some(&plugin.plugin));
            let stays = |number| {
                after
                    .contestants
                    .iter()
                    .any(|it| plugin_of(number) == Some(&it.plugin))
            };
            let place = || {
                old.iter()
                    .position(|it| it.0 == contestant && leaves(it) && !stays(it.0))
            };
            let Some(old) = same.or_else(place).and_then(|index| old.get_mut(index)) else {
                continue;
            };
            let of = before.get(old.0).map_or("?", |it| it.plugin.as_str());
            let fail = |plugin: &str, step, reason| ChangeError::State {
                stage: after.name.clone(),
                plugin: plugin.to_owned(),
                step,
                reason,
            };
            let has_state = call(shared, new, |new| new.has_state(&next.limits()))?;
            if !has_state.map_err(|reason| fail(&plugin.plugin, "take over", reason))? {
                continue;
            }
            let state = call(shared, &mut old.1, |old| old.save(&last.limits()))?;
            let state = state.map_err(|reason| fail(of, "hand over", reason))?;
            let Some(state) = state else {
                continue;
            };
            match call(shared, new, |new| new.load(&state, &next.limits()))? {
                Ok(true) => difference.tell_state(index),
                Ok(false) if of != plugin.plugin => tracing::debug!(
                    stage = after.name,
                    format = state.format,
                    "{} begins afresh: it does not know the state of {of}",
                    plugin.plugin
                ),
                Ok(false) => {
                    let reason = format!("it does not know the format {:?}", state.format);
                    return Err(fail(&plugin.plugin, "take over", reason));
                }
                Err(reason) => return Err(fail(&plugin.plugin, "take over", reason)),
            }
        }
    }
    Ok(())
}

/// The stages that can't go on as they were, for a process of theirs ended while its state was asked for.
pub(crate) fn lost(live: &LivePipeline, difference: &Difference, paused: &PausedStages) -> Changes {
    let ended = |stage: &usize| match paused.get(stage) {
        Some(PausedStage::Paused(instances)) => {
            instances.iter().any(|(_, it)| it.crash().is_some())
        }
        Some(PausedStage::Over) | None => false,
    };
    let stages = difference.pausing.iter().copied().filter(ended);
    let anew = |index: usize| Changed {
        stage: live.stages[index].stage.settings.name.clone(),
        index,
        what: vec![What::Anew],
    };
    Changes {
        stages: stages.map(anew).collect(),
        ..Changes::default()
    }
}

/// Calls a plugin as the control thread does. One in a process of its own comes back or is killed, and keeps nobody waiting
/// meanwhile.
fn call<T>(
    shared: &Shared,
    instance: &mut Instance,
    call: impl FnOnce(&mut Instance) -> T,
) -> Result<T, ChangeError> {
    let _calls = match instance.stage_process() {
        Some(_) => None,
        None => Some(shared.control_calls().ok_or(ChangeError::Ending)?),
    };
    Ok(call(instance))
}
