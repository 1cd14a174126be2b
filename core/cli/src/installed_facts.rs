//! What programs on several machines must have in common, for a run and for a batch.

use std::collections::BTreeMap;

use flowpipe_abi::{ABI_MAJOR, ABI_MINOR};
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_machines::Facts;
use flowpipe_recording::file_hash;

use crate::exit::Failure;

/// What programs that work together must have in common: their version, and the plugins with these names, as far as they
/// are found.
///
/// # Errors
/// When a plugin can't be read.
pub fn facts<'a>(
    catalogue: &Catalogue,
    plugins: impl IntoIterator<Item = &'a str>,
) -> Result<Facts, Failure> {
    let mut facts = BTreeMap::new();
    let mut add = |what: &str, value: String| facts.insert(what.to_owned(), value);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    add("the version of flowpipe", version);
    add("the version of the ABI", format!("{ABI_MAJOR}.{ABI_MINOR}"));
    for plugin in plugins {
        if let Some(found) = catalogue.find(plugin) {
            let hash = file_hash(&found.path).map_err(|error| Failure::File {
                path: found.path.display().to_string(),
                error,
            })?;
            add(&Facts::plugin(plugin), hash);
        }
    }
    Ok(Facts(facts))
}

/// The plugins of a pipeline.
pub fn plugins_of(pipeline: &Pipeline) -> impl Iterator<Item = &str> {
    let contestants = pipeline.stages.iter().flat_map(|it| &it.contestants);
    contestants.map(|it| &*it.plugin)
}
