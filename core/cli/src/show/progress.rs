//! The line that tells on a terminal what goes on.

use std::io::IsTerminal;
use std::time::Duration;

use flowpipe_runtime::report::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line on standard error, drawn in place; nothing where that is no terminal.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Begins.
    pub fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
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
                0 => format!("{} {}", stage.name, stage.emitted),
                failed => format!("{} {} ({failed} failed)", stage.name, stage.emitted),
            })
            .collect();
        self.0
            .set_message(format!("{:.1} s  {}", progress.seconds, stages.join("  ")));
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
