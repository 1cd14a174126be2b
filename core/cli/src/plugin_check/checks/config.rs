//! The config: its defaults fit its schema and make a stage, and what does not fit is refused and no more.

use flowpipe_config::manifest::config_schema;
use serde_json::{Map, Value, json};

use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

pub fn check(subject: &Subject, tell: &Teller) {
    let schema = &subject.manifest().config;
    // The host has refused schemas that are none.
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
        Err(error) => tell.fail(format!("its own defaults don't fit its schema: {error}")),
        Ok(()) => {
            tell.doing("making it with its defaults written out");
            match subject.make_with(defaults) {
                Ok(trial) => drop(trial.end()),
                Err(error) => tell.fail(format!("with its defaults written out: {error}")),
            }
        }
    }
    if !validator.is_valid(&with(&subject.config, "no-such-key", json!(1))) {
        tell.doing("making it with a key that its schema forbids");
        let unknown = with(&subject.config, "no-such-key", json!(1));
        // The host does not let such a config through: here it does, and nothing may break.
        if let Ok(trial) = subject.make_with(unknown) {
            trial.end();
        }
    } else {
        tell.warn(
            "its schema takes any key: a typing error in a pipeline goes unseen \
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
            tell.doing(format!("making it with `{name}` = {wrong}"));
            // Refused or not: it may not crash, and what it makes can be destroyed.
            if let Ok(trial) = subject.make_with(with(&subject.config, name, wrong)) {
                trial.end();
            }
        }
    }
    tell.pass(format!("{} keys", properties.len()));
}

fn with(config: &Value, key: &str, value: Value) -> Value {
    let mut config = config.as_object().cloned().unwrap_or_default();
    config.insert(key.to_owned(), value);
    Value::Object(config)
}
