//! What a pipeline can set.

use flowpipe_plugin::{Error, JsonSchema, Result};
use serde::Deserialize;

/// The most snippets of `next` and `close` together.
pub const MOST_SNIPPETS: usize = 16;
/// The most scales.
pub const MOST_SCALES: usize = 5;

/// Presses what leads on to the next board, between two boards: what it finds in the window by pictures of it
/// (snippets), a key or a place.
///
/// It acts only while no board is seen, or while the board that is seen is solved, and only on a frame that vision has
/// read so. It ends the run with an error when nothing leads on for `patience` seconds. One of `next`, `close`, `key` and
/// `place` is required.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pictures (PNG or JPEG) of what leads on to the next board, cut out of screenshots of the game: its middle is
    /// clicked where one is found. Relative to the pipeline file's folder.
    #[schemars(length(min = 1, max = 16))]
    pub next: Option<Vec<String>>,
    /// The same of what is to be closed, such as the cross of a page of help. They come before `next`.
    #[schemars(length(min = 1, max = 16))]
    pub close: Option<Vec<String>>,
    /// A key that leads on after a win, by its X11 name, such as `"Return"`. It is pressed where no snippet is found, while
    /// the solved board is seen or after it was.
    #[schemars(length(min = 1))]
    pub key: Option<String>,
    /// A place that leads on after a win, clicked under the same conditions as `key`.
    pub place: Option<Place>,
    /// How similar a part of the frame must be to a snippet: a correlation coefficient, 1 for the same.
    #[schemars(range(min = 0.5, max = 1.0))]
    pub threshold: f64,
    /// The sizes at which snippets are searched, as factors of their own, at most five.
    #[schemars(length(min = 1, max = 5), inner(range(min = 0.25, max = 4.0)))]
    pub scales: Vec<f64>,
    /// How long no board to play must be seen before something is pressed, in milliseconds.
    #[schemars(range(max = 60_000))]
    pub settle_ms: u32,
    /// How long the game may take to react to a press, in milliseconds. Only later frames are searched for the next one.
    #[schemars(range(max = 60_000))]
    pub react_ms: u32,
    /// The most presses between two boards.
    #[schemars(range(min = 1, max = 100))]
    pub presses: u32,
    /// End the run with an error when no board to play follows within so many seconds of the last press, or of the time
    /// from which on no board was seen.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub patience: f64,
}

/// A place in the window.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Share of the frame's width from its left edge, 0 to less than 1.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub x: f64,
    /// Share of the frame's height from its upper edge, 0 to less than 1.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub y: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            next: None,
            close: None,
            key: None,
            place: None,
            threshold: 0.9,
            scales: vec![1.0],
            settle_ms: 400,
            react_ms: 800,
            presses: 10,
            patience: 30.0,
        }
    }
}

impl Config {
    /// The snippets' files: those to close first.
    pub fn snippets(&self) -> impl Iterator<Item = &String> {
        let close = self.close.iter().flatten();
        close.chain(self.next.iter().flatten())
    }

    /// Finds what can't be meant.
    ///
    /// # Errors
    /// What is wrong, naming the key.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::bad_config(text));
        let snippets = self.snippets().count();
        if snippets == 0 && self.key.is_none() && self.place.is_none() {
            return wrong("there is nothing to press: set next, close, key or place".to_owned());
        }
        if snippets > MOST_SNIPPETS {
            return wrong(format!(
                "next and close have {snippets} pictures, the most are {MOST_SNIPPETS}"
            ));
        }
        if !(0.5..=1.0).contains(&self.threshold) {
            return wrong("threshold must be 0.5 to 1".to_owned());
        }
        let are_scales = self.scales.iter().all(|it| (0.25..=4.0).contains(it));
        if !are_scales || !(1..=MOST_SCALES).contains(&self.scales.len()) {
            return wrong(format!(
                "scales must be 1 to {MOST_SCALES} factors from 0.25 to 4"
            ));
        }
        if let Some(Place { x, y }) = self.place
            && ![x, y].iter().all(|share| (0.0..1.0).contains(share))
        {
            return wrong("x and y of place must be shares from 0 to less than 1".to_owned());
        }
        if self.key.as_ref().is_some_and(String::is_empty) {
            return wrong("key is empty: give a name, such as \"Return\"".to_owned());
        }
        if !(1..=100).contains(&self.presses) {
            return wrong("presses must be 1 to 100".to_owned());
        }
        if self.settle_ms > 60_000 || self.react_ms > 60_000 {
            return wrong("settle_ms and react_ms must be at most 60000".to_owned());
        }
        if !(self.patience > 0.0 && self.patience <= 86_400.0) {
            return wrong("patience must be more than 0 and at most 86400 seconds".to_owned());
        }
        Ok(())
    }
}
