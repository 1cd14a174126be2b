//! The styles of the output, and whether to use them.

use anstyle::{AnsiColor, Style};
use flowpipe_terminal::escape;

use crate::args::{Colour, Global, LogFormat};

/// Whether standard output takes colours.
pub fn on_stdout(global: &Global) -> bool {
    wanted(global.color, flowpipe_terminal::stdout_is_terminal())
}

/// Whether standard error takes colours.
pub fn on_stderr(global: &Global) -> bool {
    global.log_format == LogFormat::Text
        && wanted(global.color, flowpipe_terminal::stderr_is_terminal())
}

/// Whether standard output and standard error take colours, if the command line can't be parsed.
pub fn by_terminal() -> (bool, bool) {
    let auto = |is_terminal| wanted(Colour::Auto, is_terminal);
    (
        auto(flowpipe_terminal::stdout_is_terminal()),
        auto(flowpipe_terminal::stderr_is_terminal()),
    )
}

fn wanted(colour: Colour, is_terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        // https://no-color.org: set and not empty.
        Colour::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()),
    }
}

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Secondary text.
pub const QUIET: Style = Style::new().dimmed();
/// A heading.
pub const HEADING: Style = Style::new().bold();

/// Escapes a text, and styles it if `colours`.
pub fn paint(text: &str, style: Style, colours: bool) -> String {
    let text = escape(text);
    if colours {
        format!("{style}{text}{style:#}")
    } else {
        text.into_owned()
    }
}
