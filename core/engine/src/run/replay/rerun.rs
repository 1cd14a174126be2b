//! Which stages of a recording are rerun, and with which config. Only the manifests of the loaded plugins decide. The
//! recording's own claims (a role, inputs, that a plugin is deterministic) are not trusted.
//!
//! The config of some plugins declares what others have in their manifests (`Manifest::with_config`). That of a recording
//! is one more claim of it: such a stage is rerun only if the options name it, and by the effects of its plugin, to
//! which the recording can only add.

use std::fmt;

use flowpipe_config::effects::{Effect, EffectKind};
use flowpipe_config::manifest::{Manifest, config_schema};
use flowpipe_config::pipeline::Contestant;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::entry::{About, AboutPlugin, AboutStage};
use serde_json::Value;

use crate::run::replay::error::PlanError;
use crate::run::replay::options::{Allowed, Swap};

/// Why a stage is not rerun although it could be expected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRerunReason {
    /// Its plugin, config or settings changed while it was recorded.
    Changed,
    /// There is no such plugin here.
    NoPlugin(String),
    /// The plugin that is here has other inputs and outputs.
    Ports(String),
    /// The config does not fit the plugin that is here.
    Config(String),
    /// It has effects.
    Effects(Vec<EffectKind>),
    /// Its effects are unknown.
    UnknownEffects,
    /// The recorded config declares that it could be rerun, which is not believed.
    Declared,
}

/// A stage to rerun: its plugins, and descriptions of their effects.
pub(super) type Rerun = (Vec<Contestant>, Vec<String>);

impl fmt::Display for NotRerunReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => formatter.write_str("it changed while it ran"),
            Self::NoPlugin(plugin) => write!(formatter, "there is no plugin {plugin}"),
            Self::Ports(plugin) => write!(formatter, "{plugin} has other inputs and outputs"),
            Self::Config(plugin) => write!(formatter, "its config does not fit {plugin}"),
            Self::Effects(kinds) => {
                let ids: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
                write!(formatter, "effects: {}", ids.join(", "))
            }
            Self::UnknownEffects => formatter.write_str("unknown effects"),
            Self::Declared => formatter.write_str(
                "what it does is declared by the config of the recording: --from and --allow run it again",
            ),
        }
    }
}

/// Decides on a stage that the options don't name. It is rerun if its plugins are available, have the same ports, are
/// deterministic and have no effects. `Err`: it is not rerun; with the reason if it could be expected to be.
pub(super) fn by_itself(
    stage: &AboutStage,
    about: &About,
    catalogue: &Catalogue,
) -> Result<Vec<Contestant>, Option<NotRerunReason>> {
    if stage.plugins.is_empty() {
        return Err(None);
    }
    let plugins = stage.plugins.iter();
    plugins
        .map(|plugin| harmless(stage, about, plugin, catalogue))
        .collect()
}

fn harmless(
    stage: &AboutStage,
    about: &About,
    plugin: &AboutPlugin,
    catalogue: &Catalogue,
) -> Result<Contestant, Option<NotRerunReason>> {
    let Some(found) = catalogue.find(&plugin.name) else {
        let expected = plugin.deterministic && !stage.inputs.is_empty();
        return Err(expected.then(|| NotRerunReason::NoPlugin(plugin.name.clone())));
    };
    let manifest = &found.manifest;
    // What the recorded config declares is not believed.
    if manifest.declared_by_config {
        let declared = manifest.with_config(&plugin.config);
        let could = declared.deterministic && !declared.inputs.is_empty();
        return Err(could.then_some(NotRerunReason::Declared));
    }
    if !manifest.deterministic || manifest.inputs.is_empty() {
        return Err(None);
    }
    if !fits(manifest, stage, about) {
        return Err(Some(NotRerunReason::Ports(plugin.name.clone())));
    }
    let config = manifest.without_effects(&plugin.config, |_| false);
    match manifest.effects_with(&config) {
        None => return Err(Some(NotRerunReason::UnknownEffects)),
        Some(effects) if !effects.is_empty() => {
            let kinds = effects.iter().map(|effect| effect.kind).collect();
            return Err(Some(NotRerunReason::Effects(kinds)));
        }
        Some(_) => {}
    }
    if refusal(manifest, &config).is_some() {
        return Err(Some(NotRerunReason::Config(plugin.name.clone())));
    }
    Ok(Contestant {
        plugin: plugin.name.clone(),
        config,
        revision: 0,
    })
}

