//! Runs a pipeline to its end, prints its events, and serves `flowpipe top` and scrapers.

use std::time::Duration;

use crossbeam_channel::Receiver;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::catalogue::Catalogue;

use crate::console::Console;
use crate::console::steps::Steps;
use crate::events::RunEvent;
use crate::exit::Failure;
use crate::follow::follow;
use crate::machines::{Bridges, EndedMachines, OtherMachines};
use crate::metric_families::source::{FamilySource, RunFacts};
use crate::otlp::OtlpExport;
use crate::prometheus;
use crate::prometheus::address::ScrapeListener;
use crate::reload::ReloadOptions;
use crate::signals;
use crate::supervision::Supervision;
use crate::tally::Tally;
use crate::top::publisher::Publisher;

/// How often the other machines are heard, and the service manager hears of the run, while nothing is followed.
const UPDATE_INTERVAL: Duration = Duration::from_millis(20);

/// A run that has ended.
pub struct CompletedRun {
    pub report: Report,
    pub tally: Tally,
    pub steps: Steps,
    /// Whether a signal stopped it.
    pub interrupted: bool,
    /// The end of the whole run, if other machines were part of it.
    pub machines: Option<EndedMachines>,
    /// Fails when standard output was closed.
    pub printed: Result<(), Failure>,
}

/// What a run is connected to, if it is.
#[derive(Default)]
pub struct Attached<'a> {
    /// Which changes of files are reloaded.
    pub reload: Option<ReloadOptions<'a>>,
    /// The other machines of the run.
    pub others: Option<OtherMachines>,
    /// To whom the run is reported.
    pub supervision: Option<Supervision>,
    /// Where its metrics are read.
    pub scrapes: Option<ScrapeListener>,
    /// Where its calls and metrics are sent to.
    pub otlp: Option<OtlpExport>,
}

/// Starts a run and prints its events until it ends.
///
/// # Errors
/// When the run can't start.
pub fn run(
    pipeline: Pipeline,
    catalogue: &Catalogue,
    mut options: Options,
    events: &Receiver<RunEvent>,
    mut console: Console<'_>,
    attached: Attached<'_>,
) -> Result<CompletedRun, Failure> {
    let Attached {
        reload,
        mut others,
        mut supervision,
        scrapes,
        otlp,
    } = attached;
    let name = pipeline.name.clone();
    let facts = RunFacts::of(&pipeline, &options);
    let machine = others.as_ref().map(OtherMachines::own_name);
    let mut publisher = Publisher::prepare(&pipeline, machine, console.tally(), &mut options);
    let started = Run::start(pipeline, catalogue, options).map_err(Failure::from);
    let mut handle = OtherMachines::or_fail(&mut others, started)?;
    signals::stop(&handle);
    let progress = others.as_ref().map(OtherMachines::progress);
    let mut bridges = others.map(|others| others.start(&mut handle)).transpose()?;
    let reloading = reload.map(|reload| reload.start(&handle)).transpose()?;
    let progress = progress.unwrap_or_default();
    publisher.open(&handle, progress.clone());
    let published = console.tally().metrics.clone();
    let source = || {
        let (facts, progress) = (facts.clone(), progress.clone());
        FamilySource::new(facts, handle.view(), progress, published.clone())
    };
    let scraped = scrapes.map(|at| prometheus::server::serve(at, source()));
    let scraped = scraped.transpose()?;
    let exported = otlp.map(|otlp| otlp.start(source())).transpose()?.flatten();
    if let Some(supervision) = &supervision {
        supervision.started(&name);
    }
    let printed = follow(&handle, events, |event| {
        let is_event = event.is_some();
        supervision.iter_mut().for_each(Supervision::update);
        if let Some(bridges) = &mut bridges {
            bridges.update(&handle);
        }
        console.update(&handle, event)?;
        if is_event {
            publisher.update(console.tally());
        }
        Ok(())
    });
    if printed.is_err() {
        // Standard output was closed (`flowpipe run … | head`).
        handle.stop();
    }
    // The run goes on where standard output was closed, and the others need to hear of it. They may need workers of this
    // machine after the run of its own stages.
    loop {
        if let Some(bridges) = &mut bridges {
            bridges.update(&handle);
        }
        let is_serving = bridges.as_ref().is_some_and(Bridges::are_serving);
        if handle.is_over() && !is_serving {
            break;
        }
        std::thread::sleep(UPDATE_INTERVAL);
        supervision.iter_mut().for_each(Supervision::update);
    }
    let report = handle.wait();
    drop(scraped);
    let machines = bridges.map(|bridges| {
        let update = || supervision.iter_mut().for_each(Supervision::update);
        bridges.finish(report.clone(), update)
    });
    // Only now: the stages of other machines may go on for hours, and the service manager kills what does not end soon
    // after this.
    if let Some(supervision) = &supervision {
        supervision.ends();
    }
    if let Some(reloading) = reloading {
        reloading.end();
    }
    publisher.close(&report);
    let (tally, steps, ended) = console.end();
    // After the last metrics of the stages.
    if let Some(exported) = exported {
        exported.finish();
    }
    Ok(CompletedRun {
        report,
        tally,
        steps,
        interrupted: signals::was_asked(),
        machines,
        printed: printed.and(ended),
    })
}
