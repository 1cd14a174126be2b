//! The log on standard error.

use std::fmt::{self, Debug};

use flowpipe_terminal::escape;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use crate::args::Global;
use crate::show::colour;

/// Sends `tracing` to standard error: warnings, with `-v` information, with `-vv` everything.
/// `FLOWPIPE_LOG` sets it by target, in the syntax of `RUST_LOG`. A command with `reports_problems` prints the
/// problems of its runs itself: they are not logged.
pub fn start(global: &Global, reports_problems: bool) {
    let default = match global.verbose {
        // The warnings of the window library are about the desktop.
        0 if reports_problems => "warn,winit=error,flowpipe_engine::run=off",
        0 => "warn,winit=error",
        1 => "info",
        _ => "debug",
    };
    let filter =
        EnvFilter::try_from_env("FLOWPIPE_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .fmt_fields(debug_fn(field).delimited(" "))
        .with_writer(flowpipe_terminal::stderr)
        .with_ansi(colour::on_stderr(global))
        .without_time()
        .init();
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
