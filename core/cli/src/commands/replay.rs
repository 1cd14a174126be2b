//! `flowpipe replay FILE`: replays a recorded run, and verifies its messages.

use std::io::Write as _;
use std::sync::Arc;

use flowpipe_config::reader;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::replay::verify::{Difference, Verdict, Verifier};
use flowpipe_engine::run::replay::{Allowed, NotRerunReason, PlanError, Replay, ReplayOptions};
use flowpipe_engine::run::{Observer, Options};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_recording::{Limits, Recording};
use flowpipe_terminal::{counted, eprintln, escape, escaped, stdout, was};
use serde_json::json;

use crate::args::{self, Global, Speed};
use crate::console::Console;
use crate::events::EventForwarder;
use crate::exit::{Ended, Failure};
use crate::foreground::{self, Attached, CompletedRun};
use crate::pipeline_file::named_files::NamedFiles;
use crate::record::{RecordedRun, RunRecording};
use crate::show::colour::{self, BAD, GOOD, paint};
use crate::show::report;
use crate::tally::Tally;
use crate::trace::Tracing;
use crate::visibility::Visibility;
use crate::{metrics, outputs, plugins, processes, recording_file, signals};

pub fn run(global: &Global, args: &args::Replay) -> Result<Ended, Failure> {
    signals::at_once();
    let limits = match args.no_limits {
        true => Limits::None,
        false => Limits::Strict,
    };
    let recording = recording_file::open(&args.file, limits)?;
    let catalogue = plugins::load_all(global);
    let mut named = args.swap.iter().map(|swap| swap.plugin.as_str());
    if let Some(name) = named.find(|name| catalogue.find(name).is_none()) {
        return Err(Failure::Config(format!(
            "--swap: {}",
            plugins::unknown(&catalogue, name)
        )));
    }
    let recording = Arc::new(recording);
    let options = wish(args, &catalogue)?;
    let (pipeline, replay) =
        Replay::new(recording.clone(), &options, &catalogue).map_err(refusal)?;
    outputs::note_inputs_of(&pipeline, &catalogue);
    for (stage, effect) in replay.effects() {
        eprintln!("flowpipe: stage \"{}\" {}", escaped(stage), escaped(effect));
    }
    let visibility = Visibility::of(&pipeline, &pipeline, &catalogue);
    // The thread that receives waits for no reader of what it prints, so that few events are queued.
    let (sender, events) = crossbeam_channel::unbounded();
    let verifier = args.verify.then(|| Verifier::new(replay.clone()));
    let mut options = Options {
        observers: vec![Arc::new(EventForwarder::of_replay(
            sender.clone(),
            visibility.is_shown.clone(),
        ))],
        // Always, whatever the recording contains.
        dry: true,
        replay: Some(replay.clone()),
        program: processes::program(),
        ..Options::default()
    };
    if let Some(verifier) = &verifier {
        options.observers.push(verifier.clone());
    }
    let mut output = match &args.record {
        Some(to) => {
            let run = RecordedRun {
                pipeline: &pipeline,
                catalogue: &catalogue,
                file: &args.file,
                text: recording.pipeline(),
                clock: options.clock,
                dry: options.dry,
            };
            Some(RunRecording::of_replay(to, &run, &recording, sender)?)
        }
        None => None,
    };
    if let Some(output) = &output {
        let recorder: Arc<dyn Observer> = output.recorder();
        options.observers.push(recorder);
    }
    let mut tracing = Tracing::create(args.trace.as_deref(), &pipeline, &mut options, None)?;
    output.iter_mut().for_each(RunRecording::keep);
    tracing.iter_mut().for_each(Tracing::keep);
    // What is printed of a replay is what was recorded.
    let recorded_dry = recording.about().dry;
    let console = Console::new(global, args.quiet || args.json, recorded_dry, visibility)?;
    let completed = foreground::run(
        pipeline,
        &catalogue,
        options,
        &events,
        console,
        Attached::default(),
    );
    let CompletedRun {
        mut report,
        tally,
        interrupted,
        printed,
        ..
    } = match completed {
        Ok(completed) => completed,
        Err(failure) => {
            output.into_iter().for_each(RunRecording::discard);
            tracing.into_iter().for_each(Tracing::discard);
            return Err(failure);
        }
    };
    let recorded = output.map_or(Ok(()), RunRecording::finish);
    let traced = tracing.map_or(Ok(()), Tracing::finish);
    recorded.and(traced)?;
    printed?;
    signals::at_once();
    add_machines(&mut report, &recording);
    let verdict = verifier.map(|verifier| verifier.verdict(interrupted));
    print(global, args, (&report, &tally), &replay, verdict.as_ref())?;
    catalogue.close();
    Ok(if interrupted {
        Ended::Interrupted
    } else if verdict.is_some_and(|verdict| !verdict.is_verified()) {
        Ended::Differs
    } else {
        Ended::Done
    })
}

