//! What to set in a shell that does not name its session, or another one: by the sockets that answer in the runtime folder.

/// Where the variables of a session are printed.
const PRINTED: &str =
    "a terminal of it prints them: `env | grep -E 'WAYLAND_DISPLAY|XDG_RUNTIME_DIR|SWAYSOCK'`";

/// What was found in the runtime folder.
struct Found {
    /// What a shell takes for each compositor that answers. `None`: none does.
    exports: Option<String>,
    /// Why there are none, in brackets.
    absence: String,
}

impl Found {
    #[cfg(all(feature = "wlroots", unix, not(target_os = "macos")))]
    fn running() -> Self {
        let running = flowpipe_wayland::Compositors::running();
        Self {
            exports: running.exports(),
            absence: format!(" ({})", running.absence()),
        }
    }

    #[cfg(not(all(feature = "wlroots", unix, not(target_os = "macos"))))]
    fn running() -> Self {
        Self {
            exports: None,
            absence: String::new(),
        }
    }

    fn join(&self) -> String {
        match &self.exports {
            Some(exports) => format!("set the variables of that session: {exports}"),
            None => format!(
                "set the variables of that session; {PRINTED}{}",
                self.absence
            ),
        }
    }

    fn other_socket(&self, display: &str) -> String {
        let x11 = match display {
            "" => String::new(),
            display => {
                format!(", or unset WAYLAND_DISPLAY to use the X server of DISPLAY={display}")
            }
        };
        match &self.exports {
            Some(exports) => format!("set it to a socket that answers: {exports}{x11}"),
            None => format!(
                "start flowpipe in a terminal of the desktop{x11}{}",
                self.absence
            ),
        }
    }

    fn choose(&self) -> String {
        let wayland = match &self.exports {
            Some(exports) => {
                format!("the variables of the Wayland session of this user: {exports}")
            }
            None => format!(
                "WAYLAND_DISPLAY and XDG_RUNTIME_DIR to those of a Wayland session; {PRINTED}{}",
                self.absence
            ),
        };
        format!(
            "start flowpipe in a terminal of the desktop, or set DISPLAY to a running X server (over SSH, `ssh -X` sets \
             it), or {wayland}"
        )
    }
}

/// What to set to be in a Wayland session that there is.
#[must_use]
pub fn join_wayland_session() -> String {
    Found::running().join()
}

/// What to set where nothing answers at the socket that WAYLAND_DISPLAY names.
#[must_use]
pub fn choose_socket() -> String {
    let display = std::env::var("DISPLAY").unwrap_or_default();
    Found::running().other_socket(&display)
}

/// What to set where no variable names a session.
#[must_use]
pub fn choose_session() -> String {
    Found::running().choose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Found {
        Found {
            exports: Some("`export WAYLAND_DISPLAY=wayland-1`".to_owned()),
            absence: String::new(),
        }
    }

    fn nothing() -> Found {
        Found {
            exports: None,
            absence: " (no Wayland compositor answers in /run/user/7)".to_owned(),
        }
    }

    #[test]
    fn what_was_found_can_be_pasted_and_nothing_is_made_up() {
        let export = "`export WAYLAND_DISPLAY=wayland-1`";
        for text in [found().join(), found().other_socket(""), found().choose()] {
            assert!(text.ends_with(export), "{text}");
        }
        for text in [
            nothing().join(),
            nothing().other_socket(":0"),
            nothing().choose(),
        ] {
            assert!(text.ends_with(" answers in /run/user/7)"), "{text}");
            assert!(!text.contains("export"), "{text}");
        }
        assert!(
            nothing()
                .join()
                .contains("`env | grep -E 'WAYLAND_DISPLAY|")
        );
    }

    #[test]
    fn the_x_server_is_named_where_there_is_one() {
        let x11 = "unset WAYLAND_DISPLAY to use the X server of DISPLAY=:0";
        for one in [found(), nothing()] {
            assert!(one.other_socket(":0").contains(x11));
            assert!(!one.other_socket("").contains("unset"));
            assert!(
                one.choose()
                    .contains("or set DISPLAY to a running X server")
            );
        }
    }
}
