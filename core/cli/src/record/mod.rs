//! Records a run: what the program adds to the runtime's recorder.

mod annotate;
pub mod flight;
mod place;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_output::OutputFile;
use flowpipe_puzzle::message;
use flowpipe_recorder::record::{self, Recorder, Recording, Settings, Written};
use flowpipe_recording::entry::About;
use flowpipe_recording::{Recording as Recorded, Schemas, WriteError, Writer};
use flowpipe_terminal::{counted, eprintln, escape, escape_indented, escaped};

use crate::events::RunEvent;
use crate::exit::Failure;
use crate::outputs;
use crate::record::place::Place;

/// A recording that is being written.
pub struct RunRecording {
    /// The path of the recording.
    path: PathBuf,
    file: OutputFile,
    recorder: Arc<Recorder>,
    recording: Recording,
}

/// The run to record.
pub struct RecordedRun<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// Its plugins.
    pub catalogue: &'a Catalogue,
    /// The pipeline's file.
    pub file: &'a Path,
    /// The text of that file.
    pub text: &'a str,
    /// The run's clock.
    pub clock: Clock,
    /// Whether it is a dry run.
    pub dry: bool,
}

/// The file of a recording, with `{name}` and `{time}`.
pub enum RecordingFile<'a> {
    /// Of the command line: its folder must exist, because it may be mistyped.
    OfCommand(&'a str),
    /// Of the pipeline file: its folder is created by the first run.
    OfPipeline(&'a str),
}

/// What happens when the recorder can't keep up with the run.
pub struct LossMode {
    /// The run waits, and nothing is lost.
    pub lossless: bool,
    /// Whether other machines send what their stages do.
    pub has_others: bool,
    /// The machine that records what happens here. `None`: this one.
    pub machine: Option<String>,
    /// Receives the error when the recording fails.
    pub events: Sender<RunEvent>,
}

/// How long to wait for the end of a recording before a notice.
const NOTICE_DELAY: Duration = Duration::from_secs(2);

impl LossMode {
    /// The settings of a recorder.
    pub fn settings(self) -> Settings {
        let Self {
            lossless,
            has_others,
            machine,
            events,
        } = self;
        let on_machine = machine.map(|name| format!(" on machine {}", escape(&name)));
        let on_machine = on_machine.unwrap_or_default();
        Settings {
            lossless,
            has_others,
            failed: Box::new(move |error| {
                let then = match lossless {
                    true => "the run ends, because it was to be recorded without loss",
                    false => "the run goes on without it",
                };
                let error = escape_indented(&error.to_string());
                let text = format!("flowpipe: the recording{on_machine} failed: {error}; {then}");
                // The receiver is gone once printing has failed.
                let _ = events.send(match lossless {
                    true => RunEvent::Lost(text),
                    false => RunEvent::Notice(text),
                });
            }),
            ..Settings::default()
        }
    }
}

/// Waits until everything is written, with a notice when that takes long: the reader of a pipe may have stopped.
fn wait(recording: &Recording, path: &Path) {
    let started = Instant::now();
    let mut is_silent = true;
    while !recording.is_written() {
        if is_silent && started.elapsed() > NOTICE_DELAY {
            is_silent = false;
            eprintln!(
                "flowpipe: waiting until {} is written; a second Ctrl-C aborts",
                escaped(path.display())
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl RunRecording {
    /// Starts a recording. Replaces `{name}` and `{time}` in its file.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn create(
        to: RecordingFile<'_>,
        run: &RecordedRun<'_>,
        mode: LossMode,
    ) -> Result<Self, Failure> {
        let (about, text) = run.about();
        let place = |to| Place::new(to, &about.name, about.started_unix_ns);
        let place = match to {
            RecordingFile::OfCommand(to) => place(to),
            RecordingFile::OfPipeline(to) => {
                let place = place(to);
                place.create_folder().map_err(failure)?;
                place
            }
        };
        Self::start(place, about, &text, run.schemas(), mode)
    }

    /// Starts a recording of a replay. It describes the replayed run, with the current plugins. It is lossless: a
    /// replay can wait for the recorder. With a name that the recording chose, it overwrites nothing.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn of_replay(
        to: &str,
        run: &RecordedRun<'_>,
        of: &Recorded,
        events: Sender<RunEvent>,
    ) -> Result<Self, Failure> {
        let now = record::about(run.pipeline, run.catalogue, "", &run.clock, run.dry);
        let mut about = of.about().clone();
        for (stage, now) in about.stages.iter_mut().zip(now.stages) {
            // A missing plugin is not replayed either.
            if now.plugins.len() == stage.plugins.len() {
                stage.plugins = now.plugins;
            }
        }
        let mode = LossMode {
            lossless: true,
            has_others: false,
            machine: None,
            events,
        };
        let place = Place::new(to, &about.name, about.started_unix_ns);
        place.refuse_existing().map_err(failure)?;
        Self::start(place, about, of.pipeline(), run.schemas(), mode)
    }

    fn start(
        place: Place,
        about: About,
        text: &str,
        schemas: Schemas,
        mode: LossMode,
    ) -> Result<Self, Failure> {
        let mut file = place.grow().map_err(failure)?;
        let writer = Writer::grow(&mut file, &about, text, schemas).map_err(failure)?;
        let annotator = Box::new(annotate::Foxglove);
        let settings = mode.settings();
        let (recorder, recording) = Recorder::to_file(writer, about, Some(annotator), settings)
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        Ok(Self {
            path: place.path,
            file,
            recorder,
            recording,
        })
    }

    /// The observer of the run.
    pub fn recorder(&self) -> Arc<Recorder> {
        self.recorder.clone()
    }

    /// The run starts: the recording is kept from now on, however the run ends.
    pub fn keep(&mut self) {
        self.file.keep();
    }

    /// The run did not start: removes the recording.
    pub fn discard(self) {
        self.file.discard();
    }

    /// Waits until everything is written, and reports the counts on standard error.
    ///
    /// # Errors
    /// When a write failed.
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
                ", {} dropped with {} (the recorder could not keep up; with --record-lossless the run waits)",
                counted(lineages, "lineage"),
                counted(messages, "message")
            ),
        };
        eprintln!(
            "recorded {}, {} ({} of them seen before){dropped}: {}",
            counted(written.messages, "message"),
            carried(&written),
            written.repeated,
            escaped(path.display())
        );
        Ok(())
    }
}

