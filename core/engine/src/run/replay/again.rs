//! Which stages of a recording run again, and with which config: decided by the manifests of the plugins that are loaded. What
//! the recording says of itself (a role, inputs, that it is deterministic) decides nothing.

use std::fmt;

use flowpipe_config::effects::{Effect, EffectKind};
use flowpipe_config::manifest::{Manifest, config_schema};
use flowpipe_config::pipeline::Contestant;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::entry::{AboutPlugin, AboutStage};
use serde_json::Value;

use crate::run::replay::pipeline::{PlanError, Swap};

/// The effects that the user allows to the stages that he names.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// These.
    pub kinds: Vec<EffectKind>,
    /// Whatever a plugin does whose effects are unknown.
    pub unknown: bool,
}

/// Why a stage speaks out of the recording although it says that it is deterministic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
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
}

/// A stage that runs again: its plugins, and what they do to the world, in words.
pub(super) type Again = (Vec<Contestant>, Vec<String>);

impl fmt::Display for Withheld {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => formatter.write_str("it changed while it ran"),
            Self::NoPlugin(plugin) => write!(formatter, "there is no plugin {plugin}"),
            Self::Ports(plugin) => write!(formatter, "{plugin} has other inputs and outputs"),
            Self::Config(plugin) => write!(formatter, "its config does not fit {plugin}"),
            Self::Effects(kinds) => {
                let ids: Vec<_> = kinds.iter().map(|kind| kind.id()).collect();
                write!(formatter, "effects: {}", ids.join(", "))
            }
            Self::UnknownEffects => formatter.write_str("unknown effects"),
        }
    }
}

/// A stage that nobody named: it runs again when its plugins are here, fit, are deterministic and have no effects. `Err`: it
/// does not; with the reason where the plugin could be expected to.
pub(super) fn by_itself(
    stage: &AboutStage,
    catalogue: &Catalogue,
) -> Result<Vec<Contestant>, Option<Withheld>> {
    if stage.plugins.is_empty() {
        return Err(None);
    }
    let plugins = stage.plugins.iter();
    plugins
        .map(|plugin| harmless(stage, plugin, catalogue))
        .collect()
}

fn harmless(
    stage: &AboutStage,
    plugin: &AboutPlugin,
    catalogue: &Catalogue,
) -> Result<Contestant, Option<Withheld>> {
    let Some(found) = catalogue.find(&plugin.name) else {
        let expected = plugin.deterministic && !stage.inputs.is_empty();
        return Err(expected.then(|| Withheld::NoPlugin(plugin.name.clone())));
    };
    let manifest = &found.manifest;
    if !manifest.deterministic || manifest.inputs.is_empty() {
        return Err(None);
    }
    if !fits(manifest, stage) {
        return Err(Some(Withheld::Ports(plugin.name.clone())));
    }
    let config = manifest.without_effects(&plugin.config, |_| false);
    match manifest.effects_with(&config) {
        None => return Err(Some(Withheld::UnknownEffects)),
        Some(effects) if !effects.is_empty() => {
            let kinds = effects.iter().map(|effect| effect.kind).collect();
            return Err(Some(Withheld::Effects(kinds)));
        }
        Some(_) => {}
    }
    if refusal(manifest, &config).is_some() {
        return Err(Some(Withheld::Config(plugin.name.clone())));
    }
    Ok(Contestant {
        plugin: plugin.name.clone(),
        config,
    })
}

/// A stage that the user named, as it was recorded.
///
/// # Errors
/// When it can't run again, or has effects that are not allowed.
pub(super) fn as_recorded(
    stage: &AboutStage,
    allowed: &Allowed,
    catalogue: &Catalogue,
) -> Result<Again, PlanError> {
    let mut again = Again::default();
    for plugin in &stage.plugins {
        let wanted = Wanted {
            plugin: &plugin.name,
            config: &plugin.config,
            is_typed: false,
        };
        let (contestant, effects) = wanted.admit(stage, allowed, catalogue)?;
        again.0.push(contestant);
        again.1.extend(effects);
    }
    Ok(again)
}

/// A stage with the plugin that the user puts in its place. What he typed himself is allowed.
///
/// # Errors
/// As [`as_recorded`].
pub(super) fn swapped(
    stage: &AboutStage,
    swap: &Swap,
    allowed: &Allowed,
    catalogue: &Catalogue,
) -> Result<Again, PlanError> {
    let wanted = Wanted {
        plugin: &swap.plugin,
        config: &swap.config,
        is_typed: true,
    };
    let (contestant, effects) = wanted.admit(stage, allowed, catalogue)?;
    Ok((vec![contestant], effects))
}

/// A plugin that is to run in a stage's place.
struct Wanted<'a> {
    plugin: &'a str,
    config: &'a Value,
    /// The user typed the config; else the recording has it.
    is_typed: bool,
}

impl Wanted<'_> {
    fn admit(
        &self,
        stage: &AboutStage,
        allowed: &Allowed,
        catalogue: &Catalogue,
    ) -> Result<(Contestant, Vec<String>), PlanError> {
        let contestant = |config: Value| Contestant {
            plugin: self.plugin.to_owned(),
            config,
        };
        let Some(found) = catalogue.find(self.plugin) else {
            if stage.inputs.is_empty() {
                return Err(PlanError::Source(stage.name.clone()));
            }
            // The run names it when it starts.
            return Ok((contestant(self.config.clone()), Vec::new()));
        };
        let manifest = &found.manifest;
        let at = || (stage.name.clone(), self.plugin.to_owned());
        if !fits(manifest, stage) {
            let (stage, plugin) = at();
            return Err(PlanError::Ports { stage, plugin });
        }
        if manifest.inputs.is_empty() {
            return Err(PlanError::Source(stage.name.clone()));
        }
        let is_typed = |effect: &Effect| {
            let key = effect.key.as_ref();
            self.is_typed && key.is_some_and(|key| self.config.get(key).is_some())
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

/// What is said of effects that a manifest does not declare.
const UNKNOWN: &str = "has unknown effects: its manifest does not declare any";
/// What allows them.
pub const ALLOW_UNKNOWN: &str = "unknown";

/// Why a config does not fit the plugin's schema. The plugin may rely on it that a config fits, and a recording says anything.
fn refusal(manifest: &Manifest, config: &Value) -> Option<String> {
    match config_schema(&manifest.config) {
        Ok(schema) => schema.validate(config).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether a plugin has the inputs and outputs that a stage had.
fn fits(manifest: &Manifest, stage: &AboutStage) -> bool {
    let inputs = manifest.inputs.iter().map(|port| &port.name);
    let outputs = manifest
        .outputs
        .iter()
        .map(|port| (&port.name, &port.schema));
    inputs.eq(&stage.inputs)
        && outputs.eq(stage.outputs.iter().map(|(name, schema)| (name, schema)))
}
