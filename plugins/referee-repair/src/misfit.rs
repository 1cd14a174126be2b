//! Whether the game seems to need another profile than those that the referee tries.

use flowpipe_plugin::puzzle::message::Profile;

/// How long strokes may draw nothing before it is reported.
const PATIENCE_NS: i64 = 2_000_000_000;

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

    /// Strokes of a profile have drawn nothing more. `stopped`: why the mouse did not play all of them. Returns what to log, if that has lasted long enough.
    pub fn note(
        &mut self,
        profile: Option<Profile>,
        stopped: Option<&str>,
        now: i64,
    ) -> Option<String> {
        let since = *self.since.get_or_insert(now);
        (now.saturating_sub(since) >= PATIENCE_NS).then(|| self.report(profile, stopped))?
    }

    /// Nothing else is tried. Returns what to log, if it was not logged before.
    pub fn report(&mut self, profile: Option<Profile>, stopped: Option<&str>) -> Option<String> {
        (!std::mem::replace(&mut self.is_reported, true)).then(|| in_words(profile, stopped))
    }
}

fn in_words(profile: Option<Profile>, stopped: Option<&str>) -> String {
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
    format!(
        "the game shows too few of the strokes{played}: {remedy} (`profile` in the config of the planner)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn it_is_reported_once_after_two_seconds_without_effect() {
        let mut misfit = Misfit::default();
        let events = Some(Profile::Events);
        assert_eq!(misfit.note(events, None, 0), None);
        assert_eq!(misfit.note(events, None, SECOND), None);
        misfit.end();
        assert_eq!(misfit.note(events, None, 2 * SECOND), None);
        let text = misfit.note(events, None, 4 * SECOND).unwrap();
        assert!(text.contains("profile events"), "{text}");
        assert!(text.contains("use --profile clicks"), "{text}");
        assert_eq!(misfit.note(events, None, 9 * SECOND), None);
        assert_eq!(misfit.report(events, None), None);
    }

    #[test]
    fn the_remedy_is_another_profile() {
        let text = |profile| Misfit::default().report(profile, None).unwrap();
        assert!(text(Some(Profile::Clicks)).contains("use --profile auto"));
        assert!(!text(Some(Profile::Slow)).contains("slower"));
        assert!(text(None).contains("of the strokes: if it takes clicks"));
    }

    #[test]
    fn a_mouse_that_stops_is_reported_instead_of_the_game() {
        let text = Misfit::default().report(Some(Profile::Slow), Some("the screen is off"));
        let text = text.unwrap();
        assert!(text.ends_with("all strokes: the screen is off"), "{text}");
        assert!(!text.contains("clicks"), "{text}");
    }
}
