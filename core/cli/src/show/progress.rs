//! The progress line and the progress bar.

use std::time::Duration;

use flowpipe_engine::report::Progress;
use flowpipe_terminal::escape;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Fewer puzzles than this get no bar.
const MANY: usize = 20;

/// The progress of a long list of puzzles, as a line on standard error, and as a bar once it is known how many there are;
/// hidden if that is not a terminal.
pub struct PuzzleBar {
    bar: ProgressBar,
    is_shown: bool,
    is_complete: bool,
}

impl PuzzleBar {
    /// Shows nothing yet.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        set_template(&bar, "{pos} puzzles, {per_sec}");
        Self {
            bar,
            is_shown: false,
            is_complete: false,
        }
    }

    /// Sets how many are done, of those that there are so far. `is_complete`: these are all.
    pub fn update(&mut self, done: usize, puzzles: usize, is_complete: bool) {
        if puzzles >= MANY && !self.is_shown {
            self.is_shown = true;
            self.bar.set_draw_target(target());
        }
        if is_complete && !self.is_complete {
            self.is_complete = true;
            self.bar.set_length(puzzles as u64);
            let template = "{bar:30} {pos} of {len} puzzles, {per_sec}, {eta} to go";
            set_template(&self.bar, template);
        }
        self.bar.set_position(done as u64);
    }

    /// Prints something above the bar.
    pub fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        if self.bar.is_hidden() {
            return print();
        }
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

fn target() -> ProgressDrawTarget {
    let is_drawn = flowpipe_terminal::stderr_is_terminal();
    if is_drawn && !flowpipe_terminal::are_lines_redirected() {
        ProgressDrawTarget::stderr_with_hz(10)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// A line on standard error, drawn in place; hidden if that is not a terminal.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Shows an empty line.
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
    pub fn set(&self, text: &str) {
        self.0.set_message(escape(text).into_owned());
    }

    /// Prints something above the line.
    pub fn above(&self, print: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        self.0.suspend(print)
    }

    /// Removes the line.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}
