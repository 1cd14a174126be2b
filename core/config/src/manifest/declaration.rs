//! What a stage's config declares in place of its plugin's manifest: the ports, effects and determinism of a stage that
//! runs any command.
//!
//! Only a config that the user gives now is a declaration. That of a recording is data of a stranger: see
//! `core/engine/src/run/replay/rerun.rs`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::read::check_ports;
use super::{Carried, Manifest, Port};
use crate::manifest::effects::{Effect, EffectKind, Effects};

/// The most ports of one direction that a config may declare.
const MOST_PORTS: usize = 64;

/// The schema id of a port that matches any.
const ANY: &str = "*";
/// The config key of the declared determinism.
const DETERMINISTIC: &str = "deterministic";
/// The config key of the declared effects.
const EFFECTS: &str = "effects";

/// Whether messages come in or go out by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// They come in.
    Input,
    /// They go out.
    Output,
}

/// What a config declares of its stage.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'m, 'c> {
    manifest: &'m Manifest,
    /// `None`: the plugin does not permit declarations.
    config: Option<&'c Value>,
}

/// A port that a config declares.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredPort<'a> {
    /// Its name.
    pub name: &'a str,
    /// The schema id of its messages; `*` matches any.
    pub schema: &'a str,
    /// Whether a pipeline may leave this input unconnected.
    pub optional: bool,
    /// The check that messages of this output need, by its plugin's name.
    pub check: Option<&'a str>,
    /// What its messages carry, as it is written.
    pub carries: Option<&'a Value>,
    /// The file with the JSON Schema of its messages.
    pub file: Option<&'a str>,
    /// The JSON Schema of its messages: given in the config, or read from the file.
    pub json_schema: Option<&'a Value>,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// The config key of the declared ports.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Input => "inputs",
            Self::Output => "outputs",
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

impl<'m, 'c> Declaration<'m, 'c> {
    /// What a config declares, if a plugin permits that.
    pub(super) fn new(manifest: &'m Manifest, config: &'c Value) -> Self {
        let config = manifest.declared_by_config.then_some(config);
        Self { manifest, config }
    }

    /// The manifest with what the config declares. Effects are added: a config can't take one of the plugin away.
    pub(super) fn manifest(&self) -> Cow<'m, Manifest> {
        let Some(config) = self.config else {
            return Cow::Borrowed(self.manifest);
        };
        let mut manifest = self.manifest.clone();
        if let Some(inputs) = self.ports(Direction::Input) {
            manifest.inputs = inputs.iter().map(DeclaredPort::port).collect();
        }
        if let Some(outputs) = self.ports(Direction::Output) {
            manifest.outputs = outputs.iter().map(DeclaredPort::port).collect();
        }
        if let Some(deterministic) = config.get(DETERMINISTIC).and_then(Value::as_bool) {
            manifest.deterministic = deterministic;
        }
        if let (Effects::Declared(effects), Some(Value::Array(ids))) =
            (&mut manifest.effects, config.get(EFFECTS))
        {
            let declared = ids
                .iter()
                .map(|id| id.as_str()?.parse().ok().map(declared_effect));
            match declared.collect::<Option<Vec<Effect>>>() {
                Some(declared) => effects.extend(declared),
                None => manifest.effects = Effects::Unknown,
            }
        }
        Cow::Owned(manifest)
    }

    /// The ports that the config declares, in the order of their names, which is that of their indices. `None`: the
    /// manifest's ports apply.
    #[must_use]
    pub fn ports(&self, direction: Direction) -> Option<Vec<DeclaredPort<'c>>> {
        let ports = self.config?.get(direction.key())?.as_object()?;
        let mut ports: Vec<_> = ports.iter().filter_map(declared_port).collect();
        ports.sort_unstable_by_key(|port| port.name);
        Some(ports)
    }

    /// The ports that have a JSON Schema for a schema id.
    #[must_use]
    pub fn described_ports(&self) -> Vec<DeclaredPort<'c>> {
        let ports = Direction::ALL.map(|direction| self.ports(direction));
        let ports = ports.into_iter().flatten().flatten();
        ports
            .filter(|port| port.schema != ANY && port.json_schema.is_some())
            .collect()
    }

    /// Checks the names and schema ids of the ports.
    ///
    /// # Errors
    /// What is wrong, as a sentence for users.
    pub fn check_ports(&self, direction: Direction) -> Result<(), String> {
        let Some(ports) = self.ports(direction) else {
            return Ok(());
        };
        let name = direction.name();
        let written = self.config.and_then(|config| config.get(direction.key()));
        if written.and_then(Value::as_object).map(Map::len) != Some(ports.len()) {
            return Err(format!("an {name} without a schema id is declared"));
        }
        if ports.len() > MOST_PORTS {
            return Err(format!(
                "{} {name}s are declared, and a stage may have {MOST_PORTS}",
                ports.len()
            ));
        }
        for port in &ports {
            let carried = port.carried();
            carried.map_err(|reason| format!("the {name} {:?}: {reason}", port.name))?;
        }
        let ports: Vec<_> = ports.iter().map(DeclaredPort::port).collect();
        check_ports(&ports, name)
    }
}

impl DeclaredPort<'_> {
    fn carried(&self) -> Result<Carried, String> {
        self.carries
            .map_or_else(|| Ok(Carried::default()), Carried::read)
    }

    fn port(&self) -> Port {
        Port {
            name: self.name.to_owned(),
            schema: self.schema.to_owned(),
            optional: self.optional,
            check: self.check.map(str::to_owned),
            // `check_ports` reports what can't be read.
            carries: self.carried().unwrap_or_default(),
            ..Port::default()
        }
    }
}

