//! Writing a run down: what the program adds to the runtime's recorder.

mod annotate;
pub mod flight;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_puzzle::message;
use flowpipe_recording::entry::About;
use flowpipe_recording::{Recording as Recorded, Schemas, WriteError, Writer};
use flowpipe_runtime::clock::Clock;
use flowpipe_runtime::pipeline::Pipeline;
use flowpipe_runtime::plugin::catalogue::Catalogue;
use flowpipe_runtime::record::{self, Recorder, Recording};
use flowpipe_terminal::{eprintln, escaped};
use time::OffsetDateTime;

use crate::exit::Failure;

/// A recording that is being written.
pub struct Recordist {
    /// Where to.
    pub path: PathBuf,
    /// What watches the run.
    pub recorder: Arc<Recorder>,
    recording: Recording,
}

/// What is to be written down.
pub struct Take<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// Where its plugins are.
    pub catalogue: &'a Catalogue,
    /// The pipeline's file.
    pub file: &'a Path,
    /// What is in it.
    pub text: &'a str,
    /// The run's clock.
    pub clock: Clock,
    /// Whether nothing outside of the program is touched.
    pub dry: bool,
}

impl Recordist {
    /// Begins a recording. `{name}` and `{time}` in `to` are filled in, folders are made.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn begin(to: &str, take: &Take<'_>) -> Result<Self, Failure> {
        let (about, text) = take.told();
        Self::write(to, about, &text, take.clock)
    }

    /// Begins a recording of a replay: it is told as the run that it repeats, with the plugins of now.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn of_replay(to: &str, take: &Take<'_>, of: &Recorded) -> Result<Self, Failure> {
        let now = record::about(take.pipeline, take.catalogue, "", &take.clock, take.dry);
        let mut about = of.about().clone();
        for (stage, now) in about.stages.iter_mut().zip(now.stages) {
            // A plugin that is not here now is not run again either.
            if now.plugins.len() == stage.plugins.len() {
                stage.plugins = now.plugins;
            }
        }
        Self::write(to, about, of.pipeline(), take.clock)
    }

    fn write(to: &str, about: About, text: &str, clock: Clock) -> Result<Self, Failure> {
        let path = place(to, &about.name, about.started_unix_ns).map_err(failure)?;
        let writer = Writer::create(&path, &about, text, schemas()).map_err(failure)?;
        let annotator = Box::new(annotate::Foxglove);
        let (recorder, recording) = Recorder::to_file(writer, about, clock, Some(annotator))
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        Ok(Self {
            path,
            recorder,
            recording,
        })
    }

    /// Waits until everything is written, and says what was, on standard error.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        let Self {
            path,
            recorder,
            recording,
        } = self;
        drop(recorder);
        let written = recording.finish().map_err(|error| {
            Failure::Run(format!(
                "{error}; what was written before is in {}",
                path.display()
            ))
        })?;
        let left_out = match written.left_out {
            0 => String::new(),
            count => format!(", the pixels of {count} left out (the recorder could not keep up)"),
        };
        eprintln!(
            "recorded {} messages, {} pictures ({} of them seen before){left_out}: {}",
            written.messages,
            written.pictures + written.repeated + written.left_out,
            written.repeated,
            escaped(path.display())
        );
        Ok(())
    }
}

impl Take<'_> {
    /// The run as a recording tells it, and the text of its file.
    fn told(&self) -> (About, String) {
        let shown = self.file.display().to_string();
        let about = record::about(self.pipeline, self.catalogue, &shown, &self.clock, self.dry);
        (about, self.text.to_owned())
    }
}

/// The JSON Schemas of our messages.
pub fn schemas() -> Schemas {
    let ours = message::schemas()
        .into_iter()
        .map(|(id, schema)| (id.to_owned(), schema.as_value().to_string()));
    let shown = annotate::schema().as_value().to_string();
    ours.chain([(annotate::SCHEMA.to_owned(), shown)]).collect()
}

/// The path of a recording, with its folder made.
fn place(to: &str, name: &str, unix_ns: u64) -> Result<PathBuf, WriteError> {
    let path = path(to, name, unix_ns);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| WriteError::Create {
            path: path.clone(),
            error,
        })?;
    }
    Ok(path)
}

fn failure(error: WriteError) -> Failure {
    match error {
        WriteError::Create { path, error } => Failure::File {
            path: path.display().to_string(),
            error,
        },
        WriteError::Write(_) => Failure::Run(error.to_string()),
    }
}

fn path(to: &str, name: &str, unix_ns: u64) -> PathBuf {
    // Up to the year 2554, beyond every calendar.
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns))
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let time = format!(
        "{:04}-{:02}-{:02}T{:02}-{:02}-{:02}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    );
    // The name of a pipeline may hold anything but control characters; a file's may not.
    let name = name.replace(['/', '\\', ':'], "-");
    to.replace("{name}", &name).replace("{time}", &time).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_times_are_filled_in() {
        assert_eq!(
            path("runs/{name}-{time}.mcap", "a/b", 1_700_000_000_000_000_000),
            PathBuf::from("runs/a-b-2023-11-14T22-13-20Z.mcap")
        );
        assert_eq!(path("x.mcap", "a", 0), PathBuf::from("x.mcap"));
    }
}
