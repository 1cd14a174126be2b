//! `flowpipe solve FILE|-`: solves puzzles given as text with a solver plugin, and plans their strokes with a planner.

use flowpipe_config::reader::duration;
use flowpipe_engine::run::StartError;

use crate::args::{Global, Solve};
use crate::batch::solving::{self, SolvingEvent};
use crate::exit::{Ended, Failure};
use crate::one_off::FlagValue;
use crate::puzzle_input::PuzzleInput;
use crate::solve::mode;
use crate::solve::printer::AnswerPrinter;
use crate::solve::window::PuzzleWindow;
use crate::solver_run::{self, PlannerOptions, RunReply, SolverOptions};
use crate::{one_off, plugins, puzzle_file};

pub fn run(global: &Global, args: &Solve) -> Result<Ended, Failure> {
    let input = PuzzleInput::open(&args.file)?;
    let catalogue = plugins::load(global);
    let config = mode::config(args, &catalogue)?;
    // An invalid duration is an error of the pipeline, reported below.
    let timeout = args.timeout.as_deref().map(duration::parse);
    let timeout_us = match timeout {
        Some(Ok(timeout)) => timeout.as_secs_f64() * 1e6,
        _ => 0.0,
    };
    let plan_config = args.plan_config.as_deref();
    let options = SolverOptions {
        solver: FlagValue::new("--solver", &args.solver),
        // A mode of the flags is a key of the config, which the given one does not show.
        config: config.as_deref().map(|value| FlagValue {
            value,
            flag: match &args.config {
                Some(given) => FlagValue::new("--config", given).flag,
                None => "--unique, --count or --all".to_owned(),
            },
        }),
        planner: args.plan.as_deref().map(|name| PlannerOptions {
            name: FlagValue {
                value: name,
                flag: format!("--plan={}", shell_words::quote(name)),
            },
            config: plan_config.map(|it| FlagValue::new("--plan-config", it)),
        }),
        timeout: args
            .timeout
            .as_deref()
            .map(|it| FlagValue::new("--timeout", it)),
        jobs: args.jobs.map_or_else(processors, usize::from),
    };
    let window = PuzzleWindow::read(input).map_err(StartError::Thread)?;
    let mut printer = AnswerPrinter::new(global, args, &window);
    let result = match &args.machines {
        Some(file) => solving::run(file, global, &*window, &options, &catalogue, |event| {
            one_off::control_flow(match event {
                SolvingEvent::Outcome(place, outcome) => {
                    let mut replies = outcome.replies();
                    let added = replies.try_for_each(|it| printer.reply(place, it, timeout_us));
                    added.and_then(|()| printer.complete(place))
                }
                SolvingEvent::Notice(text) => printer.notice(&text),
                SolvingEvent::Idle => printer.idle(),
            })
        }),
        None => solver_run::run(&*window, &options, &catalogue, |reply| {
            one_off::control_flow(match reply {
                RunReply::Reply(place, reply) => printer.reply(place, reply, timeout_us),
                RunReply::Settled(place) => {
                    printer.settle(place);
                    Ok(())
                }
                RunReply::Idle => printer.idle(),
            })
        }),
    };
    // Also where the command fails: these answers are there.
    let written = printer.flush();
    let is_done = result.is_ok();
    // Without workers, the rest has no answer, which is not one of the solver.
    let is_cut = args.machines.is_some() && !is_done;
    let ended = one_off::ended(result, global, || {
        written?;
        match is_cut {
            true => printer.stop(),
            false => printer.end(),
        }
    });
    catalogue.close();
    let ended = ended?;
    match window.take_end() {
        Some(Err(failure)) if is_done => Err(failure),
        _ if is_done && window.count().0 == 0 => Err(puzzle_file::no_puzzles(&args.file)),
        _ => Ok(ended),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
