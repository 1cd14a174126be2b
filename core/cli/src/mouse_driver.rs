//! Whether a pipeline drives the mouse, and what stops it.

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use serde_json::Value;

/// The config key of an actuator that names the key that ends the run.
const HOTKEY: &str = "hotkey";
/// The config key of an actuator that permits to play in what is no window.
const ANY_WINDOW: &str = "any_window";

/// That a pipeline drives the mouse.
#[derive(Clone, PartialEq, Eq)]
pub struct MouseDriver {
    /// What stops the mouse besides Ctrl-C.
    pub hotkey: Option<String>,
    /// Whether it plays in what is no window, such as a monitor.
    pub any_window: bool,
}

impl MouseDriver {
    /// The driver in a pipeline. `None`: it does not drive the mouse.
    pub fn of(pipeline: &Pipeline, catalogue: &Catalogue) -> Option<Self> {
        let mut contestants = pipeline.stages.iter().flat_map(|stage| &stage.contestants);
        contestants.find_map(|contestant| {
            let manifest = &catalogue.find(&contestant.plugin)?.manifest;
            let manifest = &manifest.with_config(&contestant.config);
            manifest.drives_mouse(&contestant.config).then(|| Self {
                hotkey: hotkey(manifest, &contestant.config),
                any_window: any_window(manifest, &contestant.config),
            })
        })
    }
}

/// The key that ends the run, by the config or else the default of the plugin.
fn hotkey(manifest: &Manifest, config: &Value) -> Option<String> {
    let default = || {
        let key = manifest.config.get("properties")?.get(HOTKEY)?;
        key.get("default")
    };
    let name = config.get(HOTKEY).or_else(default)?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether it plays in what is no window: by the config or else the default, and where there is no such key.
fn any_window(manifest: &Manifest, config: &Value) -> bool {
    let property = manifest
        .config
        .get("properties")
        .and_then(|all| all.get(ANY_WINDOW));
    let Some(property) = property else {
        return true;
    };
    let value = config.get(ANY_WINDOW).or_else(|| property.get("default"));
    value.and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_key_is_that_of_the_config_else_the_default() {
        let schema = json!({ "properties": { "hotkey": { "default": "F12" } } });
        let manifest = Manifest {
            config: schema.into(),
            ..Manifest::default()
        };
        let key = |config| hotkey(&manifest, &config);
        assert_eq!(key(json!({})).as_deref(), Some("F12"));
        assert_eq!(key(json!({ "hotkey": "Pause" })).as_deref(), Some("Pause"));
        assert_eq!(key(json!({ "hotkey": "" })), None);
        assert_eq!(hotkey(&Manifest::default(), &json!({})), None);
    }

    #[test]
    fn what_is_no_window_is_played_in_only_if_that_is_permitted() {
        let manifest = Manifest {
            config: json!({ "properties": { "any_window": { "default": false } } }).into(),
            ..Manifest::default()
        };
        assert!(!any_window(&manifest, &json!({})));
        assert!(any_window(&manifest, &json!({ "any_window": true })));
        assert!(any_window(&Manifest::default(), &json!({})));
    }
}
