//! Hands over what a plugin remembers to the one in its place.

use crate::run::shared::Shared;
use crate::run::swap::difference::Difference;
use crate::run::swap::error::ChangeError;
use crate::run::swap::pausing::{Crew, Crews};
use crate::run::swap::standing::Standing;
use crate::run::swap::{Made, kept};

/// Hands over the state of each plugin that another takes the place of, where both know how: one of the same name, else
/// the one that stands in its place. One of another name may begin afresh when it does not know the format; one of the same name may not.
///
/// # Errors
/// When a plugin can't hand over its state or take it over.
pub(crate) fn hand_over(
    shared: &Shared,
    standing: &Standing,
    difference: &mut Difference,
    crews: &mut Crews,
    made: &mut Made,
) -> Result<(), ChangeError> {
    for index in difference.changed.clone() {
        let Some(Crew::Paused(old)) = crews.get_mut(&index) else {
            continue;
        };
        let before = &standing.stages[index].stage.settings.contestants;
        let after = difference.next.stages[index].stage.settings.clone();
        let kept = kept(standing, difference, index);
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
            let Some(_calls) = shared.control_calls() else {
                return Err(ChangeError::Ending);
            };
            if !new.has_state() {
                continue;
            }
            let Some(state) = old.1.save() else {
                continue;
            };
            let state = state.map_err(|reason| fail(of, "hand over", reason))?;
            match new.load(&state) {
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
