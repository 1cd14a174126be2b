//! Panics of the program itself, reported as everything else is.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::PanicHookInfo;

use crate::escape::{escape, escape_indented};
use crate::output::stderr;

/// Reports panics through [`stderr()`](crate::stderr()) from now on: their text may hold a foreign one, and a thread
/// may be named by it. They are not redirected as lines are: what takes those may be what has panicked.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        // There is nowhere left to report it.
        let _ = stderr().write_all(report(info).as_bytes());
    }));
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = escape(thread.name().unwrap_or("<unnamed>")).into_owned();
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let text = info.payload_as_str().unwrap_or("a value that is no text");
    let text = escape_indented(text);
    let mut report = format!(
        "\nthread '{name}' panicked at {}:\n  {text}\n",
        escape(&place)
    );
    // Only where RUST_BACKTRACE asks for it.
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        report += &format!("stack backtrace:\n{trace}\n");
    }
    report
}
