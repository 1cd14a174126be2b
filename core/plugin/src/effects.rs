//! What a stage does to the world outside of the program, as its manifest declares it.

pub use flowpipe_abi::EffectKind;
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
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// What it does.
    #[serde(rename = "effect", serialize_with = "as_text")]
    pub kind: EffectKind,
    /// The key of the config without which it does not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'static str>,
    /// The keys of the config that name the files or folders, or the program that it runs. Empty: `key` does.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub paths: &'static [&'static str],
    /// The file that it uses when none of these keys is set: its name in the folder `flowpipe` of the user's state, which
    /// is `$XDG_STATE_HOME` or `~/.local/state`, and on systems without such a folder that of the user's data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_file: Option<&'static str>,
    /// A short phrase for people. `{key}` is replaced by a value of the config. A part in square brackets is left out
    /// when a value in it is not set.
    pub doc: &'static str,
}

fn as_text<S: Serializer>(kind: &EffectKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl Effect {
    /// An effect that the stage has whatever its config is.
    #[must_use]
    pub const fn new(kind: EffectKind, doc: &'static str) -> Self {
        Self {
            kind,
            key: None,
            paths: &[],
            state_file: None,
            doc,
        }
    }

    /// The same, but only with a config that has this key, and neither null nor false in it.
    #[must_use]
    pub const fn with_key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// The same, with the keys of the config that name its files or folders, or the program that it runs.
    #[must_use]
    pub const fn with_paths(mut self, keys: &'static [&'static str]) -> Self {
        self.paths = keys;
        self
    }

    /// The same, with a file of this name in the folder of the user's state when the config names none. See
    /// [`Effect::state_file`].
    #[must_use]
    pub const fn with_state_file(mut self, name: &'static str) -> Self {
        self.state_file = Some(name);
        self
    }
}