/// What the recorded messages carry: `11 pictures`, `7 buffers` or `11 pictures and 7 buffers`.
fn carried(written: &Written) -> String {
    let pictures = counted(written.pictures, "picture");
    match (written.pictures, written.buffers) {
        (_, 0) => pictures,
        (0, buffers) => counted(buffers, "buffer"),
        (_, buffers) => format!("{pictures} and {}", counted(buffers, "buffer")),
    }
}

impl RecordedRun<'_> {
    /// The description of the run in a recording, and the text of its file.
    pub fn about(&self) -> (About, String) {
        let shown = self.file.display().to_string();
        let about = record::about(self.pipeline, self.catalogue, &shown, &self.clock, self.dry);
        (about, self.text.to_owned())
    }

    /// The JSON Schemas of all messages, with those that configs declare.
    fn schemas(&self) -> Schemas {
        let mut all = schemas();
        for contestant in self.pipeline.stages.iter().flat_map(|it| &it.contestants) {
            let found = self.catalogue.find(&contestant.plugin);
            let ports = found.map(|found| {
                found
                    .manifest
                    .declaration(&contestant.config)
                    .described_ports()
            });
            for port in ports.into_iter().flatten() {
                let text = port.json_schema.map(ToString::to_string);
                let known = all.entry(port.schema.to_owned());
                known.or_insert_with(|| text.unwrap_or_default());
            }
        }
        all
    }
}

/// The JSON Schemas of all messages.
pub fn schemas() -> Schemas {
    let ours = flowpipe_message::schemas()
        .into_iter()
        .chain(message::schemas())
        .map(|(id, schema)| (id.to_owned(), schema.as_value().to_string()));
    let shown = annotate::schema().as_value().to_string();
    ours.chain([(annotate::SCHEMA.to_owned(), shown)]).collect()
}

fn failure(error: WriteError) -> Failure {
    match error {
        WriteError::Create { path, error } => Failure::File {
            path: path.display().to_string(),
            error,
        },
        WriteError::Write(_) | WriteError::Gone => Failure::Run(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path may come from a recording.
    #[test]
    fn the_notice_of_a_failure_is_escaped() {
        for (lossless, machine, expected) in [
            (false, None, "the recording failed: "),
            (true, None, "the recording failed: "),
            (
                true,
                Some("desk\u{1b}"),
                "the recording on machine desk\\u001b failed: ",
            ),
        ] {
            let (events, received) = crossbeam_channel::unbounded();
            let mode = LossMode {
                lossless,
                has_others: false,
                machine: machine.map(str::to_owned),
                events,
            };
            let settings = mode.settings();
            let error = std::io::Error::other("full\nFORGED \u{1b}[2J");
            let path = "a\u{1b}]0;owned\u{7}".into();
            (settings.failed)(&WriteError::Create { path, error });
            let (RunEvent::Notice(text) | RunEvent::Lost(text)) = received.recv().unwrap() else {
                panic!("another event");
            };
            let acts = |it: char| it.is_control() && it != '\n';
            assert!(!text.contains(acts), "{text:?}");
            assert!(!text.contains("\nFORGED"), "{text:?}");
            assert!(text.contains(expected), "{text:?}");
        }
    }
}
