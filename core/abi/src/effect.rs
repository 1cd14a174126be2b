//! The kinds of effects that a manifest can declare.

use core::fmt;
use core::str::FromStr;

use crate::{
    EFFECT_DRIVES_MOUSE, EFFECT_READS_FILES, EFFECT_READS_SCREEN, EFFECT_RUNS_COMMANDS,
    EFFECT_USES_NETWORK, EFFECT_WRITES_FILES,
};

/// What a stage does to the world outside of the program.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// It communicates with other machines.
    UsesNetwork,
}

impl EffectKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ReadsFiles,
        Self::WritesFiles,
        Self::RunsCommands,
        Self::ReadsScreen,
        Self::DrivesMouse,
        Self::UsesNetwork,
    ];

    /// The id in manifests, such as `reads-files`. [`str::parse`] is the opposite.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadsFiles => EFFECT_READS_FILES,
            Self::WritesFiles => EFFECT_WRITES_FILES,
            Self::RunsCommands => EFFECT_RUNS_COMMANDS,
            Self::ReadsScreen => EFFECT_READS_SCREEN,
            Self::DrivesMouse => EFFECT_DRIVES_MOUSE,
            Self::UsesNetwork => EFFECT_USES_NETWORK,
        }
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for EffectKind {
    type Err = UnknownEffect;

    fn from_str(id: &str) -> Result<Self, UnknownEffect> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == id);
        known.ok_or(UnknownEffect)
    }
}

/// The error for an id that is none of an [`EffectKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEffect;

impl fmt::Display for UnknownEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the effects are ")?;
        for (number, kind) in EffectKind::ALL.into_iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(formatter, "{separator}{kind}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownEffect {}
