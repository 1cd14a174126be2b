//! `--trace FILE`: a run as a trace for `chrome://tracing` and <https://ui.perfetto.dev>.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_runtime::pipeline::Pipeline;
use flowpipe_runtime::run::Options;
use flowpipe_runtime::trace::{Trace, Tracer};

use flowpipe_terminal::{eprintln, escaped};

use crate::exit::Failure;

/// A trace that is being written.
pub struct Tracing {
    path: PathBuf,
    trace: Trace,
}

impl Tracing {
    /// Begins a trace, where one is asked for, and has it watch the run. Folders are made.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn begin(
        to: Option<&Path>,
        pipeline: &Pipeline,
        options: &mut Options,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = to else {
            return Ok(None);
        };
        let failure = |error| Failure::File {
            path: path.display().to_string(),
            error,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failure)?;
        }
        let file = File::create(path).map_err(failure)?;
        let has_queues = options.replay.is_none();
        let (tracer, trace) =
            Tracer::start(file, pipeline, options.clock, has_queues).map_err(failure)?;
        options.observers.push(tracer as Arc<_>);
        Ok(Some(Self {
            path: path.to_owned(),
            trace,
        }))
    }

    /// Waits until everything is written, and says what was, on standard error.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        let path = self.path.display().to_string();
        let traced = self.trace.finish().map_err(|error| Failure::File {
            path: path.clone(),
            error,
        })?;
        let path = escaped(path);
        eprintln!(
            "traced {} calls, {} messages: {path} (ui.perfetto.dev and chrome://tracing open it)",
            traced.calls, traced.messages
        );
        Ok(())
    }
}
