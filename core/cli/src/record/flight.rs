//! The flight recorder: what the program adds to the runtime's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use flowpipe_engine::run::replay::Replay;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{BoardResult, OUTCOME, Outcome, RESULT, SOLVED, Solved, Verdict};
use flowpipe_recorder::record::{Flight, FlightFile, FlightTrigger, Opened, Recorder, Recording};
use flowpipe_recording::Writer;
use flowpipe_recording::entry::About;
use flowpipe_terminal::{escape, escape_indented};

use crate::accepted::{read, with_reason};
use crate::events::RunEvent;
use crate::exit::Failure;
use crate::record::place::Place;
use crate::record::{RecordedRun, annotate, failure};

/// Keeps the last seconds of a run.
pub struct FlightRecorder {
    /// The observer of the run.
    pub recorder: Arc<Recorder>,
    recording: Recording,
}

/// How much is kept, and where it is written after a failure.
pub struct FlightOptions<'a> {
    /// How much of the run is kept.
    pub length: Duration,
    /// The files. `{name}` and `{time}` are replaced; an existing file is not overwritten.
    pub to: &'a str,
    /// Whether a stage emits the result of each board.
    pub has_referee: bool,
    /// The folders of plugins that the command line names.
    pub plugin_dirs: &'a [PathBuf],
}

/// The command that replays a file. Which stages it can run again is decided when a file is written: each stage costs a
/// check of the others, and most runs write no file.
struct ReplayCommand {
    /// The flags that name folders of plugins.
    plugins: String,
    /// The run.
    about: About,
    /// The plugins at the start of the run.
    catalogue: Catalogue,
}

impl FlightRecorder {
    /// Starts to keep the last seconds of a run. `events` receives the files.
    ///
    /// # Errors
    /// When the folder is missing, or the thread can't be started.
    pub fn start(
        options: &FlightOptions<'_>,
        run: &RecordedRun<'_>,
        events: Sender<RunEvent>,
    ) -> Result<Self, Failure> {
        let (about, text) = run.about();
        let (to, clock) = (options.to.to_owned(), run.clock);
        let schemas = run.schemas();
        // It writes when something fails, which is too late to find that there is no such folder.
        Place::new(&to, &about.name, 0)
            .check_folder()
            .map_err(failure)?;
        let command = ReplayCommand::new(options.plugin_dirs, &about, run.catalogue);
        let flight = Flight {
            length: options.length,
            alarm: Some(Box::new(BoardFailures {
                has_referee: options.has_referee,
                dry: run.dry,
            })),
            open: Arc::new(move |about| {
                let now_ns = clock.start_unix_ns().saturating_add_signed(clock.now());
                let place = Place::new(&to, &about.name, now_ns).unused();
                let mut file = place.grow()?;
                let writer = Writer::grow(&mut file, about, &text, schemas.clone())?;
                // A part is of use too, if the rest can't be written.
                file.keep();
                Ok(Opened {
                    path: place.path,
                    file,
                    writer,
                })
            }),
            annotator: || Some(Box::new(annotate::Foxglove)),
            on_file: Arc::new(move |file| {
                // The receiver is gone once printing has failed.
                let _ = events.send(RunEvent::Notice(notice(&file, &command)));
            }),
        };
        let (recorder, recording) = Recorder::in_flight(flight, about, run.clock)
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        Ok(Self {
            recorder,
            recording,
        })
    }

    /// Waits until the files are written. Call it when the run is over.
    ///
    /// # Errors
    /// When the recorder failed.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.recorder);
        self.recording.finish().map_err(failure).map(drop)
    }
}

impl ReplayCommand {
    fn new(plugin_dirs: &[PathBuf], about: &About, catalogue: &Catalogue) -> Self {
        let plugins = plugin_dirs.iter();
        let plugins = plugins.map(|folder| format!(" --plugin-dir {}", quoted(folder)));
        Self {
            plugins: plugins.collect(),
            about: about.clone(),
            catalogue: catalogue.clone(),
        }
    }

    /// The command for a file. `None`: a replay would run no stage again.
    fn text(&self, path: &Path, failed: Option<&str>) -> Option<String> {
        let flags = Replay::flags(&self.about, failed, &self.catalogue)?;
        let (path, plugins) = (quoted(path), &self.plugins);
        let command = format!("flowpipe replay {path} {flags}");
        Some(format!("{}{plugins}", command.trim_end()))
    }
}

/// The notice of a file: why it was written, and how to replay it.
fn notice(landed: &FlightFile, command: &ReplayCommand) -> String {
    let FlightFile {
        reason,
        stage,
        file,
        length,
        is_last,
    } = landed;
    let (seconds, reason) = (length.as_secs_f64(), escape(reason));
    let last = match is_last {
        true => "\n  this run writes no more such files: the limit is reached",
        false => "",
    };
    match file {
        Ok(path) => {
            let next = match command.text(path, stage.as_deref()) {
                Some(command) => format!("to replay them: {}", escape(&command)),
                // No stage of the pipeline can run again.
                None => format!("to look at them: flowpipe report {}", escape(&quoted(path))),
            };
            format!("the last {seconds:.1} s are kept: {reason}\n  {next}{last}")
        }
        Err(error) => {
            let error = escape_indented(&error.to_string());
            format!("the last {seconds:.1} s are not kept ({reason}): {error}")
        }
    }
}

/// Boards that are not solved, or not played.
struct BoardFailures {
    has_referee: bool,
    dry: bool,
}

impl FlightTrigger for BoardFailures {
    fn alarm(&mut self, message: &Message) -> Option<String> {
        match message.schema() {
            SOLVED => unsolved(&*read(message)?),
            RESULT if !self.dry => unplayed(&*read(message)?),
            // A referee checks the board again.
            OUTCOME if !self.dry && !self.has_referee => refused(&*read(message)?),
            _ => None,
        }
    }
}

fn unsolved(solved: &Solved) -> Option<String> {
    let source = &solved.sighting.frame.source;
    let why = match &solved.answer {
        Verdict::Solution { .. } => return None,
        Verdict::Unsolvable { reason, .. } => with_reason("it has no solution", reason),
        Verdict::Unsupported { reason, .. } => format!("not supported: {reason}"),
        Verdict::Unknown { reason, .. } => format!("the solver gave up: {reason}"),
    };
    Some(format!("{source}: a board that can't be solved, {why}"))
}

fn unplayed(result: &BoardResult) -> Option<String> {
    let reason = result.reason.as_deref().unwrap_or("not done");
    (!result.solved && !result.unknown)
        .then(|| format!("board {} was not played: {reason}", result.number))
}

fn refused(outcome: &Outcome) -> Option<String> {
    let source = &outcome.frame.source;
    match (&outcome.refused, outcome.solved) {
        (Some(reason), _) => Some(format!("{source}: not played, {reason}")),
        (None, Some(false)) => Some(format!("{source}: the game does not count it as solved")),
        (None, _) => None,
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:,@%".contains(letter);
    match text.chars().all(plain) && !text.is_empty() {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("runs/a-1.mcap")), "runs/a-1.mcap");
        assert_eq!(quoted(Path::new("my run's.mcap")), r"'my run'\''s.mcap'");
    }
}
