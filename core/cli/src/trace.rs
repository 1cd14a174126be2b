//! `--trace FILE`: a run as a trace for `chrome://tracing` and <https://ui.perfetto.dev>.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::Options;
use flowpipe_output::OutputFile;
use flowpipe_recorder::trace::{Trace, Tracer};
use flowpipe_terminal::{Output, eprintln, escaped};

use crate::exit::Failure;
use crate::outputs;

/// A trace that is being written.
pub struct Tracing {
    path: PathBuf,
    file: OutputFile,
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
        let failure = outputs::failure(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(&failure)?;
        }
        let mut file = outputs::growing(path).map_err(&failure)?;
        let has_queues = options.replay.is_none();
        // It may go to a terminal, and names of a recording are in it. What is escaped means the same in JSON.
        let to = Output::new(file.file().map_err(&failure)?, false);
        let (tracer, trace) =
            Tracer::start(to, pipeline, options.clock, has_queues).map_err(&failure)?;
        // Its first lines are written.
        file.show().map_err(failure)?;
        options.observers.push(tracer as Arc<_>);
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            trace,
        }))
    }

    /// The run begins: from now on what is traced is kept, however it ends.
    pub fn begins(&mut self) {
        self.file.keep();
    }

    /// The run did not begin: nothing is left of the trace.
    pub fn discard(self) {
        self.file.discard();
    }

    /// Waits until everything is written, and says what was, on standard error.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        let path = self.path.display().to_string();
        let failure = outputs::failure(&self.path);
        let traced = self.trace.finish().map_err(&failure)?;
        self.file.commit().map_err(&failure)?;
        let path = escaped(path);
        eprintln!(
            "traced {} calls, {} messages: {path} (ui.perfetto.dev and chrome://tracing open it)",
            traced.calls, traced.messages
        );
        Ok(())
    }
}
