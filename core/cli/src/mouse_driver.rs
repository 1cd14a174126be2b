//! Whether a pipeline drives the mouse, and what stops it.

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use serde_json::Value;

/// The config key of an actuator that names the key that ends the run.
const HOTKEY: &str = "hotkey";
/// The config key of an actuator that permits to play in what is no window.
const ANY_WINDOW: &str = "any_window";
/// The config key of an actuator that ends the run when a person moves the mouse.
const BY_HAND: &str = "by_hand";
/// The config key of an actuator that ends the run when the pointer is in a corner of the screen.
const CORNERS: &str = "corners";
/// The config key of an actuator that lists what the desktop need not report, and there: where the pointer is.
const ACCEPT: &str = "accept";
const POINTER: &str = "pointer";

/// The config key of an actuator that chooses the way to the desktop.
const DESKTOP: &str = "desktop";

/// That a pipeline drives the mouse.
#[derive(Clone, PartialEq, Eq)]
pub struct MouseDriver {
    /// The key that stops the mouse.
    pub hotkey: Option<String>,
    /// Whether it plays in what is no window, such as a monitor.
    pub any_window: bool,
    /// Whether a person who moves the mouse ends the run, where the desktop reports it.
    pub by_hand: bool,
    /// Whether the pointer in a corner of the screen ends the run, where the desktop reports it.
    pub corners: bool,
    /// Whether it plays also where the desktop does not report it.
    pub accepts_unnoticed: bool,
    /// The way to the desktop that is chosen. `None`: the one that fits the session.
    pub desktop: Option<String>,
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
                any_window: is_set(manifest, &contestant.config, ANY_WINDOW).unwrap_or(true),
                by_hand: is_set(manifest, &contestant.config, BY_HAND).unwrap_or(false),
                corners: is_set(manifest, &contestant.config, CORNERS).unwrap_or(false),
                accepts_unnoticed: accepts(&contestant.config, POINTER),
                desktop: desktop(&contestant.config),
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

/// What a key is, by the config or else its default. `None`: there is no such key.
fn is_set(manifest: &Manifest, config: &Value, key: &str) -> Option<bool> {
    let property = manifest.config.get("properties")?.get(key)?;
    let value = config.get(key).or_else(|| property.get("default"));
    Some(value.and_then(Value::as_bool).unwrap_or(false))
}

/// Whether it accepts that something is not reported.
fn accepts(config: &Value, what: &str) -> bool {
    let accepted = config.get(ACCEPT).and_then(Value::as_array);
    accepted.is_some_and(|all| all.iter().any(|it| it == what))
}

/// The way to the desktop, if the config chooses one.
fn desktop(config: &Value) -> Option<String> {
    let way = config.get(DESKTOP)?.as_str()?;
    Some(way.to_owned())
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
        let any_window = |config| is_set(&manifest, &config, ANY_WINDOW);
        assert_eq!(any_window(json!({})), Some(false));
        assert_eq!(any_window(json!({ "any_window": true })), Some(true));
        assert_eq!(is_set(&Manifest::default(), &json!({}), ANY_WINDOW), None);
    }

    #[test]
    fn what_the_desktop_need_not_report_is_accepted_by_name() {
        let accepted = json!({ "accept": ["pointer"] });
        assert!(accepts(&accepted, POINTER));
        assert!(!accepts(&json!({ "accept": ["hotkey"] }), POINTER));
        assert!(!accepts(&json!({ "accept": [] }), POINTER));
        assert!(!accepts(&json!({}), POINTER));
    }
}
