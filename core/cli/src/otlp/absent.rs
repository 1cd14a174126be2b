//! `--otlp` of a program that is built without the feature: it can't be used.

use std::convert::Infallible;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::Options;

use crate::exit::Failure;
use crate::metric_families::source::FamilySource;

/// Where a run is sent to: nowhere.
pub struct OtlpExport(Infallible);

/// A run that is sent.
pub struct ActiveExport(Infallible);

impl OtlpExport {
    /// Reads where the collector is.
    ///
    /// # Errors
    /// Always: this program can't send to one.
    pub fn prepare(_: &str) -> Result<Self, Failure> {
        let why = "--otlp: this flowpipe is built without OpenTelemetry. Build one that has it by \
                   `cargo build --release --locked --workspace --features flowpipe/otlp`";
        Err(Failure::Usage(why.to_owned()))
    }

    /// Observes a run.
    ///
    /// # Errors
    /// Never.
    pub fn observe(
        &mut self,
        _: &Pipeline,
        _: Option<usize>,
        _: &mut Options,
    ) -> Result<(), Failure> {
        match self.0 {}
    }

    /// Sends the metrics of a run.
    ///
    /// # Errors
    /// Never.
    pub fn start(self, _: FamilySource) -> Result<Option<ActiveExport>, Failure> {
        match self.0 {}
    }
}

impl ActiveExport {
    /// The run is over.
    pub fn finish(self) {
        match self.0 {}
    }
}
