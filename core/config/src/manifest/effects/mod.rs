//! A stage's effects on the world outside of the program: declared by its manifest, decided by its config.

mod phrase;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
pub use flowpipe_abi::{EffectKind, UnknownEffect};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::manifest::Manifest;

/// The declared effects. They serialize as the manifest's field `effects`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// No effects are declared, or one that this host does not know: the stage may do anything.
    #[default]
    Unknown,
    /// The stage does this and nothing else.
    Declared(Vec<Effect>),
}

/// One effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// Its kind.
    #[serde(rename = "effect", serialize_with = "as_text")]
    pub kind: EffectKind,
    /// The top-level key of the config without which it does not happen. `None`: it always happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The keys of the config that name the files or folders, or the program that it runs. Empty: `key` does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The file that it uses when no key names one: its name in the folder of [`state_folder`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_file: Option<String>,
    /// A phrase for people, with `{key}` for values of the config.
    pub doc: String,
}

/// Serializes the id of a kind.
pub(crate) fn as_text<S: Serializer>(kind: &EffectKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl Effects {
    /// Whether the effects are unknown.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// Whether this effect is one of those that are declared.
    #[must_use]
    pub fn declare(&self, effect: &Effect) -> bool {
        matches!(self, Self::Declared(effects) if effects.contains(effect))
    }
}

impl Serialize for Effects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => serializer.serialize_none(),
            Self::Declared(effects) => effects.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Effects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// An effect. Its id may be from a later host.
        #[derive(Deserialize)]
        struct Declared {
            effect: String,
            #[serde(default)]
            key: Option<String>,
            #[serde(default)]
            paths: Vec<String>,
            #[serde(default)]
            state_file: Option<String>,
            #[serde(default)]
            doc: String,
        }
        let Some(declared) = Option::<Vec<Declared>>::deserialize(deserializer)? else {
            return Ok(Self::Unknown);
        };
        let effect = |declared: Declared| {
            Ok(Effect {
                kind: declared.effect.parse()?,
                key: declared.key,
                paths: declared.paths,
                state_file: declared.state_file.filter(|name| is_file_name(name)),
                doc: declared.doc,
            })
        };
        let effects: Result<_, UnknownEffect> = declared.into_iter().map(effect).collect();
        Ok(effects.map_or(Self::Unknown, Self::Declared))
    }
}

impl Effect {
    /// The files or folders that a config names. If it names none, the file in the folder of the user's state.
    #[must_use]
    pub fn paths(&self, manifest: &Manifest, config: &Value) -> Vec<PathBuf> {
        let named = self.named_paths(manifest, config);
        match named.is_empty() {
            true => self.state_path().into_iter().collect(),
            false => named,
        }
    }

    /// The files or folders that a config names.
    #[must_use]
    pub fn named_paths(&self, manifest: &Manifest, config: &Value) -> Vec<PathBuf> {
        let keys = self.path_keys();
        let values = keys.iter().filter_map(|key| manifest.value(config, key));
        let named = values.flat_map(|value| match value {
            Value::Array(values) => values.iter().filter_map(path).collect(),
            value => path(value).into_iter().collect::<Vec<_>>(),
        });
        named.collect()
    }

    /// The keys of the config that name its files or folders.
    #[must_use]
    pub fn path_keys(&self) -> &[String] {
        match self.paths.as_slice() {
            [] => self.key.as_slice(),
            keys => keys,
        }
    }

    /// The file that it uses when no key names one.
    fn state_path(&self) -> Option<PathBuf> {
        let (name, folder) = self.state_file.as_ref().zip(state_folder())?;
        Some(folder.join(name))
    }

    /// The effect with a config, as a phrase. `elsewhere` gives values for keys that the config's schema does not have.
    #[must_use]
    pub fn in_words(
        &self,
        manifest: &Manifest,
        config: &Value,
        elsewhere: impl Fn(&str) -> Option<Value>,
    ) -> String {
        if self.doc.is_empty() {
            return self.kind.as_str().replace('-', " ");
        }
        let state_path = || Some(self.state_path()?.to_string_lossy().into());
        let value = |key: &str| match manifest.has_key(key) {
            true => match manifest.value(config, key) {
                None if self.paths.iter().any(|path| path == key) => state_path(),
                value => value.cloned(),
            },
            false => elsewhere(key),
        };
        phrase::filled(&self.doc, value)
    }
}

/// The folder in which plugins keep the user's state: `flowpipe` in `$XDG_STATE_HOME` or `~/.local/state`, and where
/// systems have no such folder, in that of the user's data. `None`: the user has no home.
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    let folders = choose_native_strategy().ok()?;
    let folder = folders.state_dir().unwrap_or_else(|| folders.data_dir());
    Some(folder.join("flowpipe"))
}

/// Whether a name is a file's, and leads to no other folder.
fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none()
}

fn path(value: &Value) -> Option<PathBuf> {
    value.as_str().map(PathBuf::from)
}

/// The config key of the folder in which a stage runs its command.
pub const COMMAND_FOLDER: &str = "directory";

/// The config key of the variables that a stage adds to the environment of its command.
pub const COMMAND_ENVIRONMENT: &str = "env";

/// What a stage does with the files that a config key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathUse {
    /// It reads them.
    Read,
    /// It writes them, and may read them.
    Written,
}

/// The role of stages that act on the world.
const ACTUATOR: &str = "actuator";

