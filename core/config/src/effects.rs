//! The effects of a whole pipeline.

mod absent;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

pub use crate::manifest::effects::{Effect, EffectKind, Effects, UnknownEffect, state_folder};
use crate::pipeline::Pipeline;
use crate::reader::Plugins;

/// A plugin of a stage, and its effects there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageEffects {
    /// The stage.
    pub stage: String,
    /// The plugin.
    pub plugin: String,
    /// Its effects. `None`: unknown.
    pub effects: Option<Vec<Described>>,
}

/// A described effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Its kind.
    #[serde(
        rename = "effect",
        serialize_with = "crate::manifest::effects::as_text"
    )]
    pub kind: EffectKind,
    /// The description.
    pub words: String,
    /// What it needs and is not there: files and folders to read, the folders of files to write, and programs to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<PathBuf>,
}

/// The effects of each plugin of each stage, in the pipeline's order.
#[must_use]
pub fn listing(pipeline: &Pipeline, plugins: &impl Plugins) -> Vec<StageEffects> {
    let mut listed = Vec::new();
    for (number, stage) in pipeline.stages.iter().enumerate() {
        let upstream = pipeline.upstream(number);
        // The mouse acts in the window that an upstream stage captures.
        let elsewhere = |key: &str| {
            let stages = upstream
                .iter()
                .filter_map(|&stage| pipeline.stages.get(stage));
            let mut contestants = stages.flat_map(|stage| &stage.contestants);
            contestants.find_map(|contestant| {
                let manifest = plugins.manifest(&contestant.plugin)?;
                manifest.value(&contestant.config, key).cloned()
            })
        };
        for contestant in &stage.contestants {
            listed.push(StageEffects {
                stage: stage.name.clone(),
                plugin: contestant.plugin.clone(),
                effects: describe(
                    plugins,
                    contestant.plugin.as_str(),
                    &contestant.config,
                    elsewhere,
                ),
            });
        }
    }
    listed
}

fn describe(
    plugins: &impl Plugins,
    plugin: &str,
    config: &Value,
    elsewhere: impl Fn(&str) -> Option<Value>,
) -> Option<Vec<Described>> {
    let manifest = plugins.manifest(plugin)?.with_config(config);
    let effects = manifest.effects_with(config)?.into_iter();
    let described = effects.map(|effect| Described {
        kind: effect.kind,
        words: effect.in_words(&manifest, config, &elsewhere),
        missing: absent::of(effect, &manifest, config),
    });
    Some(described.collect())
}
