//! A machine that lacks plugins of the pipeline, and reports that to the others, which would wait for it.

use std::time::Duration;

use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_machines::{Wanted, agree};
use flowpipe_terminal::eprintln;

use super::{GivenOptions, StartingPeers, notices};
use crate::exit::Failure;
use crate::installed_facts;
use crate::pipeline_file::PipelineFile;

/// How long it waits for the others. A name that no plugin has is often an error of the file, which each machine reports.
const REPORT_TIMEOUT: Duration = Duration::from_secs(60);

/// Reports to the other machines which plugins this one lacks, if it lacks some. `file`: the pipeline file without
/// its plugins; its errors are printed. `machine`: the name of this one. `options`: what was given besides the file.
pub fn report(file: &PipelineFile, machine: &str, catalogue: &Catalogue, options: &GivenOptions) {
    let Ok(Some(own)) = super::own(&file.pipeline.machines, Some(machine)) else {
        return;
    };
    let mut plugins = installed_facts::plugins_of(&file.pipeline);
    if plugins.all(|it| catalogue.find(it).is_some()) {
        return;
    }
    let seconds = REPORT_TIMEOUT.as_secs();
    eprintln!(
        "this machine lacks plugins: it waits up to {seconds} s for the others, to report that to them"
    );
    if let Err(failure) = exchange(file, own, catalogue, options) {
        failure.show();
    }
}

/// Exchanges with the others what each one runs. One that has the plugins, or has another file, finds the difference.
fn exchange(
    file: &PipelineFile,
    own: usize,
    catalogue: &Catalogue,
    options: &GivenOptions,
) -> Result<(), Failure> {
    let pipeline = &file.pipeline;
    let facts = super::facts(pipeline, catalogue, &file.text, options)?;
    let (topology, peers) = super::connect(pipeline, own, Clock::default())?;
    let all: Vec<_> = peers.iter().map(|(_, peer)| peer).collect();
    let notice = notices::missing(&pipeline.machines.all[own]);
    let wanted = Wanted::default();
    let agreed = agree(&topology, &all, &facts, wanted, REPORT_TIMEOUT, notice);
    agreed.map_err(notices::refused)?;
    // All lack the same plugins. Each may not know yet that the others are there, and would wait for them.
    drop(StartingPeers::new(peers));
    Ok(())
}
