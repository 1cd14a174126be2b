//! `flowpipe play`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use flowpipe_game::kind::{KINDS, Kind};
use flowpipe_game::render::Theme;
use flowpipe_game::session::Size;

/// The arguments of `flowpipe play`.
#[derive(Debug, Args)]
pub struct Play {
    /// Files of puzzles, played in their order, in any format that `solve` reads. Without files,
    /// boards are generated.
    pub files: Vec<PathBuf>,
    /// The size of generated boards, columns x rows or one number: 4 to 18 each. Several,
    /// separated by commas, alternate.
    #[arg(
        long,
        default_value = "5",
        value_delimiter = ',',
        value_name = "SIZE",
        conflicts_with = "files"
    )]
    pub size: Vec<Size>,
    /// The same seed gives the same boards, and drops the same moves.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// Play a time trial of this length, such as 30s. It starts with the first press.
    #[arg(long, value_name = "DURATION")]
    pub time_trial: Option<String>,
    /// Look and behave like a game of another kind.
    #[arg(long, value_name = "KIND", value_parser = kind(), conflicts_with = "terminal")]
    pub like: Option<&'static Kind>,
    /// How the game reads its input: `frames`, unless --like changes it.
    #[arg(long, value_enum)]
    pub input: Option<PlayInput>,
    /// Start a drag only once the pointer has moved this many pixels inside of the pressed cell.
    /// Not with --input clicks.
    #[arg(long, default_value_t = 0.0, value_name = "PIXELS", value_parser = pixels, conflicts_with = "terminal")]
    pub nudge: f64,
    /// Drop this share of the pointer's moves, from 0 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share)]
    pub drop: f64,
    /// Log the game into this file, as JSON Lines: pointer events, what they drew, and when boards were solved.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The window's size in pixels, width x height: 600x1067, unless --like changes it.
    #[arg(long, value_name = "SIZE", value_parser = window_size)]
    pub window: Option<(u32, u32)>,
    /// The theme of the window: discs on dark or light, blocks, letters in the discs, or Numberlink's numbers on paper.
    /// It is `dark`, unless --like changes it.
    #[arg(long, value_parser = theme(), conflicts_with = "terminal")]
    pub theme: Option<Theme>,
    /// Play in this terminal, with the mouse or the keyboard: arrows or h j k l move the cursor,
    /// Enter or space picks up a pipe and releases it.
    #[arg(long, conflicts_with = "window")]
    pub terminal: bool,
}

/// How the game reads its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlayInput {
    /// Every event as it arrives, without interpolation: jumps are lost.
    Events,
    /// Samples the pointer once a frame, 60 times a second, with straight lines between samples.
    Frames,
    /// The same, but only lines along a row or a column; other lines are lost.
    Straight,
    /// Samples as often, with nothing between two samples: jumps are lost.
    Samples,
    /// A click picks up a pipe, the pointer draws without a button, a second click releases it.
    Clicks,
}

fn kind() -> impl TypedValueParser<Value = &'static Kind> {
    let values = KINDS
        .iter()
        .map(|kind| PossibleValue::new(kind.name).help(kind.summary));
    PossibleValuesParser::new(values)
        .try_map(|name| Kind::named(&name).ok_or_else(|| format!("no kind is called {name}")))
}

fn theme() -> impl TypedValueParser<Value = Theme> {
    PossibleValuesParser::new(Theme::all().map(Theme::name)).try_map(|name| name.parse())
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn pixels(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|pixels| (0.0..=1000.0).contains(pixels))
        .ok_or_else(|| "expected a number of pixels from 0 to 1000".to_owned())
}

fn window_size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (100..=8192).contains(side));
    text.split_once('x')
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or_else(|| "expected width x height such as 600x1067, each from 100 to 8192".to_owned())
}
