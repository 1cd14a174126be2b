//! Text from elsewhere, shown so that it can't act on a terminal.
//!
//! Names, titles, paths, messages and logs come from untrusted files, plugins and windows. What is in them
//! must not move the cursor, set the window's title, write to the clipboard, hide or reorder what else is shown.
//!
//! - [`escape()`] and [`escaped()`] make one line of a foreign text, wherever it is put into one of our own.
//! - [`stdout()`] and [`stderr()`] are the way out of the program. They escape the same characters once more, and let
//!   through line feeds, tabs, and the colours and weights of [`Output`] where these are wanted: what forgot to escape a
//!   text can at worst colour it or break its line.
//!
//! [`counted()`] makes a count of a sentence.
//!
//! [`Output`] and [`escape()`] write a character as JSON writes it (`\u001b`, `\n`). JSON that goes through [`Output`] means what it meant.

pub mod counted;
pub mod escape;
pub mod output;
pub mod panic;
mod styling;

pub use counted::{counted, was};
pub use escape::{Escaped, escape, escape_block, escape_indented, escaped};
pub use output::{
    Output, are_lines_redirected, plain_stdout, print_lines, redirect_lines, set_colours, stderr,
    stderr_is_terminal, stdout, stdout_is_terminal,
};

/// Prints a line to standard error through [`print_lines()`]. As with the standard library's macro of this name, a line
/// that no reader takes is lost; unlike there, that is no panic.
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => {
        $crate::output::write_stderr(&::std::format!("{}\n", ::std::format_args!($($text)*)))
    };
}
