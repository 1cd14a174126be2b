//! Whether to use colours, and the few that are used.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

use crate::args::{Colour, Global};

/// Whether standard output takes colours.
pub fn on_stdout(global: &Global) -> bool {
    wanted(global.color, std::io::stdout().is_terminal())
}

/// Whether standard error takes colours.
pub fn on_stderr(global: &Global) -> bool {
    wanted(global.color, std::io::stderr().is_terminal())
}

fn wanted(colour: Colour, is_terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        // https://no-color.org: set and not empty.
        Colour::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()),
    }
}

/// Good news.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Bad news.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Less important.
pub const QUIET: Style = Style::new().dimmed();
/// A heading.
pub const HEADING: Style = Style::new().bold();

/// A text in a style, where colours are wanted.
pub fn paint(text: &str, style: Style, colours: bool) -> String {
    if colours {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}
