//! Tests of the whole program: the real binary on real pipelines.
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../support/boards.rs"]
mod boards;
#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/edited.rs"]
mod edited;
#[path = "../fuzz/edits.rs"]
mod edits;
#[path = "../fuzz/entries.rs"]
mod entries;
#[path = "../support/live_play.rs"]
mod live_play;
#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/screen.rs"]
mod screen;

mod c;
mod capture_screen;
mod chapter;
mod cli;
mod compare;
mod convert;
mod exec;
#[cfg(unix)]
mod files;
mod flight;
mod foxglove;
#[cfg(target_os = "linux")]
mod fuzz_commands;
mod generate;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod hostile_bounds;
mod hostile_recordings;
#[cfg(unix)]
mod hostile_text;
#[cfg(target_os = "linux")]
mod hostile_work;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(unix)]
mod isolation;
#[cfg(unix)]
mod live;
#[cfg(unix)]
mod loading;
mod new;
mod outlive;
mod plan;
mod play;
mod plugin_check;
#[cfg(unix)]
mod profiles;
mod record;
#[cfg(unix)]
mod recorder;
mod replay;
mod report;
mod run;
mod see;
mod solve;
mod solvers;
#[cfg(unix)]
mod swap;
mod terminal;
#[cfg(unix)]
mod top;
mod trace;
