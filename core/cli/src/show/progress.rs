//! The line or bar that tells on a terminal how far things are.

use std::time::Duration;

use flowpipe_engine::report::Progress;
use flowpipe_terminal::escape;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Fewer puzzles than this are not worth a bar.
const MANY: usize = 20;

/// How far a long list of puzzles is, as a bar on standard error; nothing where that is no terminal.
pub struct PuzzleBar(ProgressBar);

impl PuzzleBar {
    /// None of so many puzzles is done.
    pub fn new(puzzles: usize) -> Self {
        let target = if puzzles >= MANY {
            target()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(puzzles as u64), target);
        let template = "{bar:30} {pos} of {len} puzzles, {per_sec}, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// So many are done.
    pub fn update(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    /// Prints something above the bar.
    pub fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        if self.0.is_hidden() {
            return print();
        }
        self.0.suspend(print)
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn target() -> ProgressDrawTarget {
    if flowpipe_terminal::stderr_is_terminal() {
        ProgressDrawTarget::stderr_with_hz(10)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// A line on standard error, drawn in place; nothing where that is no terminal.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Begins.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Shows the counts so far.
    pub fn update(&self, progress: &Progress) {
        let stages: Vec<String> = progress
            .stages
            .iter()
            .map(|stage| match stage.failed {
                0 => format!("{} {}", escape(&stage.name), stage.emitted),
                failed => format!(
                    "{} {} ({failed} failed)",
                    escape(&stage.name),
                    stage.emitted
                ),
            })
            .collect();
        self.0
            .set_message(format!("{:.1} s  {}", progress.seconds, stages.join("  ")));
    }

    /// Shows a text.
    pub fn say(&self, text: &str) {
        self.0.set_message(escape(text).into_owned());
    }

    /// Prints something above the line.
    pub fn above(&self, print: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        self.0.suspend(print)
    }

    /// Takes the line away.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}
