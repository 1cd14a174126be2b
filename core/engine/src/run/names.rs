//! The names of stages and their outputs.

use std::sync::{PoisonError, RwLock};

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{Pipeline, PortRef};
use flowpipe_recording::Name;

/// Names by the indices that messages carry. Stages may be added, and are never removed.
#[derive(Debug, Default)]
pub(crate) struct Names(RwLock<Vec<(Name, Vec<Name>)>>);

impl Names {
    pub(crate) fn new(pipeline: &Pipeline, manifests: &[&Manifest]) -> Self {
        let names = Self::default();
        for (stage, manifest) in pipeline.stages.iter().zip(manifests) {
            names.add(&stage.name, manifest);
        }
        names
    }

    /// Adds a stage with the next index.
    pub(crate) fn add(&self, stage: &str, manifest: &Manifest) {
        let outputs = manifest.outputs.iter().map(|port| (&port.name).into());
        let named = (stage.into(), outputs.collect());
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(named);
    }

    /// The name of a stage.
    pub(crate) fn stage(&self, stage: usize) -> Name {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = names.get(stage).map(|(name, _)| name.clone());
        name.unwrap_or_else(|| "?".into())
    }

    /// The names of a stage and of one of its outputs.
    pub(crate) fn output(&self, port: PortRef) -> (Name, Name) {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some((stage, ports)) = names.get(port.stage) else {
            return ("?".into(), "?".into());
        };
        let port = ports.get(port.port).cloned();
        (stage.clone(), port.unwrap_or_else(|| "?".into()))
    }
}
