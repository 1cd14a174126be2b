//! `flowpipe run FILE`: runs a pipeline, shows what happens, and prints what it did.

use std::io::Write as _;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::{Ending, Report};
use flowpipe_engine::run::{Options, Run, StartError};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_terminal::{eprintln, escape};
use serde_json::json;

use crate::args::{self, Global};
use crate::cast::Cast;
use crate::exit::{Ended, Failure};
use crate::follow::follow;
use crate::record::flight::{self, FlightPlan, FlightRecorder};
use crate::record::{Keeping, Recordist, Take};
use crate::show::colour;
use crate::show::happenings::Tally;
use crate::show::report;
use crate::show::screen::{Forward, Happening, Screen};
use crate::show::steps::Steps;
use crate::top::offer::Offer;
use crate::trace::Tracing;
use crate::{apart, checks, outputs, pipeline_file, plugins, signals, watch};

pub fn run(global: &Global, args: &args::Run) -> Result<Ended, Failure> {
    // Before they are read: what changes meanwhile is taken up too.
    let before = watch::Files::look(&args.file, &plugins::folders(global));
    let catalogue = plugins::load(global);
    let Some(written) = pipeline_file::read_or_show(&args.file, &catalogue, global)? else {
        return Ok(Ended::BadConfig);
    };
    let pipeline = written.pipeline;
    outputs::note_input(&args.file);
    outputs::note_inputs_of(&pipeline, &catalogue);
    let cast = Cast::of(&pipeline, &catalogue);
    let (sender, happenings) = crossbeam_channel::unbounded();
    let mut options = Options {
        validators: checks::validators(),
        observers: vec![Arc::new(Forward::new(sender.clone(), cast.speaks.clone()))],
        dry: args.dry_run,
        program: apart::program(),
        ..Options::default()
    };
    let take = Take {
        pipeline: &pipeline,
        catalogue: &catalogue,
        file: &args.file,
        text: &written.text,
        clock: options.clock,
        dry: args.dry_run,
    };
    let written = pipeline.record.as_ref();
    let recordist = args.record.as_ref().or(written.map(|record| &record.file));
    let recordist = recordist.map(|to| {
        let keeping = Keeping {
            lossless: args.record_lossless || written.is_some_and(|record| record.lossless),
            told: sender.clone(),
        };
        Recordist::begin(to, &take, keeping)
    });
    let mut recordist = recordist.transpose()?;
    if args.record_lossless && recordist.is_none() {
        let why = "--record-lossless needs --record, or [record] in the pipeline";
        return Err(Failure::Usage(why.to_owned()));
    }
    let plan = args.flight.map(|length| FlightPlan {
        length,
        to: &args.flight_to,
        has_referee: cast.has_referee,
    });
    let wish = watch::Wish {
        file: &args.file,
        looks: args.watch,
        global,
        before,
        told: sender.clone(),
    };
    let flight = plan.map(|plan| FlightRecorder::begin(&plan, &take, sender));
    let flight = flight.transpose()?;
    let recorders = recordist.iter().map(Recordist::recorder);
    for recorder in recorders.chain(flight.iter().map(|it| it.recorder.clone())) {
        options.observers.push(recorder);
    }
    let mut tracing = Tracing::begin(args.trace.as_deref(), &pipeline, &mut options)?;
    recordist.iter_mut().for_each(Recordist::begins);
    tracing.iter_mut().for_each(Tracing::begins);
    let screen = Screen::new(global, args.quiet || args.json, cast);
    let watched = watch(
        pipeline,
        &catalogue,
        options,
        &happenings,
        screen,
        Some(wish),
    );
    let Watched {
        report,
        tally,
        steps,
        interrupted,
        followed,
    } = match watched {
        Ok(watched) => watched,
        Err(failure) => {
            recordist.into_iter().for_each(Recordist::discard);
            tracing.into_iter().for_each(Tracing::discard);
            return Err(failure);
        }
    };
    let recorded = recordist.map_or(Ok(()), Recordist::finish);
    let landed = flight.map_or(Ok(()), FlightRecorder::finish);
    for happening in happenings.try_iter() {
        match happening {
            Happening::Landed(landed) => eprintln!("{}", flight::tell(&landed)),
            Happening::Told(text) | Happening::Lost(text) => eprintln!("{text}"),
            _ => {}
        }
    }
    let traced = tracing.map_or(Ok(()), Tracing::finish);
    followed?;

    let mut stdout = flowpipe_terminal::stdout();
    if args.json {
        let all = json!({ "boards": tally, "report": report, "steps": steps.report() });
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        let colours = colour::on_stdout(global);
        writeln!(stdout, "\n{}", report::tables(&report, colours).trim_end())?;
        write!(stdout, "{}", steps.table())?;
        if let Some(ended) = &report.ended {
            let (stage, reason) = (escape(&ended.stage), escape(&ended.reason));
            let how = match ended.how {
                Ending::Done => "ended",
                Ending::Stopped => "stopped",
            };
            writeln!(stdout, "{how} by {stage}: {reason}")?;
        }
        writeln!(stdout, "{}", tally.summary())?;
    }
    catalogue.close();
    recorded.and(landed).and(traced)?;
    let by_hand = report.ended.as_ref();
    let by_hand = by_hand.is_some_and(|ended| ended.how == Ending::Stopped);
    Ok(if by_hand || interrupted {
        Ended::Interrupted
    } else if report.failure.is_some() {
        Ended::StageFailed
    } else {
        Ended::Done
    })
}

/// A run that was shown from its start to its end.
pub struct Watched {
    pub report: Report,
    pub tally: Tally,
    pub steps: Steps,
    /// Whether a signal asked it to end.
    pub interrupted: bool,
    /// Fails when nobody read any more.
    pub followed: Result<(), Failure>,
}

/// Starts a run and shows what happens until it is over. `wish`: which changes of files it takes up.
///
/// # Errors
/// When it can't start.
pub fn watch(
    pipeline: Pipeline,
    catalogue: &Catalogue,
    mut options: Options,
    happenings: &Receiver<Happening>,
    mut screen: Screen<'_>,
    wish: Option<watch::Wish<'_>>,
) -> Result<Watched, Failure> {
    let mut offer = Offer::prepare(&pipeline, &mut options);
    let handle = Run::start(pipeline, catalogue, options).map_err(start_failure)?;
    signals::stop(&handle);
    let watching = wish.map(|wish| wish.begin(&handle)).transpose()?;
    offer.open(&handle);
    let followed = follow(&handle, happenings, |happening| {
        let has_news = happening.is_some();
        screen.take(&handle, happening)?;
        if has_news {
            offer.tell(screen.tally());
        }
        Ok(())
    });
    if followed.is_err() {
        // Nobody reads any more (`flowpipe run … | head`).
        handle.stop();
    }
    let report = handle.wait();
    if let Some(watching) = watching {
        watching.end();
    }
    offer.close(&report);
    let (tally, steps) = screen.end();
    Ok(Watched {
        report,
        tally,
        steps,
        interrupted: signals::was_asked(),
        followed,
    })
}

/// A config that a plugin refuses is a bad config, whoever found it.
pub fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Plugin { .. }
        | StartError::UnknownPlugin { .. }
        | StartError::Misfit { .. } => Failure::Config(error.to_string()),
        StartError::Thread(_) | StartError::Control => Failure::Run(error.to_string()),
    }
}
