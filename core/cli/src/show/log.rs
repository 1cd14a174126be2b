//! The log on standard error.

use std::fmt::{self, Debug};
use std::io;

use flowpipe_terminal::{escape, escape_indented};
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use crate::args::{Global, LogFormat};
use crate::show::colour::{self, BAD, paint};

/// The target of what is printed on standard error otherwise.
const LINES: &str = "flowpipe::lines";

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
/// `FLOWPIPE_LOG` sets it by target, in the syntax of `RUST_LOG`. What a command prints of its runs itself is not logged by
/// others.
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
    let log = tracing_subscriber::fmt()
        .with_writer(flowpipe_terminal::stderr)
        // What can't be written is lost. It would be reported on standard error too, and panic where that can't.
        .log_internal_errors(false);
    match global.log_format {
        LogFormat::Text => log
            .with_env_filter(filter)
            .fmt_fields(debug_fn(field).delimited(" "))
            .with_ansi(colour::on_stderr(global))
            .without_time()
            .init(),
        LogFormat::Json => {
            log.with_env_filter(with_lines(filter))
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .init();
            flowpipe_terminal::redirect_lines(|line| tracing::info!(target: LINES, "{line}"));
        }
    }
    if let Some(error) = error {
        tracing::warn!(
            "FLOWPIPE_LOG is not used: {error}; write it as TARGET=LEVEL, such as flowpipe_engine=debug"
        );
    }
}

/// Prints why the program ends.
pub fn failure(reason: &str) {
    match flowpipe_terminal::are_lines_redirected() {
        true => tracing::error!(target: LINES, "{reason}"),
        false => flowpipe_terminal::eprintln!("flowpipe: {reason}"),
    }
}

/// Logs an error that is printed in another form: in a log for programs it is an event of its own.
pub fn printed_error(reason: &str) {
    if flowpipe_terminal::are_lines_redirected() {
        tracing::error!(target: LINES, "{reason}");
    }
}

/// Logs a warning that is printed in another form. Returns whether it was logged: that takes a log for programs.
pub fn printed_warning(text: &str) -> bool {
    let is_logged = flowpipe_terminal::are_lines_redirected();
    if is_logged {
        tracing::warn!(target: LINES, "{text}");
    }
    is_logged
}

/// Prints a problem of a run.
///
/// # Errors
/// When standard error is closed.
pub fn problem(problem: &str, colours: bool) -> io::Result<()> {
    if flowpipe_terminal::are_lines_redirected() {
        tracing::warn!(target: LINES, "{problem}");
        return Ok(());
    }
    let word = paint("problem:", BAD, colours);
    flowpipe_terminal::print_lines(&format!("{word} {}\n", escape_indented(problem)))
}

/// A filter that lets through what is printed.
fn with_lines(filter: EnvFilter) -> EnvFilter {
    match format!("{LINES}=info").parse() {
        Ok(directive) => filter.add_directive(directive),
        // It is written as the directives above are.
        Err(_) => filter,
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
