//! Hot reload: applies changes of the pipeline and plugin files to a run, for `--watch` and on SIGHUP.

mod stamps;

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use flowpipe_config::reader::Setting;
use flowpipe_engine::run::{ChangeError, Reloader, RunHandle};
use flowpipe_terminal::{escape_indented, escaped};

use crate::args::Global;
use crate::events::RunEvent;
use crate::exit::Failure;
use crate::mouse_driver::MouseDriver;
use crate::mouse_lock::MouseLock;
pub use crate::reload::stamps::FileStamps;
use crate::show::{colour, log};
use crate::{input, pipeline_file, plugins, signals};

/// What is reloaded.
pub struct ReloadOptions<'a> {
    /// The pipeline's file.
    pub file: &'a Path,
    /// What is set besides it.
    pub settings: Vec<Setting>,
    /// Whether to poll the files. Otherwise they are reloaded only on SIGHUP.
    pub polls: bool,
    /// For the plugins' folders, and colours.
    pub global: &'a Global,
    /// The stamps of the files from before they were read.
    pub before: FileStamps,
    /// The scripts of the pipeline's commands.
    pub scripts: Vec<PathBuf>,
    /// What drives the mouse.
    pub driver: Option<MouseDriver>,
    /// Its lock; taken before a change adds such a stage. `None`: the run presses nothing.
    pub mouse_lock: Option<MouseLock>,
    /// Receives what has changed, or why nothing has.
    pub events: Sender<RunEvent>,
}

/// The reload thread of a run.
pub struct ReloadHandle {
    wakeups: Sender<Wakeup>,
    thread: JoinHandle<()>,
}

/// What wakes the reload thread.
enum Wakeup {
    /// Reload the files now.
    Reload,
    /// The run is over.
    Over,
}

/// Between two polls of the files. A change is applied when two polls in a row see the same files.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How many polls to wait for a missing library: a linker may be about to write it.
const MAX_MISSING: u32 = 40;

/// How long the end of a run waits for a reload in progress.
const END_TIMEOUT: Duration = Duration::from_secs(10);

struct FileReloader {
    file: PathBuf,
    settings: Vec<Setting>,
    folders: Vec<PathBuf>,
    polls: bool,
    before: FileStamps,
    scripts: Vec<PathBuf>,
    driver: Option<MouseDriver>,
    mouse_lock: Option<MouseLock>,
    colours: bool,
    reloader: Reloader,
    events: Sender<RunEvent>,
}

impl ReloadOptions<'_> {
    /// Starts the reload thread of a run.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub fn start(self, run: &RunHandle) -> Result<ReloadHandle, Failure> {
        let (wakeups, woken) = crossbeam_channel::unbounded();
        let mut reloader = FileReloader {
            file: self.file.to_owned(),
            settings: self.settings,
            folders: plugins::folders(self.global),
            polls: self.polls,
            before: self.before.with_scripts(&self.scripts),
            scripts: self.scripts,
            driver: self.driver,
            mouse_lock: self.mouse_lock,
            colours: colour::on_stderr(self.global),
            reloader: run.reloader(),
            events: self.events,
        };
        let thread = std::thread::Builder::new()
            .name("flowpipe-watch".into())
            .spawn(move || reloader.run(&woken))
            .map_err(|error| Failure::Run(format!("can't start a thread: {error}")))?;
        let hang_up = wakeups.clone();
        signals::on_hang_up(move || {
            // The receiver is gone only when the run is over.
            let _ = hang_up.send(Wakeup::Reload);
        });
        Ok(ReloadHandle { wakeups, thread })
    }
}

