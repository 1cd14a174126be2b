//! The manifest that the host reads before it creates a stage.

use serde_json::{Value, json};

use crate::stage::Stage;

/// The manifest of a stage as JSON. `version` is the plugin's release.
pub(crate) fn manifest<S: Stage>(version: &str) -> String {
    let config = schemars::schema_for!(S::Config).to_value();
    let doc = if S::DOC.is_empty() {
        config
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    } else {
        S::DOC.to_owned()
    };
    let mut manifest = json!({
        "name": S::NAME,
        "version": version,
        "role": S::ROLE,
        "doc": doc,
        "inputs": S::inputs(),
        "outputs": S::outputs(),
        "config": config,
        "supports": S::supports(),
        "deterministic": S::DETERMINISTIC,
        "panic": if cfg!(panic = "unwind") { "unwind" } else { "abort" },
    });
    if S::DECLARED_BY_CONFIG {
        manifest["declared_by_config"] = json!(true);
    }
    if let Some(effects) = S::EFFECTS {
        manifest["effects"] = json!(effects);
    }
    manifest.to_string()
}
