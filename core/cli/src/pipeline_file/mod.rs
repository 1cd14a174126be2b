//! Reads a pipeline file, and shows its errors on standard error.
//!
//! # Layout
//! [`place`]: where the file is. [`paths`]: the relative paths in it. [`named_files`]: the files that it names.
//! [`scripts`]: the files of commands. [`settings`]: config values of the command line.

pub mod named_files;
mod paths;
mod place;
pub mod scripts;
pub mod settings;

use std::path::{Path, PathBuf};

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::pipeline_test::PipelineTest;
use flowpipe_config::reader::{self, ConfigError, Expressions, Setting, Surroundings};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_terminal::output::write_stderr;
use named_files::NamedFiles;
pub use place::find;

use crate::args::Global;
use crate::exit::Failure;
use crate::input;
use crate::pipeline_test::Folder;
use crate::show::{colour, log};

/// A pipeline and the text of its file: a pipe can't be read twice.
pub struct PipelineFile {
    pub pipeline: Pipeline,
    pub text: String,
}

/// What was read of a pipeline file.
pub enum ReadFile {
    /// All of it.
    Valid(PipelineFile),
    /// It has errors, which were shown. What it says without its plugins, if that is valid.
    Wrong(Option<PipelineFile>),
}

/// A pipeline and its tests.
pub struct TestedFile {
    pub path: PathBuf,
    pub pipeline: Pipeline,
    pub tests: Vec<PipelineTest>,
    /// Where the relative paths of the tests start.
    pub folder: Folder,
}

impl PipelineFile {
    fn new(pipeline: Pipeline, bytes: &[u8]) -> Self {
        // Valid UTF-8, unless there are errors in its syntax.
        let text = String::from_utf8_lossy(bytes).into_owned();
        Self { pipeline, text }
    }
}

/// Compiles expressions as tests do.
struct Compiled;

impl Expressions for Compiled {
    fn check(&self, text: &str) -> Result<(), String> {
        let compiled = flowpipe_jq::Expression::compile(text);
        compiled.map(drop).map_err(|error| error.to_string())
    }
}

/// Reads a pipeline with its tests. Relative paths in the pipeline and in the configs of tests are resolved. The inner
/// `Err` holds the errors in the file.
///
/// # Errors
/// When the file itself can't be read.
pub fn read_tested(
    file: &Path,
    catalogue: &Catalogue,
) -> Result<Result<TestedFile, Vec<ConfigError>>, Failure> {
    let bytes = bytes(file)?;
    let base = paths::base(file);
    let surroundings = Surroundings {
        plugins: catalogue,
        settings: &[],
        files: &NamedFiles::of(base.as_deref()),
        tests: Some(&Compiled),
    };
    let read = reader::read_tested(&file.display().to_string(), &bytes, surroundings);
    Ok(read.map(|(mut pipeline, mut tests)| {
        if let Some(base) = &base {
            paths::resolve_tests(&mut tests, &pipeline, base, catalogue);
            paths::resolve(&mut pipeline, base, catalogue);
        }
        TestedFile {
            path: file.to_owned(),
            pipeline,
            tests,
            folder: Folder(base),
        }
    }))
}

/// Reads a pipeline, with config values that are set besides those of the file. Relative paths in it are resolved. The
/// inner `Err` holds the errors in the file and in the settings.
///
/// # Errors
/// When the file itself can't be read.
pub fn read(
    file: &Path,
    catalogue: &Catalogue,
    settings: &[Setting],
) -> Result<Result<PipelineFile, Vec<ConfigError>>, Failure> {
    Ok(read_from(file, &bytes(file)?, catalogue, settings))
}

/// Reads the bytes of a pipeline file: see [`read`].
fn read_from(
    file: &Path,
    bytes: &[u8],
    catalogue: &Catalogue,
    settings: &[Setting],
) -> Result<PipelineFile, Vec<ConfigError>> {
    let base = paths::base(file);
    let files = NamedFiles::of(base.as_deref());
    let name = file.display().to_string();
    let read = reader::read_bytes(&name, bytes, catalogue, settings, &files);
    read.map(|mut pipeline| {
        if let Some(base) = &base {
            paths::resolve(&mut pipeline, base, catalogue);
        }
        scripts::note(&mut pipeline, catalogue);
        PipelineFile::new(pipeline, bytes)
    })
}

/// Reads a pipeline, or shows its errors and returns what the file says without its plugins.
///
/// # Errors
/// When the file itself can't be read.
pub fn read_or_outline(
    file: &Path,
    catalogue: &Catalogue,
    settings: &[Setting],
    global: &Global,
) -> Result<ReadFile, Failure> {
    // Once: a pipe can't be read twice.
    let bytes = bytes(file)?;
    Ok(match read_from(file, &bytes, catalogue, settings) {
        Ok(file) => ReadFile::Valid(file),
        Err(errors) => {
            show(errors, global);
            let outline = reader::read_outline(&bytes);
            ReadFile::Wrong(outline.map(|mut outline| {
                if let Some(base) = paths::base(file) {
                    paths::resolve(&mut outline, &base, catalogue);
                }
                PipelineFile::new(outline, &bytes)
            }))
        }
    })
}

/// The bytes of a file, if it may be a pipeline.
fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    // One byte more shows that the file is too large.
    let bytes = input::read_first(file, reader::MAX_BYTES as u64 + 1)?;
    if bytes.starts_with(flowpipe_recording::MAGIC) {
        return Err(Failure::BadText(format!(
            "{}: this is a recording, and no pipeline: `flowpipe report` shows what it contains",
            file.display()
        )));
    }
    Ok(bytes)
}

/// Reads a pipeline, or shows its errors and returns `None`.
///
/// # Errors
/// When the file itself can't be read.
pub fn read_or_show(
    file: &Path,
    catalogue: &Catalogue,
    settings: &[Setting],
    global: &Global,
) -> Result<Option<PipelineFile>, Failure> {
    Ok(match read(file, catalogue, settings)? {
        Ok(file) => Some(file),
        Err(errors) => {
            show(errors, global);
            None
        }
    })
}

/// Prints errors: file:line:column, the line, a caret and a suggestion.
pub fn show(errors: Vec<ConfigError>, global: &Global) {
    log_errors(&errors);
    write_stderr(&rendered(errors, colour::on_stderr(global)));
}

/// The most errors that are printed of a file.
const MOST_SHOWN: usize = 50;

/// Logs errors that are printed in another form, each by itself, in a log for programs.
pub fn log_errors(errors: &[ConfigError]) {
    for error in errors.iter().take(MOST_SHOWN) {
        log::printed_error(&error.to_string());
    }
}

/// Errors as [`show`] prints them.
pub fn rendered(errors: Vec<ConfigError>, colours: bool) -> String {
    let theme = if colours {
        miette::GraphicalTheme::unicode()
    } else {
        miette::GraphicalTheme::unicode_nocolor()
    };
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_links(false);
    let mut all = String::new();
    let more = errors.len().saturating_sub(MOST_SHOWN);
    for error in errors.into_iter().take(MOST_SHOWN) {
        let mut text = String::new();
        // Writing to a String can't fail; if rendering fails, only the message is printed.
        if handler.render_report(&mut text, &error).is_err() {
            text = format!("{error}\n");
        }
        // A byte order mark has no width, and its escape would shift the caret.
        all += &text.replace('\u{feff}', "");
    }
    if more > 0 {
        all += &format!("and {more} more\n");
    }
    all
}
