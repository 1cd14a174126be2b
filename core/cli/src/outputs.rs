//! The files that a command writes: beside their places, and never in place of what it reads.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flowpipe_config::effects::EffectKind;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_output::{OutputFile, is_same};
use serde_json::Value;

use crate::exit::Failure;

/// What this process reads.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The command reads this file: nothing that it writes takes its place.
pub fn note_input(path: impl Into<PathBuf>) {
    let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    inputs.push(path.into());
}

/// The files that the stages of a pipeline read, by what their plugins declare.
pub fn note_inputs_of(pipeline: &Pipeline, catalogue: &Catalogue) {
    for contestant in pipeline.stages.iter().flat_map(|it| &it.contestants) {
        let Some(found) = catalogue.find(&contestant.plugin) else {
            continue;
        };
        match found.manifest.effects_with(&contestant.config) {
            Some(effects) => {
                for effect in effects.into_iter().filter(|it| is_reading(it.kind)) {
                    let paths = effect.paths(&found.manifest, &contestant.config);
                    paths.for_each(|path| note_files_of(&path));
                }
            }
            // It declares nothing, and may read every file that its config names.
            None => note_named(&contestant.config),
        }
    }
}

/// Commands read the files among their arguments: scripts, most often.
fn is_reading(kind: EffectKind) -> bool {
    matches!(kind, EffectKind::ReadsFiles | EffectKind::RunsCommands)
}

/// Notes a file, all files in a folder, or what a pattern stands for.
fn note_files_of(path: &Path) {
    if path.is_file() {
        note_input(path);
    } else if let Ok(entries) = std::fs::read_dir(path) {
        let files = entries.flatten().map(|entry| entry.path());
        files.filter(|path| path.is_file()).for_each(note_input);
    } else if let Some(pattern) = path.to_str() {
        let named = glob::glob(pattern).into_iter().flatten().flatten();
        named.for_each(note_input);
    }
}

fn note_named(config: &Value) {
    match config {
        Value::String(text) if Path::new(text).is_file() => note_input(text),
        Value::Array(values) => values.iter().for_each(note_named),
        Value::Object(fields) => fields.values().for_each(note_named),
        _ => {}
    }
}

/// A file that appears when it is whole.
///
/// # Errors
/// When it can't be made, or is an input.
pub fn create(path: &Path) -> Result<OutputFile, Failure> {
    checked(path)
        .and_then(|()| OutputFile::create(path))
        .map_err(failure(path))
}

/// A file that appears when it is whole, and whose name the user did not give: it was derived from another name.
///
/// # Errors
/// When it can't be made, is an input, or something other than a regular file lies there.
pub fn create_derived(path: &Path) -> Result<OutputFile, Failure> {
    checked(path)
        .and_then(|()| OutputFile::create_derived(path))
        .map_err(failure(path))
}

/// A file that grows as `NAME.partial` until it is whole.
///
/// # Errors
/// When it can't be made, is an input, or another program is writing it.
pub fn growing(path: &Path) -> io::Result<OutputFile> {
    checked(path)?;
    OutputFile::growing(path)
}

/// A file that others follow by its name while it grows: it begins at once, in place of what was there.
///
/// # Errors
/// When it can't be made, or is an input.
pub fn followed(path: &Path) -> Result<File, Failure> {
    checked(path)
        .and_then(|()| File::create(path))
        .map_err(failure(path))
}

/// Writes a whole file.
///
/// # Errors
/// When it can't be written, or is an input.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    checked(path)
        .and_then(|()| flowpipe_output::write(path, content))
        .map_err(failure(path))
}

/// Writes a whole file whose name was derived from one that the user gave.
///
/// # Errors
/// When it can't be written, is an input, or something other than a regular file lies there.
pub fn write_derived(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut file = create_derived(path)?;
    let written = file.write_all(content.as_ref());
    written.and_then(|()| file.commit()).map_err(failure(path))
}

/// What a command fails with that can't write a file.
pub fn failure(path: &Path) -> impl Fn(io::Error) -> Failure {
    |error| Failure::File {
        path: path.display().to_string(),
        error,
    }
}

fn checked(path: &Path) -> io::Result<()> {
    // What is written as it is, such as the terminal, may be read too.
    if !path.is_file() {
        return Ok(());
    }
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    match inputs.iter().find(|input| is_same(input, path)) {
        None => Ok(()),
        Some(input) => {
            let what = match input == path {
                true => "this command reads the same file: name another one to write".to_owned(),
                false => format!(
                    "this command reads the same file as {}: name another one to write",
                    input.display()
                ),
            };
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
    }
}
