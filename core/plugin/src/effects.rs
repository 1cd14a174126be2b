//! What a stage does to the world outside of the program, as its manifest declares it.

use flowpipe_abi as abi;
use serde::{Serialize, Serializer};

/// One effect of a stage.
///
/// ```
/// use flowpipe_plugin::{Effect, EffectKind};
///
/// const EFFECTS: Option<&'static [Effect]> = Some(&[
///     Effect::new(EffectKind::WritesFiles, "writes PNG files to {pictures}").with_key("pictures"),
/// ]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// What it does.
    #[serde(rename = "effect")]
    pub kind: EffectKind,
    /// The key of the config without which it does not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'static str>,
    /// The keys of the config that name the files or folders. Empty: `key` does.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub paths: &'static [&'static str],
    /// A short phrase for people. `{key}` is replaced by a value of the config. A part in square brackets is left out
    /// when a value in it is not set.
    pub doc: &'static str,
}

/// What a stage does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// It reads files or folders.
    ReadsFiles,
    /// It creates, changes or removes files or folders.
    WritesFiles,
    /// It starts other programs.
    RunsCommands,
    /// It sees what is on the screen.
    ReadsScreen,
    /// It moves the pointer, and presses buttons or keys.
    DrivesMouse,
    /// It talks to other machines.
    UsesNetwork,
}

impl EffectKind {
    /// The id, as manifests have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::ReadsFiles => abi::EFFECT_READS_FILES,
            Self::WritesFiles => abi::EFFECT_WRITES_FILES,
            Self::RunsCommands => abi::EFFECT_RUNS_COMMANDS,
            Self::ReadsScreen => abi::EFFECT_READS_SCREEN,
            Self::DrivesMouse => abi::EFFECT_DRIVES_MOUSE,
            Self::UsesNetwork => abi::EFFECT_USES_NETWORK,
        }
    }
}

impl Serialize for EffectKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl Effect {
    /// An effect that the stage has whatever its config is.
    #[must_use]
    pub const fn new(kind: EffectKind, doc: &'static str) -> Self {
        Self {
            kind,
            key: None,
            paths: &[],
            doc,
        }
    }

    /// The same, but only with a config that has this key, and neither null nor false in it.
    #[must_use]
    pub const fn with_key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// The same, with the keys of the config that name its files or folders.
    #[must_use]
    pub const fn with_paths(mut self, keys: &'static [&'static str]) -> Self {
        self.paths = keys;
        self
    }
}
