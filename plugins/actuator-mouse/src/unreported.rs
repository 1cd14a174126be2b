//! What the desktop does not report, and whether that is accepted.

use flowpipe_desktop::{Acceptance, Capabilities, Desktop, Stop, Unreported};
use flowpipe_plugin::{Error, Result, tracing};

use crate::config::Config;

/// Logs once what the desktop does not report and the config relies on, and that windows move or are covered also where the
/// config does not.
///
/// # Errors
/// When the config does not accept all that it relies on, with what to set.
pub fn check(desktop: &Desktop, config: &Config) -> Result<()> {
    let variable = desktop.missing_variable();
    if let Some(line) = accepted(desktop.capabilities(), variable.as_deref(), config)? {
        tracing::warn!("{line}");
    }
    Ok(())
}

/// What is to be logged. `None`: nothing. `variable`: what to set so that the desktop reports more.
fn accepted(
    capabilities: Capabilities,
    variable: Option<&str>,
    config: &Config,
) -> Result<Option<String>> {
    let listed: Vec<Unreported> = capabilities
        .unreported()
        .filter(|&it| it == Unreported::Covered || is_relied_on(it, config))
        .collect();
    if listed.is_empty() {
        return Ok(None);
    }
    let list: Vec<&str> = listed.iter().map(|&it| capabilities.describe(it)).collect();
    let mut text = unreported(&list.join("; "), capabilities, config);
    if let Some(variable) = variable {
        text = format!("{text}. More is reported once a variable is set: {variable}");
    }
    let acceptance = Acceptance::of(capabilities, |it| is_relied_on(it, config));
    accept(text, &acceptance, config).map(Some)
}

/// The same of the pointer's place, where the desktop turns out not to report it.
///
/// # Errors
/// As [`check`].
pub fn pointer(why: &str, config: &Config) -> Result<()> {
    let without = Capabilities::PORTAL;
    let mut missing = config.accept.clone();
    missing.push(Unreported::Pointer);
    missing.sort_unstable();
    missing.dedup();
    let list = format!("{}: {why}", without.describe(Unreported::Pointer));
    let text = unreported(&list, without, config);
    let line = accept(text, &Acceptance::listed(missing), config)?;
    tracing::warn!("{line}");
    Ok(())
}

fn is_relied_on(what: Unreported, config: &Config) -> bool {
    match what {
        Unreported::Pointer => config.by_hand || config.corners,
        Unreported::Hotkey => !config.hotkey.is_empty(),
        Unreported::Covered => !config.any_window,
    }
}

/// The line to log: `text`.
fn accept(text: String, acceptance: &Acceptance, config: &Config) -> Result<String> {
    if acceptance.is_met_by(&config.accept) {
        return Ok(text);
    }
    let (keys, options) = (acceptance.keys(), acceptance.options());
    Err(Error::bad_config(match acceptance.needs_monitor() {
        true => format!(
            "{text}. To play all the same, set `monitor` or `region` of capture-screen, and {keys} of actuator-mouse; for one \
             run, instead of --window: {options}"
        ),
        false => format!(
            "{text}. Set {keys} of actuator-mouse to play all the same; for one run: {options}"
        ),
    }))
}