/// Whether a stage has an effect. The caller decides about unknown effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasEffect {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// Its effects are unknown: it may do anything.
    Unknown,
}

/// Why a stage can't have several workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OneWorker {
    /// It has no inputs: there is no queue that workers could share.
    Source,
    /// It drives the mouse, which there is one of.
    DrivesMouse,
}

impl Manifest {
    /// Why a stage with this plugin and config can't have several workers. `None`: it can.
    #[must_use]
    pub fn why_one_worker(&self, config: &Value) -> Option<OneWorker> {
        if self.inputs.is_empty() {
            return Some(OneWorker::Source);
        }
        self.drives_mouse(config).then_some(OneWorker::DrivesMouse)
    }

    /// Whether the stage is declared to drive the mouse with a config.
    #[must_use]
    pub fn drives_mouse(&self, config: &Value) -> bool {
        self.has_effect(&[EffectKind::DrivesMouse], config) == HasEffect::Yes
    }

    /// The stage's effects with a config. `None`: they are unknown.
    #[must_use]
    pub fn effects_with(&self, config: &Value) -> Option<Vec<&Effect>> {
        let Effects::Declared(effects) = &self.effects else {
            return None;
        };
        let happens = |effect: &&Effect| match &effect.key {
            Some(key) => self.value(config, key).is_some(),
            None => true,
        };
        Some(effects.iter().filter(happens).collect())
    }

    /// Whether the stage has one of these effects with a config.
    #[must_use]
    pub fn has_effect(&self, kinds: &[EffectKind], config: &Value) -> HasEffect {
        match self.effects_with(config) {
            None => HasEffect::Unknown,
            Some(effects) => match effects.iter().any(|it| kinds.contains(&it.kind)) {
                true => HasEffect::Yes,
                false => HasEffect::No,
            },
        }
    }

    /// Whether the stage acts on the world with a config: it drives the mouse, or is an actuator that has other
    /// `means`. An actuator whose effects are unknown acts, whatever else it declares. Other roles with unknown effects
    /// do not.
    #[must_use]
    pub fn acts(&self, means: &[EffectKind], config: &Value) -> bool {
        let is_actuator = self.role == ACTUATOR;
        let drives = self.has_effect(&[EffectKind::DrivesMouse], config);
        match drives {
            HasEffect::Unknown => is_actuator,
            HasEffect::Yes => true,
            HasEffect::No => is_actuator && self.has_effect(means, config) == HasEffect::Yes,
        }
    }

    /// A config without the keys of effects, except those that `kept` accepts. An effect without a key, or with a
    /// required or defaulted key, stays.
    #[must_use]
    pub fn without_effects(&self, config: &Value, kept: impl Fn(&Effect) -> bool) -> Value {
        let mut config = config.clone();
        if let (Effects::Declared(effects), Value::Object(values)) = (&self.effects, &mut config) {
            let dropped = effects.iter().filter(|effect| !kept(effect));
            for key in dropped.filter_map(|effect| effect.key.as_ref()) {
                if !self.is_required(key) {
                    values.remove(key);
                }
            }
        }
        config
    }

    /// A value of a config, or the schema's default; `None` if it is null or false.
    pub fn value<'a>(&'a self, config: &'a Value, key: &str) -> Option<&'a Value> {
        let default = || self.property(key)?.get("default");
        let value = config.get(key).or_else(default)?;
        (!value.is_null() && *value != Value::Bool(false)).then_some(value)
    }

    /// The top-level config keys that name files or folders, and whether the stage writes them. A key that is both
    /// read and written counts as written.
    #[must_use]
    pub fn path_keys(&self) -> BTreeMap<&str, PathUse> {
        let Effects::Declared(effects) = &self.effects else {
            return BTreeMap::new();
        };
        let mut keys = BTreeMap::new();
        for effect in effects {
            let used = match effect.kind {
                EffectKind::ReadsFiles => PathUse::Read,
                EffectKind::WritesFiles => PathUse::Written,
                _ => continue,
            };
            for key in effect.path_keys() {
                let known = keys.entry(key.as_str()).or_insert(used);
                *known = used.max(*known);
            }
        }
        keys
    }

    /// The config key of the command that the stage runs, if it runs one and its config can name the command's folder
    /// by [`COMMAND_FOLDER`].
    #[must_use]
    pub fn command_key(&self) -> Option<&str> {
        let Effects::Declared(effects) = &self.effects else {
            return None;
        };
        let mut effects = effects.iter();
        let runs = effects.find(|effect| effect.kind == EffectKind::RunsCommands)?;
        runs.key.as_deref().filter(|_| self.has_key(COMMAND_FOLDER))
    }

    /// Whether the config's schema has a key.
    #[must_use]
    pub fn has_key(&self, key: &str) -> bool {
        self.property(key).is_some()
    }

    /// The `format` of a key in the config's schema.
    pub(crate) fn format(&self, key: &str) -> Option<&str> {
        self.property(key)?.get("format")?.as_str()
    }

    /// The keys of the config's schema.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let keys = self.config.get("properties").and_then(Value::as_object);
        keys.into_iter().flatten().map(|(key, _)| key.as_str())
    }

    fn property(&self, key: &str) -> Option<&Map<String, Value>> {
        self.config.get("properties")?.get(key)?.as_object()
    }

    fn is_required(&self, key: &str) -> bool {
        let required = self.config.get("required").and_then(Value::as_array);
        required.is_some_and(|keys| keys.iter().any(|it| it == key))
    }
}

#[cfg(test)]
mod tests;
