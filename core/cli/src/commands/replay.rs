//! `flowpipe replay FILE`: runs a recorded run again, and says whether it gives the same.

use std::io::Write as _;
use std::sync::Arc;

use flowpipe_recording::{Limits, Recording};
use flowpipe_runtime::replay::verify::{Verdict, Verifier};
use flowpipe_runtime::replay::{Allowed, PlanError, Replay, Wish, Withheld};
use flowpipe_runtime::report::Report;
use flowpipe_runtime::run::{Observer, Options};
use flowpipe_terminal::{eprintln, escape, escaped, stdout};
use serde_json::json;

use crate::args::{self, Global, Speed};
use crate::cast::Cast;
use crate::commands::run::watch;
use crate::exit::{Ended, Failure};
use crate::record::{Recordist, Take};
use crate::show::colour::{self, BAD, GOOD, paint};
use crate::show::report;
use crate::show::screen::{Forward, Screen};
use crate::trace::Tracing;
use crate::{apart, checks, plugins, signals};

pub fn run(global: &Global, args: &args::Replay) -> Result<Ended, Failure> {
    signals::at_once();
    let limits = match args.no_limits {
        true => Limits::None,
        false => Limits::Strict,
    };
    let recording = crate::recording_file::open(&args.file, limits)?;
    let catalogue = plugins::load(global);
    let recording = Arc::new(recording);
    let (pipeline, replay) =
        Replay::new(recording.clone(), &wish(args), &catalogue).map_err(refusal)?;
    for (stage, effect) in replay.effects() {
        eprintln!("flowpipe: stage \"{}\" {}", escaped(stage), escaped(effect));
    }
    let cast = Cast::of(&pipeline, &catalogue);
    let (sender, happenings) = crossbeam_channel::unbounded();
    let verifier = args.verify.then(|| Verifier::new(replay.clone()));
    let mut options = Options {
        validators: checks::validators(),
        observers: vec![Arc::new(Forward::of_replay(
            sender.clone(),
            cast.speaks.clone(),
        ))],
        // Whatever the recording says.
        dry: true,
        replay: Some(replay.clone()),
        program: apart::program(),
        ..Options::default()
    };
    if let Some(verifier) = &verifier {
        options.observers.push(verifier.clone());
    }
    let mut recordist = match &args.record {
        Some(to) => {
            let take = Take {
                pipeline: &pipeline,
                catalogue: &catalogue,
                file: &args.file,
                text: recording.pipeline(),
                clock: options.clock,
                dry: options.dry,
            };
            Some(Recordist::of_replay(to, &take, &recording, sender)?)
        }
        None => None,
    };
    if let Some(recordist) = &recordist {
        let recorder: Arc<dyn Observer> = recordist.recorder();
        options.observers.push(recorder);
    }
    let mut tracing = Tracing::begin(args.trace.as_deref(), &pipeline, &mut options)?;
    recordist.iter_mut().for_each(Recordist::begins);
    tracing.iter_mut().for_each(Tracing::begins);
    let screen = Screen::new(global, args.quiet || args.json, cast);
    let watched = watch(pipeline, &catalogue, options, &happenings, screen, None);
    let watched = match watched {
        Ok(watched) => watched,
        Err(failure) => {
            recordist.into_iter().for_each(Recordist::discard);
            tracing.into_iter().for_each(Tracing::discard);
            return Err(failure);
        }
    };
    let recorded = recordist.map_or(Ok(()), Recordist::finish);
    let traced = tracing.map_or(Ok(()), Tracing::finish);
    recorded.and(traced)?;
    watched.followed?;
    signals::at_once();
    let verdict = verifier.map(|verifier| verifier.verdict());
    tell(global, args, &watched.report, &replay, verdict.as_ref())?;
    catalogue.close();
    Ok(if watched.interrupted {
        Ended::Interrupted
    } else if verdict.is_some_and(|verdict| !verdict.is_verified()) {
        Ended::Differs
    } else {
        Ended::Done
    })
}

fn wish(args: &args::Replay) -> Wish {
    Wish {
        from: args.from.clone(),
        swaps: args.swap.clone(),
        allowed: Allowed {
            kinds: args.allow.iter().copied().flatten().collect(),
            unknown: args.allow.contains(&None),
        },
        speed: match args.speed {
            Speed::Times(times) => Some(times),
            Speed::Max => None,
        },
        has_no_limits: args.no_limits,
    }
}

/// The stages that changed while they were recorded.
fn changed(replay: &Replay) -> Vec<&str> {
    let withheld = replay.withheld();
    let changed = withheld.filter(|(_, why)| **why == Withheld::Changed);
    changed.map(|(stage, _)| stage).collect()
}