/// Reruns a stage that the options name, with its recorded plugins.
///
/// # Errors
/// When it can't be rerun, or has effects that are not allowed.
pub(super) fn as_recorded(
    stage: &AboutStage,
    about: &About,
    allowed: &Allowed,
    catalogue: &Catalogue,
) -> Result<Rerun, PlanError> {
    let mut rerun = Rerun::default();
    for plugin in &stage.plugins {
        let candidate = Candidate {
            plugin: &plugin.name,
            config: &plugin.config,
            is_typed: false,
        };
        let (contestant, effects) = candidate.admit(stage, about, allowed, catalogue)?;
        rerun.0.push(contestant);
        rerun.1.extend(effects);
    }
    Ok(rerun)
}

/// The effects that the options must allow to rerun a stage that they name. `None`: it can't be rerun.
pub(super) fn needed(
    stage: &AboutStage,
    about: &About,
    catalogue: &Catalogue,
) -> Option<Vec<String>> {
    let is_here = |plugin: &AboutPlugin| catalogue.find(&plugin.name).is_some();
    if stage.plugins.is_empty() || !stage.plugins.iter().all(is_here) {
        return None;
    }
    let mut allowed = Allowed::default();
    let mut all = Vec::new();
    // Each plugin of a race may need others.
    for _ in 0..=stage.plugins.len() {
        match as_recorded(stage, about, &allowed, catalogue) {
            Ok(_) => return Some(all),
            Err(PlanError::Effects { needed, .. }) => {
                allowed.unknown |= needed.iter().any(|effect| effect == ALLOW_UNKNOWN);
                let kinds = needed
                    .iter()
                    .filter_map(|effect| effect.parse::<EffectKind>().ok());
                allowed.kinds.extend(kinds);
                all.extend(needed);
            }
            Err(_) => return None,
        }
    }
    None
}

/// Reruns a stage with the plugin that the options give. Effects that its typed config enables are allowed.
///
/// # Errors
/// As [`as_recorded`].
pub(super) fn swapped(
    stage: &AboutStage,
    about: &About,
    swap: &Swap,
    allowed: &Allowed,
    catalogue: &Catalogue,
) -> Result<Rerun, PlanError> {
    let candidate = Candidate {
        plugin: &swap.plugin,
        config: &swap.config,
        is_typed: true,
    };
    let (contestant, effects) = candidate.admit(stage, about, allowed, catalogue)?;
    Ok((vec![contestant], effects))
}

/// A plugin to run in a stage.
struct Candidate<'a> {
    plugin: &'a str,
    config: &'a Value,
    /// The user typed the config; else it comes from the recording.
    is_typed: bool,
}

