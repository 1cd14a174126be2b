//! The effects of a command: they are unknown, so the command itself is declared.

use flowpipe_plugin::{Effect, EffectKind};

/// The effects of every stage of this library.
pub const RUNS_ITS_COMMAND: &[Effect] = &[Effect::new(
    EffectKind::RunsCommands,
    "runs `{command}`[ in the folder {directory}][ with the environment {env}]",
)
.with_key("command")];
