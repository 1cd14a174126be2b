//! `flowpipe play`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use flowpipe_game::render::Theme;
use flowpipe_game::session::Size;

/// What `flowpipe play` takes.
#[derive(Debug, Args)]
pub struct Play {
    /// Files of puzzles, played in their order, in every form that `solve` takes. Without files,
    /// boards are generated.
    pub files: Vec<PathBuf>,
    /// The size of generated boards, columns x rows or one number: 4 to 18 each. Several with
    /// commas between take turns.
    #[arg(
        long,
        default_value = "5",
        value_delimiter = ',',
        value_name = "SIZE",
        conflicts_with = "files"
    )]
    pub size: Vec<Size>,
    /// The same seed gives the same boards, and loses the same moves.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// Play against the clock for this long, such as 30s. It runs from the first press.
    #[arg(long, value_name = "DURATION")]
    pub time_trial: Option<String>,
    /// How the game takes its input.
    #[arg(long, value_enum, default_value_t = PlayInput::Frames)]
    pub input: PlayInput,
    /// Begin a drag only once the pointer has moved so many pixels inside of the cell that it pressed.
    /// Not with --input clicks.
    #[arg(long, default_value_t = 0.0, value_name = "PIXELS", value_parser = pixels, conflicts_with = "terminal")]
    pub nudge: f64,
    /// Lose this share of the pointer's moves, from 0 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share)]
    pub drop: f64,
    /// Write what the game sees into this file, as JSON lines: pointer events, what they drew, and
    /// when boards were solved.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The window's size in pixels, width x height.
    #[arg(long, default_value = "600x1067", value_name = "SIZE", value_parser = window_size)]
    pub window: (u32, u32),
    /// What the window's boards are dressed in: discs on dark or light, blocks, letters in the discs, or
    /// Numberlink's numbers on paper.
    #[arg(long, default_value_t, value_parser = theme(), conflicts_with = "terminal")]
    pub theme: Theme,
    /// Play in this terminal, with the mouse or the keyboard: arrows or h j k l move the cursor,
    /// Enter or space picks a pipe up and lets it go.
    #[arg(long, conflicts_with = "window")]
    pub terminal: bool,
}

/// How the game takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlayInput {
    /// Every event as it arrives, and nothing between: jumps are lost.
    Events,
    /// One look at the pointer a frame, 60 a second, with the straight line between two looks.
    Frames,
    /// The same, but only lines along a row or a column: what lies between other looks is lost.
    Straight,
    /// A click takes a pipe up, the pointer draws without a button, a second click puts it down.
    Clicks,
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