impl Candidate<'_> {
    fn admit(
        &self,
        stage: &AboutStage,
        about: &About,
        allowed: &Allowed,
        catalogue: &Catalogue,
    ) -> Result<(Contestant, Vec<String>), PlanError> {
        let contestant = |config: Value| Contestant {
            plugin: self.plugin.to_owned(),
            config,
            revision: 0,
        };
        let Some(found) = catalogue.find(self.plugin) else {
            if stage.inputs.is_empty() {
                return Err(PlanError::Source(stage.name.clone()));
            }
            // The start of the run reports it.
            return Ok((contestant(self.config.clone()), Vec::new()));
        };
        let manifest = found.manifest.with_config(self.config);
        let manifest = &*manifest;
        let at = || (stage.name.clone(), self.plugin.to_owned());
        if !fits(manifest, stage, about) {
            let (stage, plugin) = at();
            return Err(PlanError::Ports { stage, plugin });
        }
        if manifest.inputs.is_empty() {
            return Err(PlanError::Source(stage.name.clone()));
        }
        let is_typed = |effect: &Effect| {
            let key = effect.key.as_ref();
            let is_set = key.is_some_and(|key| self.config.get(key).is_some());
            self.is_typed && (is_set || !found.manifest.effects.declare(effect))
        };
        let may = |effect: &Effect| allowed.kinds.contains(&effect.kind) || is_typed(effect);
        let config = manifest.without_effects(self.config, may);
        let words = |effect: &Effect| effect.in_words(manifest, &config, |_| None);
        let effects = match manifest.effects_with(&config) {
            None if allowed.unknown => vec![UNKNOWN.to_owned()],
            None => {
                let (stage, plugin) = at();
                return Err(PlanError::Effects {
                    stage,
                    plugin,
                    effects: vec![UNKNOWN.to_owned()],
                    needed: vec![ALLOW_UNKNOWN.to_owned()],
                });
            }
            Some(effects) => {
                let refused = effects.iter().filter(|effect| !may(effect));
                let mut needed: Vec<_> = refused.map(|effect| effect.kind.to_string()).collect();
                needed.sort();
                needed.dedup();
                let effects = effects.into_iter().map(words).collect();
                if !needed.is_empty() {
                    let (stage, plugin) = at();
                    return Err(PlanError::Effects {
                        stage,
                        plugin,
                        effects,
                        needed,
                    });
                }
                effects
            }
        };
        match refusal(manifest, &config) {
            None => Ok((contestant(config), effects)),
            Some(reason) => {
                let (stage, plugin) = at();
                Err(PlanError::Config {
                    stage,
                    plugin,
                    reason,
                })
            }
        }
    }
}

/// The description of effects that a manifest does not declare.
const UNKNOWN: &str = "has unknown effects: its manifest does not declare any";
/// The word that allows them.
pub const ALLOW_UNKNOWN: &str = "unknown";

/// Why a config does not match the plugin's schema. Plugins rely on valid configs, and recordings are untrusted input.
fn refusal(manifest: &Manifest, config: &Value) -> Option<String> {
    match config_schema(&manifest.config) {
        Ok(schema) => schema.validate(config).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether a plugin has the recorded inputs and outputs of a stage. The last ones may be missing on either side: those of
/// the plugin if they are outputs or optional, those of the stage if nothing was connected to them.
fn fits(manifest: &Manifest, stage: &AboutStage, about: &About) -> bool {
    let (inputs, outputs) = (&manifest.inputs, &manifest.outputs);
    let is_port = |end: &(String, String), port: &str| end.0 == stage.name && end.1 == port;
    let is_fed = |input: &String| about.edges.iter().any(|edge| is_port(&edge.to, input));
    let feeds = |output: &String| about.edges.iter().any(|edge| is_port(&edge.from, output));
    let mut same_inputs = inputs.iter().zip(&stage.inputs);
    let mut same_outputs = outputs.iter().zip(&stage.outputs);
    let mut missing_inputs = stage.inputs.iter().skip(inputs.len());
    let mut missing_outputs = stage.outputs.iter().skip(outputs.len());
    let mut further = inputs.iter().skip(stage.inputs.len());
    inputs.is_empty() == stage.inputs.is_empty()
        && same_inputs.all(|(port, name)| port.name == *name)
        && same_outputs.all(|(port, (name, schema))| (&port.name, &port.schema) == (name, schema))
        && further.all(|port| port.optional)
        && !missing_inputs.any(is_fed)
        && !missing_outputs.any(|(name, _)| feeds(name))
}
