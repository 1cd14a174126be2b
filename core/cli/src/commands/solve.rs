//! `flowpipe solve FILE|-`: solves puzzles given as text with a solver plugin, and plans their strokes with a planner.

use flowpipe_config::reader::duration;
use flowpipe_puzzle::Puzzle;

use crate::args::{Global, Solve};
use crate::batch::solving::{self, SolvingEvent};
use crate::exit::{Ended, Failure};
use crate::one_off::FlagValue;
use crate::solve::answer::Answer;
use crate::solve::mode;
use crate::solve::printer::AnswerPrinter;
use crate::solver_run::{self, PlannerOptions, Reply, SolverOptions};
use crate::{one_off, plugins, puzzle_file};

pub fn run(global: &Global, args: &Solve) -> Result<Ended, Failure> {
    let entries = puzzle_file::read(&args.file)?;
    let catalogue = plugins::load(global);
    let config = mode::config(args, &catalogue)?;
    let (indices, puzzles): (Vec<usize>, Vec<&Puzzle>) = entries
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| Some((index, &entry.puzzle.as_ref().ok()?.0)))
        .unzip();
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
    let mut printer = AnswerPrinter::new(global, args, &entries);
    let mut each = |event: SolvingEvent| {
        one_off::control_flow(match event {
            SolvingEvent::Outcome(place, outcome) => indices.get(place).map_or(Ok(()), |index| {
                let mut replies = outcome.replies();
                replies.try_for_each(|reply| match reply {
                    Reply::Solver(reply) => printer.add(*index, Answer::of(reply, timeout_us)),
                    Reply::Planner(plan) => printer.add_plan(*index, plan),
                })
            }),
            SolvingEvent::Notice(text) => printer.notice(&text),
            SolvingEvent::Idle => printer.flush(),
        })
    };
    let result = match &args.machines {
        Some(file) => solving::run(file, global, &puzzles, &options, &catalogue, each),
        None => solver_run::run(&puzzles, &options, &catalogue, |reply| {
            each(SolvingEvent::of(reply))
        }),
    };
    // Also where the command fails: these answers are there.
    let written = printer.flush();
    // Without workers, the rest has no answer, which is not one of the solver.
    let is_cut = args.machines.is_some() && result.is_err();
    let ended = one_off::ended(result, global, || {
        written?;
        match is_cut {
            true => printer.stop(),
            false => printer.end(),
        }
    });
    catalogue.close();
    ended
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
