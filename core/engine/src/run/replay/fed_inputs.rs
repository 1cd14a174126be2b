//! Which inputs the outputs of a recorded run fed: a replay has no queues, and refuses what the run refused.

use std::sync::Arc;

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_recording::Recording;

use crate::edge::fed_input::{FedInput, InputPort};
use crate::run::stage::Stage;

/// Connects the outputs of the stages to the inputs that they fed. What an input took is known of plugins that are here.
pub(crate) fn connect(
    recording: &Recording,
    pipeline: &Pipeline,
    stages: &[Arc<Stage>],
    found: &[Vec<Found>],
    catalogue: &Catalogue,
) {
    let about = recording.about();
    let mut changes = recording.changes().iter();
    if changes.any(|change| change.edges != about.edges) {
        // Which queues there were depends on the time.
        return;
    }
    for stage in stages {
        for output in &stage.outputs {
            let from =
                |end: &(String, String)| end.0 == stage.settings.name && end.1 == output.name;
            let edges = about.edges.iter().filter(|edge| from(&edge.from));
            let fed = |to: &(String, String)| {
                let index = stages.iter().position(|it| it.settings.name == to.0)?;
                let input = |manifest: &Manifest| {
                    let mut inputs = manifest.inputs.iter();
                    inputs.find(|it| it.name == to.1).map(InputPort::new)
                };
                let input = match found.get(index).and_then(|found| found.first()) {
                    Some(found) => input(&found.manifest),
                    None => {
                        let contestants = &pipeline.stages.get(index)?.contestants;
                        let first = contestants.first()?;
                        let found = catalogue.find(&first.plugin)?;
                        input(&found.manifest.with_config(&first.config))
                    }
                };
                let stage = to.0.clone();
                input.map(|input| FedInput { stage, input })
            };
            output.fed.set(edges.filter_map(|edge| fed(&edge.to)));
        }
    }
}
