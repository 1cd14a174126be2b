//! `flowpipe run FILE`: runs a pipeline, prints its events, and at the end its report.

use std::io::Write as _;
use std::sync::Arc;

use flowpipe_engine::report::Ending;
use flowpipe_engine::run::Options;
use flowpipe_machines::Wanted;
use flowpipe_terminal::{eprintln, escape};
use serde_json::json;

use crate::args::{self, Global};
use crate::console::Console;
use crate::console::mouse_notice::MouseNotice;
use crate::events::{EventForwarder, RunEvent};
use crate::exit::{Ended, Failure};
use crate::foreground::{self, Attached, CompletedRun};
use crate::machines::{self, GivenOptions, OtherMachines, lack};
use crate::mouse_driver::MouseDriver;
use crate::mouse_lock::MouseLock;
use crate::otlp::OtlpExport;
use crate::pipeline_file::{ReadFile, settings};
use crate::prometheus::address::ScrapeListener;
use crate::record::flight::{FlightOptions, FlightRecorder};
use crate::record::{LossMode, RecordedRun, RecordingFile, RunRecording};
use crate::reload::{FileStamps, ReloadOptions};
use crate::show::{colour, log, report};
use crate::supervision::Supervision;
use crate::tally::on_this_machine;
use crate::trace::Tracing;
use crate::visibility::Visibility;
use crate::{metrics, outputs, pipeline_file, plugins, processes};

