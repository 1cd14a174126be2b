//! The run's side: a socket, behind it a thread ([`Host`]) that tells whoever connects how the run goes.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::{Ending, Report};
use flowpipe_engine::run::{Options, RunHandle, RunView};

use super::folder;
use super::host::Host;
use super::slot::Slot;
use super::wire::{Hello, StageHello, VERSION};
use crate::show::happenings::Tally;

/// A run that can be looked at.
pub struct Offer {
    hello: Hello,
    slot: Arc<Slot>,
    serving: Option<Serving>,
}

/// The thread that serves.
struct Serving {
    thread: JoinHandle<()>,
    /// Tells it how the run ended, by a line.
    over: UnixStream,
    path: PathBuf,
}

impl Offer {
    /// Has the run's last messages kept.
    pub fn prepare(pipeline: &Pipeline, options: &mut Options) -> Self {
        let slot = Arc::new(Slot::default());
        options.observers.push(slot.clone());
        Self {
            hello: Hello {
                version: VERSION,
                flowpipe: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                pipeline: pipeline.name.clone(),
                started_unix_ns: options.clock.start_unix_ns(),
                replay: options.replay.is_some(),
                dry: options.dry,
                stages: pipeline.stages.iter().map(StageHello::of).collect(),
            },
            slot,
            serving: None,
        }
    }

    /// Lets others look from now on. Where that can't be, the run goes on without.
    pub fn open(&mut self, run: &RunHandle) {
        match Serving::begin(&self.hello, &self.slot, run.view()) {
            Ok(serving) => self.serving = Some(serving),
            Err(error) => tracing::debug!("`flowpipe top` can't look at this run: {error}"),
        }
    }

    /// What became of the boards so far.
    pub fn tell(&self, tally: &Tally) {
        self.slot.tell(tally);
    }

    /// The run is over.
    pub fn close(self, report: &Report) {
        self.slot.clear();
        let Some(Serving {
            thread,
            mut over,
            path,
        }) = self.serving
        else {
            return;
        };
        // Nobody finds it any more.
        let _ = std::fs::remove_file(path);
        // The thread reads this and ends; gone before only if it failed, which leaves nothing to be told.
        let _ = over.write_all(how(report).as_bytes());
        drop(over);
        let _ = thread.join();
    }
}

/// How a run ended, in words.
fn how(report: &Report) -> String {
    match (&report.failure, &report.ended) {
        (Some(failure), _) => format!("failed: {failure}"),
        (None, Some(ended)) => {
            let how = match ended.how {
                Ending::Done => "ended",
                Ending::Stopped => "stopped",
            };
            format!("{how} by {}: {}", ended.stage, ended.reason)
        }
        (None, None) if report.stopped => "stopped".to_owned(),
        (None, None) => "done".to_owned(),
    }
}

impl Serving {
    fn begin(hello: &Hello, slot: &Arc<Slot>, run_view: RunView) -> io::Result<Self> {
        let place = folder::place(&folder::open()?, hello.pid);
        let listener = folder::listen(&place)?;
        let (over, is_over) = UnixStream::pair()?;
        let host = Host::new(hello, slot.clone(), run_view, (listener, is_over))?;
        let thread = std::thread::Builder::new()
            .name("flowpipe-offer".into())
            .spawn(move || host.serve())?;
        Ok(Self {
            thread,
            over,
            path: place.path,
        })
    }
}
