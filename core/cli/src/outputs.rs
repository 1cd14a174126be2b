//! The files that a command writes. It never overwrites a file that it reads.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flowpipe_config::effects::EffectKind;
use flowpipe_config::manifest::effects::COMMAND_FOLDER;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_output::{OutputFile, is_same};
use serde_json::Value;

use crate::exit::Failure;

/// The files that this process reads.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Registers a file that the command reads: no output may overwrite it.
pub fn note_input(path: impl Into<PathBuf>) {
    let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    inputs.push(path.into());
}

/// Registers the files that the stages of a pipeline read, as their plugins declare.
pub fn note_inputs_of(pipeline: &Pipeline, catalogue: &Catalogue) {
    for contestant in pipeline.stages.iter().flat_map(|it| &it.contestants) {
        let Some(found) = catalogue.find(&contestant.plugin) else {
            continue;
        };
        match found.manifest.effects_with(&contestant.config) {
            Some(effects) => {
                for effect in effects.into_iter().filter(|it| is_reading(it.kind)) {
                    let paths = effect.paths(&found.manifest, &contestant.config);
                    let folder = match effect.kind {
                        EffectKind::RunsCommands => contestant.config.get(COMMAND_FOLDER),
                        _ => None,
                    };
                    let folder = Path::new(folder.and_then(Value::as_str).unwrap_or_default());
                    for path in paths {
                        note_files_of(&folder.join(path));
                    }
                }
            }
            // Without declared effects, it may read every file that its config names.
            None => note_named(&contestant.config),
        }
    }
}

/// Commands read the files among their arguments: scripts, most often.
fn is_reading(kind: EffectKind) -> bool {
    matches!(kind, EffectKind::ReadsFiles | EffectKind::RunsCommands)
}

/// Registers a file, all files in a folder, or the matches of a pattern.
fn note_files_of(path: &Path) {
    files_of(path).into_iter().for_each(note_input);
}

/// The file at a path, all files in a folder, or the matches of a pattern.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        vec![path.to_owned()]
    } else if let Ok(entries) = std::fs::read_dir(path) {
        let files = entries.flatten().map(|entry| entry.path());
        files.filter(|path| path.is_file()).collect()
    } else if let Some(pattern) = path.to_str() {
        let named = glob::glob(pattern).into_iter().flatten();
        named.flatten().collect()
    } else {
        Vec::new()
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

/// Creates a file that appears under its name when it is complete.
///
/// # Errors
/// When it can't be created, or is an input.
pub fn create(path: &Path) -> Result<OutputFile, Failure> {
    checked(path)
        .and_then(|()| OutputFile::create(path))
        .map_err(failure(path))
}

/// Like [`create`], for a name that was derived from another name.
///
/// # Errors
/// When it can't be created, is an input, or the name is taken by something other than a regular file.
pub fn create_derived(path: &Path) -> Result<OutputFile, Failure> {
    checked(path)
        .and_then(|()| OutputFile::create_derived(path))
        .map_err(failure(path))
}

/// Like [`create_derived`], for a file that others use: they always have it whole.
///
/// # Errors
/// Those of [`create_derived`], and when no file can be made in its folder.
pub fn create_whole(path: &Path) -> Result<OutputFile, Failure> {
    checked(path)
        .and_then(|()| OutputFile::create_whole(path))
        .map_err(failure(path))
}

/// Creates a file that is called `NAME.partial` until it is complete.
///
/// # Errors
/// When it can't be created, is an input or standard output, or another program is writing it.
pub fn growing(path: &Path) -> io::Result<OutputFile> {
    checked(path)?;
    if is_standard_output(path) {
        let what = "this is standard output, which the command prints to: name another file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    OutputFile::growing(path)
}

/// Like [`growing`], for a name that was derived from another name.
///
/// # Errors
/// Those of [`growing`], and when the name is taken by something other than a regular file.
pub fn growing_derived(path: &Path) -> io::Result<OutputFile> {
    checked(path)?;
    OutputFile::growing_derived(path)
}

/// Creates a file that others read while it is written. An existing file is truncated.
///
/// # Errors
/// When it can't be created, or is an input.
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
/// When it can't be written, is an input, or the name is taken by something other than a regular file.
pub fn write_derived(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut file = create_derived(path)?;
    let written = file.write_all(content.as_ref());
    written.and_then(|()| file.commit()).map_err(failure(path))
}

/// The failure of a command that can't write a file.
pub fn failure(path: &Path) -> impl Fn(io::Error) -> Failure {
    |error| Failure::File {
        path: path.display().to_string(),
        error,
    }
}

/// Whether a path leads to the file or pipe that is this program's standard output. Devices such as `/dev/null` have
/// room for both.
fn is_standard_output(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let Ok(there) = std::fs::metadata(path) else {
            return false;
        };
        #[expect(clippy::disallowed_methods, reason = "nothing is written to it here")]
        let output = rustix::fs::fstat(io::stdout());
        !there.file_type().is_char_device()
            && output.is_ok_and(|it| (it.st_dev, it.st_ino) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Checks that the folder of a file to write exists. A mistyped path creates no folders.
///
/// # Errors
/// When there is no such folder.
pub fn has_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    // If that can't be found out, creating the file reports why.
    if folder.as_os_str().is_empty() || folder.try_exists().unwrap_or(true) {
        return Ok(());
    }
    let what = format!(
        "there is no folder {}: create it, or choose another folder",
        folder.display()
    );
    Err(io::Error::new(io::ErrorKind::NotFound, what))
}

fn checked(path: &Path) -> io::Result<()> {
    has_folder(path)?;
    // A device, such as the terminal, may be both input and output.
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
