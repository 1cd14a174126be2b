//! `--trace FILE`: a run as a trace for `chrome://tracing` and <https://ui.perfetto.dev>.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::Options;
use flowpipe_output::OutputFile;
use flowpipe_recorder::trace::{Trace, Tracer};
use flowpipe_terminal::{Output, counted, eprintln, escaped};

use crate::exit::Failure;
use crate::outputs;

/// A trace that is being written.
pub struct Tracing {
    path: PathBuf,
    file: OutputFile,
    trace: Trace,
    tracer: Arc<Tracer>,
}

impl Tracing {
    /// Starts a trace, if one is requested, and adds it to the observers of the run. `own`: this machine, if others send
    /// what their stages do.
    ///
    /// # Errors
    /// When the file can't be created.
    pub fn create(
        to: Option<&Path>,
        pipeline: &Pipeline,
        options: &mut Options,
        own: Option<usize>,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = to else {
            return Ok(None);
        };
        let failure = outputs::failure(path);
        let mut file = outputs::growing(path).map_err(&failure)?;
        let has_queues = options.replay.is_none();
        // It may go to a terminal, and contains names from a recording. The escapes are valid JSON.
        let to = Output::new(file.file().map_err(&failure)?, false);
        let started = match own {
            Some(own) => Tracer::of_machines(to, pipeline, options.clock, own),
            None => Tracer::start(to, pipeline, options.clock, has_queues),
        };
        let (tracer, trace) = started.map_err(&failure)?;
        // Its first lines are written.
        file.show().map_err(failure)?;
        options.observers.push(tracer.clone() as Arc<_>);
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            trace,
            tracer,
        }))
    }

    /// The observer of the run.
    pub fn tracer(&self) -> Arc<Tracer> {
        self.tracer.clone()
    }

    /// The run starts: the trace is kept from now on, however the run ends.
    pub fn keep(&mut self) {
        self.file.keep();
    }

    /// The run did not start: removes the trace.
    pub fn discard(self) {
        self.file.discard();
    }

    /// Waits until everything is written, and reports the counts on standard error.
    ///
    /// # Errors
    /// When a write failed.
    pub fn finish(self) -> Result<(), Failure> {
        let path = self.path.display().to_string();
        let traced = self.trace.finish().map_err(|error| {
            let left = self.file.lies_at().unwrap_or(&self.path);
            let left = left.display();
            Failure::Run(format!(
                "{path}: {error}; what was written before is in {left}"
            ))
        })?;
        self.file.commit().map_err(outputs::failure(&self.path))?;
        let path = escaped(path);
        let missing = match traced.dropped {
            0 => String::new(),
            dropped => format!(
                "; {} missing, because it could not be written fast enough",
                counted(dropped, "event")
            ),
        };
        eprintln!(
            "traced {}, {}: {path} (ui.perfetto.dev and chrome://tracing open it){missing}",
            counted(traced.calls, "call"),
            counted(traced.messages, "message")
        );
        Ok(())
    }
}
