//! Takes up changes of the pipeline and plugin files while a run goes on: `--watch`, and SIGHUP.

mod files;

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use flowpipe_engine::run::{ChangeError, Changer, RunHandle};
use flowpipe_terminal::{escape_indented, escaped};

use crate::args::Global;
use crate::exit::Failure;
use crate::show::colour;
use crate::show::screen::Happening;
pub use crate::watch::files::Files;
use crate::{pipeline_file, plugins, signals};

/// What is to be taken up.
pub struct Wish<'a> {
    /// The pipeline's file.
    pub file: &'a Path,
    /// Whether to look at the files; else only when asked by SIGHUP.
    pub looks: bool,
    /// For the plugins' folders, and colours.
    pub global: &'a Global,
    /// What the files looked like before they were read.
    pub before: Files,
    /// Where what has changed, or why nothing has, is told.
    pub told: Sender<Happening>,
}

/// A run whose files are looked after.
pub struct Watching {
    asks: Sender<Ask>,
    thread: JoinHandle<()>,
}

/// What wakes the thread that looks after the files.
enum Ask {
    /// The files of now are to be taken up.
    TakeUp,
    /// The run is over.
    Over,
}

/// From one look at the files to the next. What has changed is taken up when two looks see the same.
const LOOK: Duration = Duration::from_millis(250);
/// A library that has gone may be about to be written anew: so many looks it is waited for.
const PATIENCE: u32 = 40;

/// So long the end of a run waits for a change that is being made.
const END: Duration = Duration::from_secs(10);

struct Watcher {
    file: PathBuf,
    folders: Vec<PathBuf>,
    looks: bool,
    before: Files,
    colours: bool,
    changer: Changer,
    told: Sender<Happening>,
}

impl Wish<'_> {
    /// Begins to look after the files of a run.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn begin(self, run: &RunHandle) -> Result<Watching, Failure> {
        let (asks, asked) = crossbeam_channel::unbounded();
        let watcher = Watcher {
            file: self.file.to_owned(),
            folders: plugins::folders(self.global),
            looks: self.looks,
            before: self.before,
            colours: colour::on_stderr(self.global),
            changer: run.changer(),
            told: self.told,
        };
        let thread = std::thread::Builder::new()
            .name("flowpipe-watch".into())
            .spawn(move || watcher.watch(&asked))
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        let hang_up = asks.clone();
        signals::on_hang_up(Some(Box::new(move || {
            // Gone only when the run is over.
            let _ = hang_up.send(Ask::TakeUp);
        })));
        Ok(Watching { asks, thread })
    }
}

impl Watching {
    /// The run is over.
    pub fn end(self) {
        signals::on_hang_up(None);
        let _ = self.asks.send(Ask::Over);
        let began = Instant::now();
        while !self.thread.is_finished() {
            if began.elapsed() > END {
                // A plugin that it makes or ends may never come back: it ends with the program.
                tracing::warn!("a change of the pipeline does not come back; it is left behind");
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Its panic, if any, has been printed.
        let _ = self.thread.join();
    }
}

impl Watcher {
    fn watch(&self, asked: &Receiver<Ask>) {
        let mut taken = self.before.clone();
        let mut last = taken.clone();
        let mut missing = 0;
        // A stage of a name that is to come back works off what it was given.
        let mut again = false;
        loop {
            let ask = match self.looks || again {
                true => asked.recv_timeout(LOOK),
                false => asked.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match ask {
                Ok(Ask::TakeUp) => {
                    taken = Files::look(&self.file, &self.folders);
                    last = taken.clone();
                    again = self.take_up(true);
                }
                Ok(Ask::Over) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let now = Files::look(&self.file, &self.folders);
                    let is_settled = now == last;
                    missing = match now.lacks_some_of(&taken) {
                        true => missing + 1,
                        false => 0,
                    };
                    let may_come = missing > 0 && missing < PATIENCE;
                    if is_settled && !may_come && (again || self.looks && now != taken) {
                        taken = now.clone();
                        again = self.take_up(false);
                    }
                    last = now;
                }
            }
        }
    }

    /// Takes up the files of now. Returns whether to try again soon. `says_all`: also that nothing differs.
    fn take_up(&self, says_all: bool) -> bool {
        let catalogue = plugins::load_from(&self.folders);
        let pipeline = match pipeline_file::read(&self.file, &catalogue) {
            Ok(Ok(written)) => written.pipeline,
            Ok(Err(errors)) => {
                let count = errors.len();
                let errors = pipeline_file::told(errors, self.colours);
                let some = if count == 1 { "an error" } else { "errors" };
                let file = escaped(self.file.display());
                self.tell(format!(
                    "{errors}not changed: {file} has {some}; the run goes on as it was"
                ));
                return false;
            }
            Err(failure) => {
                let failure = escape_indented(&failure.to_string());
                self.tell(format!("not changed: {failure}"));
                return false;
            }
        };
        match self.changer.change(pipeline, &catalogue) {
            Ok(changes) if changes.is_empty() => {
                if says_all {
                    self.tell("not changed: nothing differs".to_owned());
                }
            }
            Ok(changes) => self.tell(format!(
                "changed: {}",
                escape_indented(&changes.to_string())
            )),
            Err(ChangeError::Leaving { .. }) => return true,
            Err(ChangeError::Ending) => {}
            Err(error) => {
                let error = escape_indented(&error.to_string());
                self.tell(format!("not changed: {error}; the run goes on as it was"));
            }
        }
        false
    }

    fn tell(&self, text: String) {
        // Nobody listens any more when printing failed.
        let _ = self.told.send(Happening::Told(text));
    }
}
