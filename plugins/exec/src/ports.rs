//! The ports that a config declares.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Config;

/// A command that is a stage of no special role.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageConfig {
    /// See [`Config`].
    #[serde(flatten)]
    pub run: Config,
    /// Its inputs by name. Without this key, one input `in` for messages of any schema. `{}`: it is a source, which is
    /// asked for messages again and again.
    #[serde(default)]
    pub inputs: Option<Ports<InputConfig>>,
    /// Its outputs by name. Without this key, one output `out` for messages of any schema. `{}`: it emits nothing.
    #[serde(default)]
    pub outputs: Option<Ports<OutputConfig>>,
    /// Whether the same messages in always give the same messages out.
    #[serde(default)]
    pub deterministic: bool,
    /// What the command does to the world outside of flowpipe.
    #[serde(default)]
    pub effects: Vec<DeclaredEffect>,
}

/// Ports by name. Their order is that of their indices.
pub type Ports<T> = BTreeMap<String, T>;

/// An input.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Input")]
pub struct InputConfig {
    /// The schema id of its messages, such as "mines.field/1", or "*" for any.
    #[schemars(regex(pattern = r"^(\*|[A-Za-z0-9._-]+/[0-9]+)$"))]
    pub schema: String,
    /// Whether a pipeline may leave this input unconnected; at least one is connected.
    #[serde(default)]
    pub optional: bool,
    /// What its messages carry: "nothing", "picture", a pattern of buffers such as { media_type = "audio/*", element =
    /// "f32", shape = ["any", 2] }, or a list of these. Without this key, a picture or nothing.
    #[serde(default)]
    pub carries: Option<Value>,
    /// A file with the JSON Schema of its messages. Every message of this schema id is checked against it.
    #[serde(default)]
    pub file: Option<String>,
    /// The JSON Schema itself, instead of a file.
    #[serde(default)]
    pub json_schema: Option<Value>,
}

/// An output.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Output")]
pub struct OutputConfig {
    /// The schema id of its messages, such as "mines.field/1", or "*" for any.
    #[schemars(regex(pattern = r"^(\*|[A-Za-z0-9._-]+/[0-9]+)$"))]
    pub schema: String,
    /// The plugin of the role `check` that has to judge the messages of this output. A pipeline does not start without it.
    #[serde(default)]
    pub check: Option<String>,
    /// What its messages carry: "nothing", "picture", a pattern of buffers such as { media_type = "audio/*", element =
    /// "f32", shape = ["any", 2] }, or a list of these. Without this key, a picture or nothing.
    #[serde(default)]
    pub carries: Option<Value>,
    /// A file with the JSON Schema of its messages. Every message of this schema id is checked against it.
    #[serde(default)]
    pub file: Option<String>,
    /// The JSON Schema itself, instead of a file.
    #[serde(default)]
    pub json_schema: Option<Value>,
}

/// An effect of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Effect")]
pub enum DeclaredEffect {
    /// It reads files.
    ReadsFiles,
    /// It creates, changes or removes files.
    WritesFiles,
    /// It starts other programs.
    RunsCommands,
    /// It sees what is on the screen.
    ReadsScreen,
    /// It moves the pointer, or presses buttons or keys. It is not started in a dry run.
    DrivesMouse,
    /// It communicates with other machines.
    UsesNetwork,
}

/// The ports of a stage, in the order of their indices.
pub struct PortNames {
    /// Its inputs.
    pub inputs: Vec<String>,
    /// Its outputs, each with the schema id of its messages. `None`: the command names it.
    pub outputs: Vec<(String, Option<String>)>,
}

impl PortNames {
    /// The ports of a config.
    pub fn of(config: &StageConfig) -> Self {
        let inputs = config.inputs.as_ref();
        let inputs = inputs.map(|ports| ports.keys().cloned().collect());
        let id = |port: &OutputConfig| Some(port.schema.clone()).filter(|id| id != "*");
        let outputs = config.outputs.as_ref().map(|ports| {
            let ports = ports.iter();
            ports.map(|(name, port)| (name.clone(), id(port))).collect()
        });
        Self {
            inputs: inputs.unwrap_or_else(|| vec!["in".to_owned()]),
            outputs: outputs.unwrap_or_else(|| vec![("out".to_owned(), None)]),
        }
    }

    /// The index of the output of a message: the named one, or the only one.
    ///
    /// # Errors
    /// A sentence that follows the command's name.
    pub fn output(&self, named: Option<&str>) -> Result<usize, String> {
        let names = || {
            let names = self.outputs.iter().map(|(name, _)| format!("{name:?}"));
            names.collect::<Vec<_>>().join(", ")
        };
        match (named, self.outputs.as_slice()) {
            (_, []) => Err("it sent a message, but its config declares no outputs".to_owned()),
            (None, [_]) => Ok(0),
            (None, _) => Err(format!(
                "it sent a message without \"port\", and has the outputs {}",
                names()
            )),
            (Some(name), outputs) => {
                let index = outputs.iter().position(|(output, _)| output == name);
                index.ok_or_else(|| {
                    format!(
                        "it sent a message to the output {name:?}, and has {}",
                        names()
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::EffectKind;

    use super::*;

    /// The config and the ABI have the same kinds.
    #[test]
    fn every_kind_of_effect_can_be_declared() {
        for kind in EffectKind::ALL {
            let declared: DeclaredEffect = serde_json::from_value(kind.as_str().into()).unwrap();
            assert_eq!(serde_json::to_value(declared).unwrap(), kind.as_str());
        }
        serde_json::from_str::<DeclaredEffect>("\"reads-minds\"").unwrap_err();
    }
}