fn declared_port<'a>((name, declared): (&'a String, &'a Value)) -> Option<DeclaredPort<'a>> {
    Some(DeclaredPort {
        name,
        schema: declared.get("schema")?.as_str()?,
        optional: declared.get("optional").and_then(Value::as_bool) == Some(true),
        check: declared.get("check").and_then(Value::as_str),
        carries: declared.get("carries").filter(|it| !it.is_null()),
        file: declared.get("file").and_then(Value::as_str),
        json_schema: declared.get("json_schema").filter(|it| !it.is_null()),
    })
}

/// An effect that a config declares. Without a key: a replay can't remove it from the config of a recording.
fn declared_effect(kind: EffectKind) -> Effect {
    let does = match kind {
        EffectKind::ReadsFiles => "reads files",
        EffectKind::WritesFiles => "writes files",
        EffectKind::RunsCommands => "runs other commands",
        EffectKind::ReadsScreen => "reads the screen",
        EffectKind::DrivesMouse => "drives the mouse",
        EffectKind::UsesNetwork => "uses the network",
        // Kinds that a later ABI adds.
        other => other.as_str(),
    };
    Effect {
        kind,
        key: None,
        paths: Vec::new(),
        state_file: None,
        doc: format!("{does}, as its config declares"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::effects::HasEffect;
    use crate::manifest::read_manifest;

    fn command(more: &str) -> Manifest {
        let text = format!(
            r#"{{"name": "exec", "role": "stage", "inputs": [{{"name": "in", "schema": "*"}}],
                "outputs": [{{"name": "out", "schema": "*"}}],
                "effects": [{{"effect": "runs-commands", "key": "command"}}] {more}}}"#
        );
        read_manifest(&text).unwrap()
    }

    fn ports(ports: &[Port]) -> Vec<(&str, &str)> {
        let ports = ports.iter();
        ports
            .map(|port| (port.name.as_str(), port.schema.as_str()))
            .collect()
    }

    fn config() -> Value {
        json!({
            "command": ["a"],
            "inputs": { "b": { "schema": "x.b/1", "optional": true }, "a": { "schema": "*" } },
            "outputs": {},
            "deterministic": true,
            "effects": ["drives-mouse"],
        })
    }

    #[test]
    fn a_config_declares_where_the_plugin_permits_it() {
        let plain = command("");
        assert!(matches!(plain.with_config(&config()), Cow::Borrowed(_)));
        assert!(
            plain
                .declaration(&config())
                .ports(Direction::Input)
                .is_none()
        );
        let open = command(r#", "declared_by_config": true"#);
        let stage = open.with_config(&config());
        assert_eq!(ports(&stage.inputs), [("a", "*"), ("b", "x.b/1")]);
        assert!(stage.outputs.is_empty() && stage.deterministic);
        assert!(!stage.inputs[0].optional && stage.inputs[1].optional);
        let checked = json!({ "outputs": { "out": { "schema": "x.a/1", "check": "check-x" } } });
        let stage = open.with_config(&checked);
        assert_eq!(stage.outputs[0].check.as_deref(), Some("check-x"));
        let carrying = json!({ "outputs": { "out": { "schema": "*", "carries": "picture" } } });
        let stage = open.with_config(&carrying);
        assert_eq!(stage.outputs[0].carries.to_string(), "a picture");
        // Without a declaration, the manifest's word stays.
        let stage = open.with_config(&json!({ "command": ["a"] }));
        assert_eq!(*stage, open);
        assert!(!stage.deterministic);
    }

    #[test]
    fn effects_are_added_and_none_is_taken_away() {
        let open = command(r#", "declared_by_config": true"#);
        let has = |config: &Value, kind| open.with_config(config).has_effect(&[kind], config);
        let none = json!({ "command": ["a"], "effects": [] });
        assert_eq!(has(&none, EffectKind::RunsCommands), HasEffect::Yes);
        assert_eq!(has(&none, EffectKind::DrivesMouse), HasEffect::No);
        assert_eq!(has(&config(), EffectKind::RunsCommands), HasEffect::Yes);
        assert_eq!(has(&config(), EffectKind::DrivesMouse), HasEffect::Yes);
        // It stays where a replay drops what can be dropped.
        let stage = open.with_config(&config()).into_owned();
        let dropped = stage.without_effects(&config(), |_| false);
        assert_eq!(dropped["effects"], config()["effects"]);
        let later = json!({ "command": ["a"], "effects": ["reads-minds"] });
        assert_eq!(has(&later, EffectKind::RunsCommands), HasEffect::Unknown);
    }

    #[test]
    fn the_ports_of_a_config_are_checked() {
        let open = command(r#", "declared_by_config": true"#);
        let check = |config: &Value| {
            let mut all = Direction::ALL.into_iter();
            all.try_for_each(|direction| open.declaration(config).check_ports(direction))
        };
        let refused = |config: Value| check(&config).unwrap_err();
        check(&config()).unwrap();
        check(&json!({})).unwrap();
        let bad = refused(json!({ "inputs": { "In": { "schema": "*" } } }));
        assert_eq!(bad, "the input name \"In\" is not a name");
        let bad = refused(json!({ "outputs": { "out": { "schema": "x" } } }));
        assert!(bad.contains("neither `*` nor like"), "{bad}");
        let bad = refused(json!({ "outputs": { "out": { "schema": "*", "carries": "sound" } } }));
        assert!(
            bad.starts_with("the output \"out\": `carries` has"),
            "{bad}"
        );
        let bad = refused(json!({ "outputs": { "out": {} } }));
        assert_eq!(bad, "an output without a schema id is declared");
        let many: Map<_, _> = (0..65)
            .map(|n| (format!("p{n}"), json!({ "schema": "*" })))
            .collect();
        let bad = refused(json!({ "inputs": many }));
        assert!(bad.starts_with("65 inputs are declared"), "{bad}");
    }
}
