//! Writing a run down: what the program adds to the runtime's recorder.

mod annotate;
pub mod flight;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_output::OutputFile;
use flowpipe_puzzle::message;
use flowpipe_recorder::record::{self, Recorder, Recording, Settings};
use flowpipe_recording::entry::About;
use flowpipe_recording::{Recording as Recorded, Schemas, WriteError, Writer};
use flowpipe_terminal::{eprintln, escaped};
use time::OffsetDateTime;

use crate::exit::Failure;
use crate::outputs;
use crate::show::screen::Happening;

/// A recording that is being written.
pub struct Recordist {
    /// Where to.
    path: PathBuf,
    file: OutputFile,
    recorder: Arc<Recorder>,
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

/// What is kept of a run when the recorder can't keep up with it.
pub struct Keeping {
    /// Everything: the run waits.
    pub lossless: bool,
    /// Gets to know when nothing can be recorded any more.
    pub told: Sender<Happening>,
}

/// So long the end of a recording is waited for without a word.
const SILENCE: Duration = Duration::from_secs(2);

impl Keeping {
    fn settings(self) -> Settings {
        let Self { lossless, told } = self;
        Settings {
            lossless,
            failed: Box::new(move |error| {
                let then = match lossless {
                    true => "the run ends, because it was to be recorded without loss",
                    false => "the run goes on without it",
                };
                let text = format!("flowpipe: the recording failed: {error}; {then}");
                // Nobody listens any more when printing failed.
                let _ = told.send(match lossless {
                    true => Happening::Lost(text),
                    false => Happening::Told(text),
                });
            }),
            ..Settings::default()
        }
    }
}

/// Waits until everything is written, and says what is waited for when that takes long: whoever reads the other end of a pipe may
/// not read on.
fn wait(recording: &Recording, path: &Path) {
    let began = Instant::now();
    let mut is_silent = true;
    while !recording.is_written() {
        if is_silent && began.elapsed() > SILENCE {
            is_silent = false;
            eprintln!(
                "flowpipe: waits until {} is written; a second Ctrl-C gives up",
                escaped(path.display())
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Recordist {
    /// Begins a recording. `{name}` and `{time}` in `to` are filled in, folders are made.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn begin(to: &str, take: &Take<'_>, keeping: Keeping) -> Result<Self, Failure> {
        let (about, text) = take.told();
        Self::write(to, about, &text, keeping)
    }

    /// Begins a recording of a replay: it is told as the run that it repeats, with the plugins of now. A replay has the
    /// time to wait for the recorder.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn of_replay(
        to: &str,
        take: &Take<'_>,
        of: &Recorded,
        told: Sender<Happening>,
    ) -> Result<Self, Failure> {
        let now = record::about(take.pipeline, take.catalogue, "", &take.clock, take.dry);
        let mut about = of.about().clone();
        for (stage, now) in about.stages.iter_mut().zip(now.stages) {
            // A plugin that is not here now is not run again either.
            if now.plugins.len() == stage.plugins.len() {
                stage.plugins = now.plugins;
            }
        }
        let keeping = Keeping {
            lossless: true,
            told,
        };
        Self::write(to, about, of.pipeline(), keeping)
    }

    fn write(to: &str, about: About, text: &str, keeping: Keeping) -> Result<Self, Failure> {
        let path = place(to, &about.name, about.started_unix_ns).map_err(failure)?;
        let mut file = grow(&path).map_err(failure)?;
        let writer = Writer::grow(&mut file, &about, text, schemas()).map_err(failure)?;
        let annotator = Box::new(annotate::Foxglove);
        let settings = keeping.settings();
        let (recorder, recording) = Recorder::to_file(writer, about, Some(annotator), settings)
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        Ok(Self {
            path,
            file,
            recorder,
            recording,
        })
    }

    /// What watches the run.
    pub fn recorder(&self) -> Arc<Recorder> {
        self.recorder.clone()
    }

    /// The run begins: from now on what is recorded is kept, however it ends.
    pub fn begins(&mut self) {
        self.file.keep();
    }

    /// The run did not begin: nothing is left of the recording.
    pub fn discard(self) {
        self.file.discard();
    }

    /// Waits until everything is written, and says what was, on standard error.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        let Self {
            path,
            file,
            recorder,
            recording,
        } = self;
        drop(recorder);
        recording.close();
        wait(&recording, &path);
        let written = recording.finish().map_err(|error| {
            let left = file.lies_at().unwrap_or(&path);
            Failure::Run(format!(
                "{error}; what was written before is in {}",
                left.display()
            ))
        })?;
        file.commit().map_err(outputs::failure(&path))?;
        let dropped = match (written.dropped_lineages, written.dropped_messages) {
            (0, 0) => String::new(),
            (lineages, messages) => format!(
                ", {lineages} lineages dropped with {messages} messages (the recorder could not keep up; \
                 --record-lossless has the run wait)"
            ),
        };
        eprintln!(
            "recorded {} messages, {} pictures ({} of them seen before){dropped}: {}",
            written.messages,
            written.pictures + written.repeated,
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

/// The file of a recording.
fn grow(path: &Path) -> Result<OutputFile, WriteError> {
    outputs::growing(path).map_err(|error| WriteError::Create {
        path: path.to_owned(),
        error,
    })
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
