//! The flags of the command line that set config values of a pipeline.

use flowpipe_config::reader::{Setting, Target};
use serde_json::Value;

use crate::args;

/// The settings of a command line. `--set` counts more than the other flags.
pub fn of(args: &args::Run) -> Vec<Setting> {
    let common = |flag: String, key: &str, value: Value| Setting {
        flag,
        target: Target::EveryWithKey,
        keys: vec![key.to_owned()],
        value,
    };
    let mut settings = Vec::new();
    if let Some(title) = &args.window {
        let flag = format!("--window {}", shell_words::quote(title));
        settings.push(common(flag, "window", title.as_str().into()));
    }
    if let Some(seconds) = args.seconds {
        settings.push(common(
            format!("--seconds {seconds}"),
            "seconds",
            seconds.into(),
        ));
    }
    if let Some(boards) = args.boards {
        settings.push(common(
            format!("--boards {boards}"),
            "boards",
            boards.into(),
        ));
    }
    if let Some(profile) = &args.profile {
        let flag = format!("--profile {}", shell_words::quote(profile));
        settings.push(common(flag, "profile", profile.as_str().into()));
    }
    let set = args.set.iter().map(|set| Setting {
        flag: format!("--set {}", set.text),
        target: Target::Stage(set.stage.clone()),
        keys: set.keys.clone(),
        value: set.value.clone(),
    });
    settings.extend(set);
    settings
}
