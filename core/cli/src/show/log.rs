//! The log on standard error.

use std::fmt::{self, Debug};

use flowpipe_terminal::escape;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use crate::args::Global;
use crate::show::colour;

/// What a command prints of the problems of its runs.
#[derive(Clone, Copy)]
pub enum Prints {
    /// Each problem.
    Problems,
    /// What became of each puzzle or picture.
    Failures,
    /// It has no runs.
    Nothing,
}

/// Sends `tracing` to standard error: warnings, with `-v` information, with `-vv` everything.
/// `FLOWPIPE_LOG` sets it by target, in the syntax of `RUST_LOG`. What a command prints of its runs itself is not logged.
pub fn start(global: &Global, prints: Prints) {
    // The warnings of the window library are about the desktop. What the Wayland library logs, its errors say too.
    let default = match (global.verbose, prints) {
        (0, Prints::Problems) => {
            "warn,winit=error,wayland_backend=off,flowpipe_engine::run::shared=off"
        }
        (0, Prints::Failures) => "warn,winit=error,wayland_backend=off,flowpipe_engine::run=off",
        (0, Prints::Nothing) => "warn,winit=error,wayland_backend=off",
        (1, _) => "info",
        _ => "debug",
    };
    let wanted = std::env::var("FLOWPIPE_LOG").ok();
    let parsed = wanted.as_deref().map(EnvFilter::try_new);
    let (filter, error) = match parsed {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(default), Some(error)),
        None => (EnvFilter::new(default), None),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .fmt_fields(debug_fn(field).delimited(" "))
        .with_writer(flowpipe_terminal::stderr)
        .with_ansi(colour::on_stderr(global))
        .without_time()
        .init();
    if let Some(error) = error {
        tracing::warn!(
            "FLOWPIPE_LOG is not used: {error}; write it as TARGET=LEVEL, such as flowpipe_engine=debug"
        );
    }
}

/// A field, escaped: it may contain text of plugins and files.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let text = format!("{value:?}");
    let text = escape(&text);
    match field.name() {
        "message" => write!(writer, "{text}"),
        name => write!(writer, "{name}={text}"),
    }
}