/// Adds to each stage the machine that ran it when it was recorded.
fn add_machines(report: &mut Report, recording: &Recording) {
    for stage in &mut report.stages {
        let mut recorded = recording.about().stages.iter();
        let recorded = recorded.find(|it| it.name == stage.name);
        stage.machine = recorded.and_then(|it| it.machine.clone());
    }
}

fn wish(args: &args::Replay, catalogue: &Catalogue) -> Result<ReplayOptions, Failure> {
    let mut swaps = args.swap.clone();
    // The files that the user typed. Those that a recording names are not read.
    let files = NamedFiles::of(None);
    for swap in &mut swaps {
        if let Some(found) = catalogue.find(&swap.plugin) {
            let read = reader::declared::read_schemas(&found.manifest, &mut swap.config, &files);
            read.map_err(|reason| Failure::Config(format!("--swap {}: {reason}", swap.stage)))?;
        }
    }
    Ok(ReplayOptions {
        from: args.from.clone(),
        swaps,
        allowed: Allowed {
            kinds: args.allow.iter().copied().flatten().collect(),
            unknown: args.allow.contains(&None),
        },
        speed: match args.speed {
            Speed::Times(times) => Some(times),
            Speed::Max => None,
        },
        has_no_limits: args.no_limits,
    })
}

/// The stages that changed during the recording.
fn changed(replay: &Replay) -> Vec<&str> {
    let withheld = replay.withheld();
    let changed = withheld.filter(|(_, why)| **why == NotRerunReason::Changed);
    changed.map(|(stage, _)| stage).collect()
}

