//! What has to be set to play where a desktop does not report all that a run relies on.

use crate::capabilities::{Capabilities, Unreported};

/// What has to be set to play on a desktop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// A monitor or a region is captured, because it is not known where windows are.
    any_window: bool,
    /// The list `accept`.
    accept: Vec<Unreported>,
}

impl Acceptance {
    /// For a desktop that reports this. `is_relied_on`: whether a run relies on a part.
    #[must_use]
    pub fn of(capabilities: Capabilities, is_relied_on: impl Fn(Unreported) -> bool) -> Self {
        let relied_on = capabilities.unreported().filter(|&it| is_relied_on(it));
        let mut accept: Vec<Unreported> = relied_on.collect();
        // `any_window` accepts it too, and without it nothing is played there.
        let any_window = !capabilities.windows && accept.contains(&Unreported::Covered);
        if any_window {
            accept.retain(|&it| it != Unreported::Covered);
        }
        Self { any_window, accept }
    }

    /// The list `accept` alone.
    #[must_use]
    pub fn listed(accept: Vec<Unreported>) -> Self {
        Self {
            any_window: false,
            accept,
        }
    }

    /// Whether nothing has to be set but the list `accept`, and this list has all of it.
    #[must_use]
    pub fn is_met_by(&self, accepted: &[Unreported]) -> bool {
        !self.any_window && self.accept.iter().all(|it| accepted.contains(it))
    }

    /// Whether a monitor or a region has to be captured.
    #[must_use]
    pub fn needs_monitor(&self) -> bool {
        self.any_window
    }

    /// The keys of `actuator-mouse`, such as `any_window = true and accept = ["hotkey"]`.
    #[must_use]
    pub fn keys(&self) -> String {
        let any_window = self.any_window.then(|| "any_window = true".to_owned());
        let accept = self.list().map(|list| format!("accept = {list}"));
        let keys: Vec<String> = any_window.into_iter().chain(accept).collect();
        keys.join(" and ")
    }

    /// The same as options of `flowpipe run`, with the monitor that is captured.
    #[must_use]
    pub fn options(&self) -> String {
        let any_window = "--set capture-screen.monitor=1 --set actuator-mouse.any_window=true";
        let any_window = self.any_window.then(|| any_window.to_owned());
        let accept = self.list();
        let accept = accept.map(|list| format!("--set actuator-mouse.accept='{list}'"));
        let options: Vec<String> = any_window.into_iter().chain(accept).collect();
        options.join(" ")
    }

    /// As TOML. `None`: it is empty.
    fn list(&self) -> Option<String> {
        let names = self.accept.iter().map(|it| format!("\"{it}\""));
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| format!("[{}]", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_options_are_the_same_settings() {
        let of = |capabilities| {
            let all = Acceptance::of(capabilities, |_| true);
            [all.keys(), all.options()]
        };
        assert_eq!(of(Capabilities::X11), ["", ""]);
        let sway = [
            "accept = [\"pointer\", \"covered\"]",
            "--set actuator-mouse.accept='[\"pointer\", \"covered\"]'",
        ];
        assert_eq!(of(Capabilities::SWAY), sway);
        let gnome = [
            "any_window = true and accept = [\"hotkey\"]",
            "--set capture-screen.monitor=1 --set actuator-mouse.any_window=true --set actuator-mouse.accept='[\"hotkey\"]'",
        ];
        assert_eq!(of(Capabilities::MUTTER), gnome);
        let without_hotkey = Acceptance::of(Capabilities::MUTTER, |it| it != Unreported::Hotkey);
        assert_eq!(without_hotkey.keys(), "any_window = true");
        assert!(!without_hotkey.is_met_by(&[Unreported::Covered]));
        let any_window = Acceptance::of(Capabilities::MUTTER, |it| it != Unreported::Covered);
        assert!(any_window.is_met_by(&[Unreported::Hotkey]));
    }
}
