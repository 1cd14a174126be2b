//! What stages and their outputs are called.

use crate::manifest::Manifest;
use crate::pipeline::{Pipeline, PortRef};

/// Names by the numbers that messages carry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<(String, Vec<String>)>);

impl Names {
    pub(crate) fn new(pipeline: &Pipeline, manifests: &[&Manifest]) -> Self {
        let outputs = |manifest: &Manifest| {
            let outputs = manifest.outputs.iter();
            outputs.map(|port| port.name.clone()).collect()
        };
        let stages = pipeline.stages.iter().zip(manifests);
        Self(
            stages
                .map(|(stage, manifest)| (stage.name.clone(), outputs(manifest)))
                .collect(),
        )
    }

    /// The name of a stage.
    pub(crate) fn stage(&self, stage: usize) -> &str {
        self.0.get(stage).map_or("?", |(name, _)| name)
    }

    /// The names of a stage and of one of its outputs.
    pub(crate) fn output(&self, port: PortRef) -> (&str, &str) {
        let Some((stage, ports)) = self.0.get(port.stage) else {
            return ("?", "?");
        };
        (stage, ports.get(port.port).map_or("?", String::as_str))
    }
}
