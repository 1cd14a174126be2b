//! Who plays which part in a pipeline, as far as it matters for what is shown.

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_puzzle::message::RESULT;

/// Who plays in the pipeline.
pub struct Cast {
    /// By stage.
    pub names: Vec<String>,
    /// By stage: whether what it emits is shown. A referee passes on what others have said.
    pub speaks: Vec<bool>,
    /// Whether somebody says what became of each board.
    pub has_referee: bool,
}

impl Cast {
    pub fn of(pipeline: &Pipeline, catalogue: &Catalogue) -> Self {
        let manifests = pipeline.stages.iter().map(|stage| {
            let first = stage.contestants.first();
            first.and_then(|first| catalogue.find(&first.plugin))
        });
        let speaks: Vec<bool> = manifests.clone().map(speaks).collect();
        Self {
            names: pipeline
                .stages
                .iter()
                .map(|stage| stage.name.clone())
                .collect(),
            has_referee: speaks.contains(&false),
            speaks,
        }
    }
}

/// Whether what a stage of that plugin emits is shown.
pub fn speaks(found: Option<&Found>) -> bool {
    found.is_none_or(|found| !is_referee(&found.manifest))
}

/// A referee says what became of boards.
fn is_referee(manifest: &Manifest) -> bool {
    manifest.outputs.iter().any(|port| port.schema == RESULT)
}
