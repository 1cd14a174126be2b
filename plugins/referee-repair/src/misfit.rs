//! Whether the game seems to need another profile than those that the referee tries.

use flowpipe_plugin::puzzle::message::Profile;

/// How long strokes may draw nothing before it is reported.
const PATIENCE_NS: i64 = 2_000_000_000;

/// What to do where a person may have moved the mouse.
pub const LEAVE_MOUSE: &str =
    "leave the mouse alone while it plays, because this desktop does not report that you move it";

/// The last strokes of a board.
#[derive(Clone, Copy, Default)]
pub struct LastStrokes<'a> {
    /// Their profile.
    pub profile: Option<Profile>,
    /// Why the mouse did not play all of them.
    pub stopped: Option<&'a str>,
    /// The desktop does not report that a person moves the mouse.
    pub is_hand_unreported: bool,
}

/// Strokes that draw too little on a board. It is reported once by each instance of the stage.
#[derive(Default)]
pub struct Misfit {
    /// Since when strokes have drawn nothing more.
    since: Option<i64>,
    is_reported: bool,
}

impl Misfit {
    /// Strokes have drawn something.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// Strokes have drawn nothing more. Returns what to log, if that has lasted long enough.
    pub fn note(&mut self, strokes: LastStrokes<'_>, now: i64) -> Option<String> {
        let since = *self.since.get_or_insert(now);
        (now.saturating_sub(since) >= PATIENCE_NS).then(|| self.report(strokes))?
    }

    /// Nothing else is tried. Returns what to log, if it was not logged before.
    pub fn report(&mut self, strokes: LastStrokes<'_>) -> Option<String> {
        (!std::mem::replace(&mut self.is_reported, true)).then(|| in_words(strokes))
    }
}

fn in_words(strokes: LastStrokes<'_>) -> String {
    let LastStrokes {
        profile,
        stopped,
        is_hand_unreported,
    } = strokes;
    if let Some(reason) = stopped {
        return format!("the mouse does not play all strokes: {reason}");
    }
    let played = profile.map_or_else(String::new, |it| format!(" with profile {}", it.name()));
    let remedy = match profile {
        Some(Profile::Clicks) => "if it takes drags instead of clicks, use --profile auto",
        Some(Profile::Slow) => "if it takes clicks instead of drags, use --profile clicks",
        _ => {
            "if it takes clicks instead of drags, use --profile clicks; if it needs a slower mouse, --profile slow"
        }
    };
    let hand = match is_hand_unreported {
        true => format!("{LEAVE_MOUSE}; "),
        false => String::new(),
    };
    format!(
        "the game shows too few of the strokes{played}: {hand}{remedy} (`profile` in the config of the planner)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn strokes(profile: Option<Profile>) -> LastStrokes<'static> {
        LastStrokes {
            profile,
            ..LastStrokes::default()
        }
    }

    #[test]
    fn it_is_reported_once_after_two_seconds_without_effect() {
        let mut misfit = Misfit::default();
        let events = strokes(Some(Profile::Events));
        assert_eq!(misfit.note(events, 0), None);
        assert_eq!(misfit.note(events, SECOND), None);
        misfit.end();
        assert_eq!(misfit.note(events, 2 * SECOND), None);
        let text = misfit.note(events, 4 * SECOND).unwrap();
        assert!(text.contains("profile events"), "{text}");
        assert!(text.contains("use --profile clicks"), "{text}");
        assert!(!text.contains("leave the mouse"), "{text}");
        assert_eq!(misfit.note(events, 9 * SECOND), None);
        assert_eq!(misfit.report(events), None);
    }

    #[test]
    fn the_remedy_is_another_profile() {
        let text = |profile| Misfit::default().report(strokes(profile)).unwrap();
        assert!(text(Some(Profile::Clicks)).contains("use --profile auto"));
        assert!(!text(Some(Profile::Slow)).contains("slower"));
        assert!(text(None).contains("of the strokes: if it takes clicks"));
    }

    #[test]
    fn a_hand_that_is_not_reported_is_named_beside_the_game() {
        let unreported = LastStrokes {
            is_hand_unreported: true,
            ..strokes(Some(Profile::Slow))
        };
        let text = Misfit::default().report(unreported).unwrap();
        let words = "profile slow: leave the mouse alone while it plays, because";
        assert!(text.contains(words), "{text}");
        assert!(text.contains("use --profile clicks"), "{text}");
    }

    #[test]
    fn a_mouse_that_stops_is_reported_instead_of_the_game() {
        let stopped = LastStrokes {
            stopped: Some("the screen is off"),
            is_hand_unreported: true,
            ..strokes(Some(Profile::Slow))
        };
        let text = Misfit::default().report(stopped).unwrap();
        assert!(text.ends_with("all strokes: the screen is off"), "{text}");
        assert!(!text.contains("clicks"), "{text}");
    }
}
