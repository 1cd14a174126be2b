//! The config: its defaults fit its schema and create a stage, and a config that does not fit breaks nothing.

use flowpipe_config::manifest::config_schema;
use flowpipe_terminal::counted;
use serde_json::{Map, Value, json};

use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::subject::Subject;

pub fn check(subject: &Subject, report: &Reporter) {
    let schema = &subject.manifest().config;
    // The host has refused invalid schemas.
    let Ok(validator) = config_schema(schema) else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let no_properties = Map::new();
    let properties = properties.unwrap_or(&no_properties);

    let mut given = subject.config.as_object().cloned().unwrap_or_default();
    for (name, property) in properties {
        if let Some(default) = property.get("default").filter(|it| !it.is_null()) {
            given.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    let defaults = Value::Object(given);
    match validator.validate(&defaults) {
        Err(error) => report.fail(format!("its own defaults don't fit its schema: {error}")),
        Ok(()) => {
            report.doing("creating it with its defaults written out");
            match subject.create_with(defaults) {
                Ok(trial) => drop(trial.end()),
                Err(error) => report.fail(format!("with its defaults written out: {error}")),
            }
        }
    }
    if !validator.is_valid(&with(&subject.config, "no-such-key", json!(1))) {
        report.doing("creating it with a key that its schema forbids");
        let unknown = with(&subject.config, "no-such-key", json!(1));
        // The host refuses such a config. Here it is passed to the plugin, which must not break.
        if let Ok(trial) = subject.create_with(unknown) {
            trial.end();
        }
    } else {
        report.warn(
            "its schema allows any key: a typo in a pipeline is not detected \
             (\"additionalProperties\": false)",
        );
    }
    for name in properties.keys() {
        for wrong in [
            json!(null),
            json!([[]]),
            json!({ "x": -1 }),
            json!(-1e300),
            json!("\u{0}"),
        ] {
            report.doing(format!("creating it with `{name}` = {wrong}"));
            // Refused or not: it must not crash, and the stage can be destroyed.
            if let Ok(trial) = subject.create_with(with(&subject.config, name, wrong)) {
                trial.end();
            }
        }
    }
    report.pass(counted(properties.len(), "key"));
}

fn with(config: &Value, key: &str, value: Value) -> Value {
    let mut config = config.as_object().cloned().unwrap_or_default();
    config.insert(key.to_owned(), value);
    Value::Object(config)
}