fn refusal(error: PlanError) -> Failure {
    match error {
        PlanError::Nothing { .. } => Failure::Run(error.to_string()),
        PlanError::Cycle { .. } | PlanError::Workers { .. } => Failure::BadText(error.to_string()),
        PlanError::Config { .. } => Failure::Config(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    }
}

/// How many differences are printed; `--json` has all.
const SHOWN: usize = 10;

fn print(
    global: &Global,
    args: &args::Replay,
    (report, tally): (&Report, &Tally),
    replay: &Replay,
    verdict: Option<&Verdict>,
) -> Result<(), Failure> {
    let mut stdout = stdout();
    if args.json {
        let reason = |(stage, why): (&str, &NotRerunReason)| json!({ "stage": stage, "reason": why.to_string() });
        let withheld: Vec<_> = replay.withheld().map(reason).collect();
        let exceeded = replay.exceeded().into_iter();
        let exceeded = exceeded.map(|(stage, excess, calls)| {
            json!({ "stage": stage, "calls": calls, "reason": excess.description() })
        });
        let exceeded: Vec<_> = exceeded.collect();
        let all = json!({
            "verdict": verdict,
            "skipped": replay.skipped(),
            "changed": changed(replay),
            "from_recording": withheld,
            "exceeded": exceeded,
            "metrics": tally.metrics.rows(),
            "notes": tally.metrics.notes(),
            "report": report,
        });
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
        return Ok(());
    }
    let colours = colour::on_stdout(global);
    writeln!(
        stdout,
        "\n{}",
        report::replay_tables(report, colours).trim_end()
    )?;
    write!(stdout, "{}", metrics::table(&tally.metrics.rows()))?;
    if let Some(left_out) = tally.metrics.left_out() {
        writeln!(stdout, "{left_out}")?;
    }
    let recording: &Recording = replay.recording();
    if recording.is_cut_off() {
        writeln!(
            stdout,
            "the recording ends early: only complete calls were replayed"
        )?;
    }
    let changed = changed(replay);
    if !changed.is_empty() {
        writeln!(
            stdout,
            "changed during the recording, and played back instead of replayed: {}",
            escape(&changed.join(", "))
        )?;
    }
    for (stage, why) in replay.withheld() {
        if *why != NotRerunReason::Changed {
            writeln!(
                stdout,
                "played back instead of replayed: {} ({})",
                escaped(stage),
                escaped(why)
            )?;
        }
    }
    for (stage, excess, calls) in replay.exceeded() {
        writeln!(
            stdout,
            "played back instead of replayed: {} of {}, which took {} (--no-limits removes the limits)",
            counted(calls, "call"),
            escaped(stage),
            excess.description()
        )?;
    }
    if replay.skipped() > 0 {
        writeln!(
            stdout,
            "{} {} not replayed: the recording lacks the messages, or the state of the stage",
            counted(replay.skipped(), "call"),
            was(replay.skipped())
        )?;
    }
    let Some(verdict) = verdict else {
        return Ok(());
    };
    if verdict.from_recording > 0 {
        let stages = recording.about().stages.iter().enumerate();
        let played_back = stages.filter(|(index, _)| !replay.runs_again(*index));
        let played_back: Vec<_> = played_back.map(|(_, stage)| escape(&stage.name)).collect();
        let why = match changed.is_empty() {
            true => "has effects or is not deterministic",
            false => "has effects, is not deterministic or changed while it ran",
        };
        writeln!(
            stdout,
            "{} {} not compared, of stages that were not replayed ({}): sources, and what {why}",
            counted(verdict.from_recording, "message"),
            was(verdict.from_recording),
            played_back.join(", ")
        )?;
    }
    if verdict.without_call > 0 {
        writeln!(
            stdout,
            "{} of replayed stages {} not compared: the recording lacks the calls that emitted {}, or these calls were not \
             replayed",
            counted(verdict.without_call, "message"),
            was(verdict.without_call),
            if verdict.without_call == 1 {
                "it"
            } else {
                "them"
            }
        )?;
    }
    if verdict.not_played > 0 {
        let compared = verdict.same + verdict.differing;
        writeln!(
            stdout,
            "the replay was stopped: {} {} compared, {} {} not replayed",
            counted(compared, "message"),
            was(compared),
            verdict.not_played,
            was(verdict.not_played)
        )?;
    }
    for missing in &verdict.missing {
        writeln!(
            stdout,
            "{}: {} of {}, from message {} on; the recording lacks their calls and does not say why",
            paint("not verified", BAD, colours),
            counted(missing.messages, "message"),
            escape(&missing.edge),
            missing.first
        )?;
    }
    if verdict.skipped_without_reason > 0 {
        writeln!(
            stdout,
            "{}: {}; the recording lacks what they took and does not say why",
            paint("not verified", BAD, colours),
            counted(verdict.skipped_without_reason, "call")
        )?;
    }
    let Some(first) = verdict.differences.first() else {
        match (verdict.same, verdict.is_whole() && verdict.not_played == 0) {
            (0, _) => {
                let nothing = paint("nothing was verified", BAD, colours);
                writeln!(stdout, "{nothing}: no message was compared")?;
            }
            (same, true) => {
                let are_same = paint("the same", GOOD, colours);
                let same = counted(same, "message");
                writeln!(stdout, "{same}: {are_same}, byte for byte")?;
            }
            (1, false) => writeln!(stdout, "the 1 message that was compared is the same")?,
            (same, false) => writeln!(
                stdout,
                "all {same} messages that were compared are the same"
            )?,
        }
        return Ok(());
    };
    let differ = if verdict.differing == 1 {
        "differs"
    } else {
        "differ"
    };
    writeln!(
        stdout,
        "{} of {} {}; the first: {}",
        verdict.differing,
        counted(verdict.differing + verdict.same, "message"),
        paint(differ, BAD, colours),
        place(first)
    )?;
    for difference in verdict.differences.iter().take(SHOWN) {
        let field = match difference.field.as_str() {
            "" => String::new(),
            field => format!(" at {}", escape(field)),
        };
        writeln!(
            stdout,
            "  {}{field}\n    recorded: {}\n    now:      {}",
            place(difference),
            escape(&difference.recorded),
            escape(&difference.now)
        )?;
    }
    Ok(())
}

/// The edge and the message of a difference. The number of a message that was not recorded is made up, so that what its
/// call took names it.
fn place(difference: &Difference) -> String {
    let edge = escape(&difference.edge);
    let Some(unrecorded) = &difference.unrecorded else {
        return format!("{edge}, message {}", difference.sequence);
    };
    match (&unrecorded.took, unrecorded.took_sequence) {
        (Some(output), Some(sequence)) => format!(
            "{edge}, a message that was not recorded, after message {sequence} of {}",
            escape(output)
        ),
        _ => format!("{edge}, a message that was not recorded, of a call without a message"),
    }
}
