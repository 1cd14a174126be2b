//! Reading a pipeline file, with its errors on standard error.

use std::path::Path;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::{self, ConfigError};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_terminal::output::write_stderr;

use crate::args::Global;
use crate::exit::Failure;
use crate::input;
use crate::show::colour;

/// A pipeline, and the text of its file: a pipe can't be read again.
pub struct Written {
    pub pipeline: Pipeline,
    pub text: String,
}

/// Reads a pipeline; the inner `Err` are the errors in it.
///
/// # Errors
/// When the file itself can't be read.
pub fn read(
    file: &Path,
    catalogue: &Catalogue,
) -> Result<Result<Written, Vec<ConfigError>>, Failure> {
    // One byte more says that the file is too large.
    let bytes = input::read_first(file, reader::MAX_BYTES as u64 + 1)?;
    let read = reader::read_bytes(&file.display().to_string(), &bytes, catalogue);
    // Text, where no error says otherwise.
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    Ok(read.map(|pipeline| Written {
        pipeline,
        text: text(),
    }))
}

/// Reads a pipeline, or shows what is wrong with it and gives `None`.
///
/// # Errors
/// When the file itself can't be read.
pub fn read_or_show(
    file: &Path,
    catalogue: &Catalogue,
    global: &Global,
) -> Result<Option<Written>, Failure> {
    Ok(match read(file, catalogue)? {
        Ok(written) => Some(written),
        Err(errors) => {
            show(errors, global);
            None
        }
    })
}

/// Shows errors as people read them: file:line:column, the line, a caret and a suggestion.
pub fn show(errors: Vec<ConfigError>, global: &Global) {
    write_stderr(&told(errors, colour::on_stderr(global)));
}

/// Errors as [`show`] shows them.
pub fn told(errors: Vec<ConfigError>, colours: bool) -> String {
    let theme = if colours {
        miette::GraphicalTheme::unicode()
    } else {
        miette::GraphicalTheme::unicode_nocolor()
    };
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_links(false);
    let mut all = String::new();
    for error in errors {
        let mut text = String::new();
        // Writing to a String can't fail; should rendering fail, the bare message is left.
        if handler.render_report(&mut text, &error).is_err() {
            text = format!("{error}\n");
        }
        // A byte order mark takes no room, and its escape would: the caret is below what it points to.
        all += &text.replace('\u{feff}', "");
    }
    all
}