impl ReloadHandle {
    /// Stops the thread when the run is over.
    pub fn end(self) {
        // There is nothing more to reload, and this is no request to stop the run.
        signals::on_hang_up(|| ());
        let _ = self.wakeups.send(Wakeup::Over);
        let started = Instant::now();
        while !self.thread.is_finished() {
            if started.elapsed() > END_TIMEOUT {
                // A plugin that hangs when it is created or destroyed: its thread ends with the program.
                tracing::warn!("a change of the pipeline hangs; its thread is abandoned");
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Its panic, if any, has been printed.
        let _ = self.thread.join();
    }
}

impl FileReloader {
    fn run(&mut self, woken: &Receiver<Wakeup>) {
        let mut applied = self.before.clone();
        let mut last = applied.clone();
        let mut missing = 0;
        // A removed stage still drains its queue: a stage of its name can't be added yet.
        let mut retry = false;
        loop {
            let wakeup = match self.polls || retry {
                true => woken.recv_timeout(POLL_INTERVAL),
                false => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match wakeup {
                Ok(Wakeup::Reload) => {
                    let now = self.stamps();
                    (applied, retry) = self.apply(now, true);
                    last = applied.clone();
                }
                Ok(Wakeup::Over) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.stamps();
                    let is_settled = now == last;
                    missing = match now.lacks_some_of(&applied) {
                        true => missing + 1,
                        false => 0,
                    };
                    let may_come = missing > 0 && missing < MAX_MISSING;
                    if is_settled && !may_come && (retry || self.polls && now != applied) {
                        (applied, retry) = self.apply(now, false);
                        last = applied.clone();
                        continue;
                    }
                    last = now;
                }
            }
        }
    }

    fn stamps(&self) -> FileStamps {
        FileStamps::read(&self.file, &self.folders).with_scripts(&self.scripts)
    }

    /// Reloads the files, which have these stamps. Returns those that are applied then, and whether to retry soon.
    fn apply(&mut self, stamps: FileStamps, verbose: bool) -> (FileStamps, bool) {
        let retry = self.reload(verbose);
        // Other scripts, perhaps: those that are new here have just been read.
        (stamps.with_scripts(&self.scripts), retry)
    }

    /// Reloads the files. Returns whether to retry soon. `verbose`: also reports that nothing differs.
    fn reload(&mut self, verbose: bool) -> bool {
        if self.reloader.is_ending() {
            self.notify_ending(verbose);
            return false;
        }
        // A pipe may never have a writer, and a device no end.
        if let Err(error) = input::is_regular(&self.file) {
            let file = escaped(self.file.display());
            self.refuse("", &format!("{file}: {error}"));
            return false;
        }
        let catalogue = plugins::load_from(&self.folders);
        let pipeline = match pipeline_file::read(&self.file, &catalogue, &self.settings) {
            Ok(Ok(file)) => file.pipeline,
            Ok(Err(errors)) => {
                let count = errors.len();
                pipeline_file::log_errors(&errors);
                let errors = pipeline_file::rendered(errors, self.colours);
                let some = if count == 1 { "an error" } else { "errors" };
                let file = escaped(self.file.display());
                self.refuse(
                    &errors,
                    &format!("{file} has {some}; the run goes on as it was"),
                );
                return false;
            }
            Err(failure) => {
                let failure = escape_indented(&failure.to_string());
                self.refuse("", &failure);
                return false;
            }
        };
        self.scripts = pipeline_file::scripts::of(&pipeline, &catalogue);
        let driver = MouseDriver::of(&pipeline, &catalogue);
        let mut taken = Vec::new();
        if let Some(driver) = &driver
            && let Some(lock) = &mut self.mouse_lock
        {
            match lock.take(driver) {
                Ok(names) => taken = names,
                Err(failure) => {
                    self.refuse("", &escape_indented(&failure.to_string()));
                    return false;
                }
            }
        }
        // Before its first stroke.
        self.send(RunEvent::MouseDriver(driver.clone()));
        let changed = self.reloader.change(pipeline, &catalogue);
        match changed.is_ok() {
            true => self.driver = driver,
            false => {
                self.send(RunEvent::MouseDriver(self.driver.clone()));
                // Nothing here drives that mouse: another run may.
                if let Some(lock) = &mut self.mouse_lock {
                    lock.release(&taken);
                }
            }
        }
        match changed {
            Ok(changes) if changes.is_empty() => {
                if verbose {
                    self.notify("not changed: nothing differs".to_owned());
                }
            }
            Ok(changes) => {
                let changes = escape_indented(&changes.to_string());
                self.notify(format!("changed: {changes}"));
            }
            Err(ChangeError::Leaving { .. }) => return true,
            Err(ChangeError::Ending) => self.notify_ending(verbose),
            Err(error) => {
                let error = escape_indented(&error.to_string());
                self.refuse("", &format!("{error}; the run goes on as it was"));
            }
        }
        false
    }

    /// Prints why nothing has changed, below the errors of the file. A log for programs has those already, and gets the
    /// reason as a warning.
    fn refuse(&self, errors: &str, why: &str) {
        let text = format!("not changed: {why}");
        if !log::printed_warning(&text) {
            self.notify(format!("{errors}{text}"));
        }
    }

    fn notify_ending(&self, verbose: bool) {
        if verbose {
            self.notify(format!("not changed: {}", ChangeError::Ending));
        }
    }

    fn notify(&self, text: String) {
        self.send(RunEvent::Notice(text));
    }

    fn send(&self, event: RunEvent) {
        // The receiver is gone once printing has failed.
        let _ = self.events.send(event);
    }
}