pub fn run(global: &Global, args: &args::Run) -> Result<Ended, Failure> {
    let path = pipeline_file::find(&args.file)?;
    let settings = settings::of(args);
    let supervision = args.supervised.then(Supervision::of_environment);
    let supervision = supervision.transpose()?;
    let listen = |address| ScrapeListener::bind(address, args.metrics_allow_remote);
    let scrapes = args.metrics.map(listen).transpose()?;
    let mut otlp = args.otlp.as_deref().map(OtlpExport::prepare).transpose()?;
    // Before the files are read, so that a change meanwhile is reloaded.
    let before = FileStamps::read(&path, &plugins::folders(global));
    let catalogue = plugins::load(global);
    let file = match pipeline_file::read_or_outline(&path, &catalogue, &settings, global)? {
        ReadFile::Valid(file) => file,
        ReadFile::Wrong(outline) => {
            if let (Some(outline), Some(machine)) = (outline, &args.machine) {
                lack::report(&outline, machine, &catalogue, &GivenOptions::of(args));
            }
            return Ok(Ended::BadConfig);
        }
    };
    let pipeline = file.pipeline;
    let own = machines::own(&pipeline.machines, args.machine.as_deref())?;
    outputs::note_input(&path);
    outputs::note_inputs_of(&pipeline, &catalogue);
    let here = machines::stages_of(&pipeline, own);
    let driver = MouseDriver::of(&here, &catalogue);
    let drives_mouse = driver.is_some();
    let mut mouse_lock = MouseLock::default();
    if let Some(driver) = &driver
        && !args.dry_run
    {
        mouse_lock.take(driver)?;
    }
    let visibility = Visibility::of(&pipeline, &here, &catalogue);
    // The thread that receives waits for no reader of what it prints, so that few events are queued.
    let (sender, events) = crossbeam_channel::unbounded();
    let forwarder = Arc::new(EventForwarder::new(
        sender.clone(),
        visibility.is_shown.clone(),
    ));
    let mut options = Options {
        observers: vec![forwarder.clone()],
        dry: args.dry_run,
        program: processes::program(),
        ..Options::default()
    };
    let facts = || machines::facts(&pipeline, &catalogue, &file.text, &GivenOptions::of(args));
    let wanted = Wanted {
        recording: args.record.is_some(),
        trace: args.trace.is_some(),
    };
    let connect = |own| OtherMachines::connect(&pipeline, own, options.clock, &facts()?, wanted);
    let mut others = own.map(connect).transpose()?;
    if let Some(others) = &mut others {
        options.clock = others.clock();
        options.elsewhere = others.stages();
        others.distribute(&catalogue, &mut options);
    }
    let recorded_run = RecordedRun {
        pipeline: &pipeline,
        catalogue: &catalogue,
        file: &path,
        text: &file.text,
        clock: options.clock,
        dry: args.dry_run,
    };
    let configured = pipeline.record.as_ref();
    let of_command = args.record.as_deref().map(RecordingFile::OfCommand);
    let to = of_command.or(configured.map(|record| RecordingFile::OfPipeline(&record.file)));
    // Of several machines, each would drop other lineages.
    let lossless =
        args.record_lossless || own.is_some() || configured.is_some_and(|record| record.lossless);
    let events_of_recorders = sender.clone();
    let mode = || LossMode {
        lossless,
        has_others: own.is_some(),
        machine: None,
        events: events_of_recorders.clone(),
    };
    let recording = to.map(|to| RunRecording::create(to, &recorded_run, mode()));
    let mut recording = OtherMachines::or_fail(&mut others, recording.transpose())?;
    if args.record_lossless && recording.is_none() {
        let why = "--record-lossless needs --record, or [record] in the pipeline";
        return Err(Failure::Usage(why.to_owned()));
    }
    let flight = args.flight.map(|length| FlightOptions {
        length,
        to: &args.flight_to,
        has_referee: visibility.has_referee,
        plugin_dirs: &global.plugin_dir,
    });
    let reload = ReloadOptions {
        file: &path,
        driver: driver.clone(),
        mouse_lock: (!args.dry_run).then_some(mouse_lock),
        settings,
        polls: args.watch,
        global,
        before,
        scripts: pipeline_file::scripts::of(&pipeline, &catalogue),
        events: sender.clone(),
    };
    let flight = flight.map(|flight| FlightRecorder::start(&flight, &recorded_run, sender));
    let flight = flight.transpose()?;
    let recorders = recording.iter().map(RunRecording::recorder);
    for recorder in recorders.chain(flight.iter().map(|it| it.recorder.clone())) {
        options.observers.push(recorder);
    }
    let trace = args.trace.as_deref();
    let tracing = Tracing::create(trace, &pipeline, &mut options, own);
    let mut tracing = OtherMachines::or_fail(&mut others, tracing)?;
    if let Some(otlp) = &mut otlp {
        otlp.observe(&pipeline, own, &mut options)?;
    }
    if let Some(others) = &mut others {
        let recorder = recording.as_ref().map(RunRecording::recorder);
        let tracer = tracing.as_ref().map(Tracing::tracer);
        others.observe((recorder, tracer), &recorded_run, &mode, &mut options)?;
    }
    recording.iter_mut().for_each(RunRecording::keep);
    tracing.iter_mut().for_each(Tracing::keep);
    let mouse = (!args.quiet).then(|| MouseNotice::new(driver, args.dry_run));
    let writes_stdout = visibility.writes_stdout;
    let console = Console::new(global, args.quiet || args.json, args.dry_run, visibility)?;
    let console = console.with_mouse_notice(mouse);
    let completed = foreground::run(
        pipeline,
        &catalogue,
        options,
        &events,
        console,
        Attached {
            reload: Some(reload),
            others,
            supervision,
            scrapes,
            otlp,
        },
    );
    let CompletedRun {
        mut report,
        tally,
        steps,
        interrupted,
        machines,
        printed,
    } = match completed {
        Ok(completed) => completed,
        Err(failure) => {
            recording.into_iter().for_each(RunRecording::discard);
            tracing.into_iter().for_each(Tracing::discard);
            return Err(failure);
        }
    };
    let ended = report.ended.as_ref().map(|ended| ended.how);
    let has_all = machines.as_ref().is_none_or(|it| it.has_all);
    if let Some(machines) = &machines {
        report.clone_from(&machines.report);
    }
    if let Some(failure) = &mut report.failure {
        forwarder.name_frame(failure);
    }
    if let Some(failure) = &report.failure {
        log::printed_error(&format!("the run failed: {failure}"));
    }
    let recorded = recording.map_or(Ok(()), RunRecording::finish);
    let landed = flight.map_or(Ok(()), FlightRecorder::finish);
    for event in events.try_iter() {
        match event {
            RunEvent::Notice(text) | RunEvent::Lost(text) => eprintln!("{text}"),
            _ => {}
        }
    }
    let traced = tracing.map_or(Ok(()), Tracing::finish);
    printed?;

    if args.json {
        let mut all = json!({
            "boards": tally.has_boards().then_some(&tally),
            "dry": args.dry_run,
            "gestures": tally.gestures,
            "metrics": tally.metrics.rows(),
            "notes": tally.metrics.notes(),
            "report": report,
            "steps": steps.report(),
        });
        if let Some(machines) = &machines {
            all["machines"] = json!(machines.machines);
        }
        let mut stdout = flowpipe_terminal::stdout();
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        let colours = match writes_stdout {
            true => colour::on_stderr(global),
            false => colour::on_stdout(global),
        };
        let tables = report::tables(&report, drives_mouse, colours);
        let mut text = format!("\n{}\n", tables.trim_end());
        if let Some(machines) = &machines {
            text += &machines.lines();
        }
        text += &steps.table();
        text += &metrics::table(&tally.metrics.rows());
        if let Some(left_out) = tally.metrics.left_out() {
            text += &format!("{left_out}\n");
        }
        if let Some(ended) = &report.ended {
            let (stage, reason) = (escape(&ended.stage), escape(&ended.reason));
            let how = match ended.how {
                Ending::Done => "ended",
                Ending::Stopped => "stopped",
            };
            text += &format!("{how} by {stage}: {reason}\n");
        }
        let mut summary = tally.summary();
        if machines.is_some() {
            summary = on_this_machine(summary);
        }
        if !summary.is_empty() {
            text += &format!("{summary}\n");
        }
        match writes_stdout {
            true => flowpipe_terminal::print_lines(&text)?,
            false => flowpipe_terminal::stdout().write_all(text.as_bytes())?,
        }
    }
    catalogue.close();
    recorded.and(landed).and(traced)?;
    let by_user = ended == Some(Ending::Stopped);
    let is_in_vain = ended == Some(Ending::Done) && tally.is_in_vain();
    Ok(if by_user || interrupted {
        Ended::Interrupted
    } else if report.failure.is_some() || !has_all {
        Ended::StageFailed
    } else if is_in_vain {
        Ended::Unanswered
    } else {
        Ended::Done
    })
}
