//! What a pipeline can set.

use flowpipe_desktop::{DesktopChoice, Unreported};
use flowpipe_plugin::puzzle::gestures::Drags;
use flowpipe_plugin::puzzle::message::{Manner, Pace};
use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::Deserialize;

/// Plays gestures and strokes with the real mouse: presses, drags, releases, clicks, keys. Connect one of its inputs.
///
/// It acts only inside the bounds of the gestures (with strokes: the board that was seen), only while the window is where
/// it was and nothing covers the bounds, and only on what was captured a moment ago. It lets go and ends the run as
/// soon as a person moves the mouse, throws the pointer into a corner of the screen, or presses the
/// hotkey; and lets go when the run ends for whatever reason.
///
/// How fast, and whether by drags or by clicks, the planner decides by what the program under the pointer needs. On boards
/// that warp the pointer leaves the board by up to a cell, but never its window.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How fast to draw strokes, instead of as the planner decides.
    pub pace: Option<Pace>,
    /// Whether the button stays down through a whole stroke.
    pub drags: Drags,
    /// Play only what was captured within the last so many milliseconds.
    pub max_age_ms: u64,
    /// The key that ends the run at once, by its X11 name, such as "F12", "Escape" or "Pause"; "" for
    /// none. Only X11 and sway report it: elsewhere, set it to "" or accept that.
    pub hotkey: String,
    /// End the run when the pointer is in a corner of the screen.
    pub corners: bool,
    /// End the run when the pointer is not where it was put last: a person moves it.
    pub by_hand: bool,
    /// Play on what was captured from a monitor or a region too, where it is unknown whether the
    /// board's window is in front. Otherwise capture-screen has to be given a window.
    pub any_window: bool,
    /// What this desktop does not report, and you accept: without it, a run that would rely on that does not start.
    /// X11 reports all of it.
    #[schemars(extend("examples" = [["pointer", "covered"]]))]
    pub accept: Vec<Unreported>,
    /// Which way to the desktop is used. Set capture-screen to the same: on frames of another desktop nothing is played.
    pub desktop: DesktopChoice,
    /// Send input through libei where GNOME or the desktop portal offers it. Set it to false if that does not work: then the
    /// older methods of their RemoteDesktop are used.
    pub libei: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pace: None,
            drags: Drags::default(),
            max_age_ms: 300,
            hotkey: "F12".to_owned(),
            corners: true,
            by_hand: true,
            any_window: false,
            accept: Vec::new(),
            desktop: DesktopChoice::Auto,
            libei: true,
        }
    }
}

impl Config {
    /// Finds what can't be meant.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        self.pace
            .map_or(Ok(()), |pace| check(&pace))
            .map_err(Error::bad_config)
    }

    /// How to play strokes that are to be played in a manner.
    ///
    /// # Errors
    /// When that can't be meant.
    pub fn manner(&self, asked: Option<Manner>) -> Result<Manner> {
        let mut manner = asked.unwrap_or_default();
        manner.pace = self.pace.unwrap_or(manner.pace);
        let nudge = manner.nudge;
        let judged = if (0.0..=1.0).contains(&nudge) {
            check(&manner.pace)
        } else {
            Err(format!("nudge is {nudge}, it must be 0 to 1 cell"))
        };
        judged
            .map(|()| manner)
            .map_err(|wrong| Error::bad_message(format!("strokes that can't be played: {wrong}")))
    }
}

/// What is wrong with a pace.
fn check(pace: &Pace) -> std::result::Result<(), String> {
    let Pace {
        step,
        dwell_ms,
        ends_ms,
        repeats,
        until_shown_ms,
    } = *pace;
    if let Some(step) = step.filter(|step| !Pace::STEPS.contains(step)) {
        return Err(format!("pace.step is {step}, it must be 0.05 to 1 cell"));
    }
    let time = |ms: f64| (0.0..=10_000.0).contains(&ms);
    if ![dwell_ms, ends_ms, until_shown_ms].into_iter().all(time) {
        return Err(
            "pace.dwell_ms, pace.ends_ms and pace.until_shown_ms must be 0 to 10000".to_owned(),
        );
    }
    if !(1..=20).contains(&repeats) {
        return Err(format!("pace.repeats is {repeats}, it must be 1 to 20"));
    }
    Ok(())
}
