//! The names of stages and their outputs.

use std::sync::{PoisonError, RwLock};

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{Pipeline, PortRef};

/// Names by the indices that messages carry. Stages may be added, and are never removed.
#[derive(Debug, Default)]
pub(crate) struct Names(RwLock<Vec<(String, Vec<String>)>>);

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
        let outputs = manifest.outputs.iter().map(|port| port.name.clone());
        let named = (stage.to_owned(), outputs.collect());
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(named);
    }

    /// The name of a stage.
    pub(crate) fn stage(&self, stage: usize) -> String {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names
            .get(stage)
            .map_or("?", |(name, _)| name.as_str())
            .to_owned()
    }

    /// The names of a stage and of one of its outputs.
    pub(crate) fn output(&self, port: PortRef) -> (String, String) {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some((stage, ports)) = names.get(port.stage) else {
            return ("?".into(), "?".into());
        };
        let port = ports.get(port.port).map_or("?", String::as_str);
        (stage.clone(), port.to_owned())
    }
}