fn refusal(error: PlanError) -> Failure {
    match error {
        PlanError::Nothing => Failure::Run(error.to_string()),
        PlanError::Cycle { .. } => Failure::BadText(error.to_string()),
        PlanError::Config { .. } => Failure::Config(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    }
}

/// So many differences are shown; `--json` has all.
const SHOWN: usize = 10;

fn tell(
    global: &Global,
    args: &args::Replay,
    report: &Report,
    replay: &Replay,
    verdict: Option<&Verdict>,
) -> Result<(), Failure> {
    let mut stdout = stdout();
    if args.json {
        let reason =
            |(stage, why): (&str, &Withheld)| json!({ "stage": stage, "reason": why.to_string() });
        let withheld: Vec<_> = replay.withheld().map(reason).collect();
        let exceeded = replay.exceeded().into_iter();
        let exceeded = exceeded.map(|(stage, excess, calls)| {
            json!({ "stage": stage, "calls": calls, "reason": excess.words() })
        });
        let exceeded: Vec<_> = exceeded.collect();
        let all = json!({
            "verdict": verdict,
            "skipped": replay.skipped(),
            "changed": changed(replay),
            "from_recording": withheld,
            "exceeded": exceeded,
            "report": report,
        });
        serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
        return Ok(());
    }
    let colours = colour::on_stdout(global);
    writeln!(stdout, "\n{}", report::tables(report, colours).trim_end())?;
    let recording: &Recording = replay.recording();
    if recording.is_cut_off() {
        writeln!(
            stdout,
            "the recording ends early: only what is whole was run again"
        )?;
    }
    let changed = changed(replay);
    if !changed.is_empty() {
        writeln!(
            stdout,
            "changed while it ran, and told from the recording instead of run again: {}",
            escape(&changed.join(", "))
        )?;
    }
    for (stage, why) in replay.withheld() {
        if *why != Withheld::Changed {
            writeln!(
                stdout,
                "told from the recording instead of run again: {} ({})",
                escaped(stage),
                escaped(why)
            )?;
        }
    }
    for (stage, excess, calls) in replay.exceeded() {
        writeln!(
            stdout,
            "told from the recording instead of run again: {calls} calls of {}, which took {} (--no-limits gives them all \
             that they want)",
            escaped(stage),
            excess.words()
        )?;
    }
    if replay.skipped() > 0 {
        writeln!(
            stdout,
            "{} calls were not run again: the recording lacks what they took, or what their stage remembered",
            replay.skipped()
        )?;
    }
    let Some(verdict) = verdict else {
        return Ok(());
    };
    if verdict.from_recording > 0 {
        writeln!(
            stdout,
            "{} messages were not compared: their stages did not run again",
            verdict.from_recording
        )?;
    }
    if verdict.without_call > 0 {
        writeln!(
            stdout,
            "{} messages of stages that ran again were not compared: the recording lacks the calls that emitted them, or \
             these were not run again",
            verdict.without_call
        )?;
    }
    for missing in &verdict.missing {
        writeln!(
            stdout,
            "{}: {} messages of {}, from message {} on; the recording lacks their calls and does not say why",
            paint("not verified", BAD, colours),
            missing.messages,
            escape(&missing.edge),
            missing.first
        )?;
    }
    if verdict.skipped_without_reason > 0 {
        writeln!(
            stdout,
            "{}: {} calls; the recording lacks what they took and does not say why",
            paint("not verified", BAD, colours),
            verdict.skipped_without_reason
        )?;
    }
    let Some(first) = verdict.differences.first() else {
        match (verdict.same, verdict.is_whole()) {
            (0, _) => {
                let nothing = paint("nothing was verified", BAD, colours);
                writeln!(stdout, "{nothing}: no message was compared")?;
            }
            (same, true) => {
                let are_same = paint("the same", GOOD, colours);
                writeln!(stdout, "{same} messages: {are_same}, byte for byte")?;
            }
            (same, false) => writeln!(
                stdout,
                "all {same} messages that were compared are the same"
            )?,
        }
        return Ok(());
    };
    writeln!(
        stdout,
        "{} of {} messages {}; the first: {}, message {}",
        verdict.differing,
        verdict.differing + verdict.same,
        paint("differ", BAD, colours),
        escape(&first.edge),
        first.sequence
    )?;
    for difference in verdict.differences.iter().take(SHOWN) {
        let field = match difference.field.as_str() {
            "" => String::new(),
            field => format!(" at {}", escape(field)),
        };
        writeln!(
            stdout,
            "  {}, message {}{field}\n    recorded: {}\n    now:      {}",
            escape(&difference.edge),
            difference.sequence,
            escape(&difference.recorded),
            escape(&difference.now)
        )?;
    }
    Ok(())
}
