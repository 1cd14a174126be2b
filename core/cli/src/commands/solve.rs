//! `flowpipe solve FILE|-`: solves puzzles given as text, with a solver plugin, and plans how they are
//! drawn, with a planner.

use flowpipe_config::reader::duration;
use flowpipe_puzzle::Puzzle;

use crate::args::{Global, Solve};
use crate::ask::{self, Ask, AskPlanner, Said, ask};
use crate::exit::{Ended, Failure};
use crate::show::answer::Answer;
use crate::solve::printer::Printer;
use crate::solve::want;
use crate::{plugins, puzzle_file};

pub fn run(global: &Global, args: &Solve) -> Result<Ended, Failure> {
    let entries = puzzle_file::read(&args.file)?;
    let catalogue = plugins::load(global);
    let config = want::config(args, &catalogue)?;
    let (indices, puzzles): (Vec<usize>, Vec<&Puzzle>) = entries
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| Some((index, &entry.puzzle.as_ref().ok()?.0)))
        .unzip();
    // A duration that can't be read is an error of the pipeline, which is said below.
    let timeout = args.timeout.as_deref().map(duration::parse);
    let timeout_us = match timeout {
        Some(Ok(timeout)) => timeout.as_secs_f64() * 1e6,
        _ => 0.0,
    };
    let how = Ask {
        solver: &args.solver,
        config: config.as_deref(),
        planner: args.plan.as_deref().map(|name| AskPlanner {
            name,
            config: args.plan_config.as_deref(),
        }),
        timeout: args.timeout.as_deref(),
        jobs: args.jobs.map_or_else(processors, usize::from),
    };
    let mut printer = Printer::new(global, args, &entries);
    let asked = ask(&puzzles, &how, &catalogue, |place, said| {
        ask::taken(match (indices.get(place), said) {
            (Some(&index), Said::Solver(said)) => printer.take(index, Answer::of(said, timeout_us)),
            (Some(&index), Said::Planner(plan)) => printer.take_plan(index, plan),
            (None, _) => Ok(()),
        })
    });
    let ended = ask::ended(asked, global, || printer.end());
    catalogue.close();
    ended
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