/// What is not reported, and what ends the run all the same.
fn unreported(list: &str, capabilities: Capabilities, config: &Config) -> String {
    let hotkey = Some(config.hotkey.as_str());
    let stop = Stop {
        hotkey: hotkey.filter(|it| capabilities.hotkey && !it.is_empty()),
        by_hand: capabilities.pointer && config.by_hand,
        corners: capabilities.pointer && config.corners,
    };
    format!(
        "this desktop does not report: {list}. {} ends the run",
        stop.in_words()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(capabilities: Capabilities, config: &Config) -> Option<String> {
        let accepted = accepted(capabilities, None, config);
        accepted.err().map(|it| it.to_string())
    }

    #[test]
    fn all_that_is_missing_is_listed_at_once() {
        let mut config = Config::default();
        assert_eq!(refused(Capabilities::X11, &config), None);
        let text = refused(Capabilities::SWAY, &config).unwrap();
        for part in [
            "where the pointer is",
            "panels, notifications",
            "accept = [\"pointer\", \"covered\"]",
            "; for one run: --set actuator-mouse.accept='[\"pointer\", \"covered\"]'",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // A part is not enough, and the list to set stays whole.
        config.accept = vec![Unreported::Pointer];
        let text = refused(Capabilities::SWAY, &config).unwrap();
        assert!(text.contains("[\"pointer\", \"covered\"]"), "{text}");
        config.accept.push(Unreported::Covered);
        assert_eq!(refused(Capabilities::SWAY, &config), None);
    }

    #[test]
    fn without_windows_the_monitor_has_to_be_named() {
        let mut config = Config::default();
        let text = refused(Capabilities::MUTTER, &config).unwrap();
        assert!(
            text.contains("any_window = true and accept = [\"hotkey\"]"),
            "{text}"
        );
        let options = "; for one run, instead of --window: --set capture-screen.monitor=1 --set \
                       actuator-mouse.any_window=true --set actuator-mouse.accept='[\"hotkey\"]'";
        assert!(text.ends_with(options), "{text}");
        // To accept it is not enough: nothing would be played.
        config.accept = vec![Unreported::Hotkey, Unreported::Covered];
        assert_eq!(refused(Capabilities::MUTTER, &config), Some(text));
        config.any_window = true;
        assert_eq!(refused(Capabilities::MUTTER, &config), None);
        // Nothing else is missing.
        (config.any_window, config.hotkey) = (false, String::new());
        let text = refused(Capabilities::MUTTER, &config).unwrap();
        assert!(!text.contains("accept"), "{text}");
        assert!(
            text.ends_with("--set actuator-mouse.any_window=true"),
            "{text}"
        );
    }

    #[test]
    fn covered_windows_are_listed_also_where_any_window_accepts_them() {
        let line = |capabilities, config: &Config| accepted(capabilities, None, config).unwrap();
        let mut config = Config {
            any_window: true,
            accept: vec![Unreported::Hotkey],
            ..Config::default()
        };
        let gnome = "this desktop does not report: the hotkey (it does not end the run); whether the window moves and what \
                     covers it (a press on the board may go to something else). Ctrl-C in the terminal or a hand on the \
                     mouse ends the run";
        assert_eq!(line(Capabilities::MUTTER, &config).as_deref(), Some(gnome));
        (config.hotkey, config.accept) = (String::new(), Vec::new());
        let gnome = "this desktop does not report: whether the window moves and what covers it (a press on the board may go \
                     to something else). Ctrl-C in the terminal or a hand on the mouse ends the run";
        assert_eq!(line(Capabilities::MUTTER, &config).as_deref(), Some(gnome));
        assert_eq!(line(Capabilities::X11, &config), None);
    }

    #[test]
    fn what_the_config_does_not_rely_on_needs_no_acceptance() {
        let mut config = Config {
            any_window: true,
            ..Config::default()
        };
        let text = refused(Capabilities::MUTTER, &config).unwrap();
        assert!(text.contains("accept = [\"hotkey\"]"), "{text}");
        config.hotkey.clear();
        assert_eq!(refused(Capabilities::MUTTER, &config), None);
        config.by_hand = false;
        let text = refused(Capabilities::WLROOTS, &config).unwrap();
        assert!(text.contains("accept = [\"pointer\"]"), "{text}");
        config.corners = false;
        assert_eq!(refused(Capabilities::WLROOTS, &config), None);
    }

    #[test]
    fn a_pointer_that_is_not_reported_after_all_is_added_to_what_was_accepted() {
        let mut config = Config {
            accept: vec![Unreported::Hotkey],
            ..Config::default()
        };
        let text = pointer("PipeWire has ended", &config)
            .unwrap_err()
            .to_string();
        assert!(text.contains("PipeWire has ended"), "{text}");
        assert!(
            text.contains("accept = [\"pointer\", \"hotkey\"]"),
            "{text}"
        );
        config.accept.push(Unreported::Pointer);
        assert!(pointer("PipeWire has ended", &config).is_ok());
    }

    #[test]
    fn what_ends_the_run_is_named_where_the_desktop_reports_it() {
        let mut config = Config {
            accept: vec![Unreported::Pointer, Unreported::Covered],
            ..Config::default()
        };
        let line = |config: &Config| {
            let line = accepted(Capabilities::SWAY, None, config).unwrap();
            line.unwrap()
        };
        let sway = line(&config);
        assert!(
            sway.ends_with(". F12 or Ctrl-C in the terminal ends the run"),
            "{sway}"
        );
        config.hotkey.clear();
        let sway = line(&config);
        assert!(
            sway.ends_with(". Ctrl-C in the terminal ends the run"),
            "{sway}"
        );
    }

    #[test]
    fn the_variable_that_is_missing_comes_before_what_to_accept() {
        let variable = "this compositor is sway: `export SWAYSOCK=/run/sway`";
        let error = accepted(Capabilities::WLROOTS, Some(variable), &Config::default());
        let text = error.unwrap_err().to_string();
        let (before, after) = text.split_once(variable).unwrap();
        assert!(before.contains("does not report"), "{text}");
        assert!(after.contains("To play all the same"), "{text}");
    }
}
