//! The `flowpipe` program: each subcommand is one module of [`commands`].
//!
//! # Layout
//! - [`args`]: what the user wrote. [`exit`]: how the program ends.
//! - [`commands`]: one module for each subcommand.
//! - [`plugins`]: where plugins are looked for. [`pipeline_file`]: reading a pipeline with its errors.
//! - [`record`]: writing a run down. [`recording_file`]: opening what was written. [`trace`]: who worked when.
//! - [`input`]: whole files, bounded. [`outputs`]: the files that are written.
//! - [`puzzle_file`]: reading puzzles. [`ask`]: putting them to a solver.
//! - [`apart`]: processes of isolated stages, and the one that reads manifests.
//! - [`checks`]: what the runtime holds the plugins' answers against.
//! - [`solve`]: what `flowpipe solve` asks and tells. [`see`]: what `flowpipe see` shows to vision, and tells.
//! - [`compare`]: two pipelines on one recording.
//! - [`new`]: what `flowpipe new` makes.
//! - [`top`]: looking at a run while it goes on.
//! - [`follow`]: waiting on a run. [`signals`]: Ctrl-C. [`watch`]: changes of files
//!   while a run goes on. [`show`]: boards, tables and colours on the terminal.

mod apart;
mod args;
mod ask;
mod bench;
mod cast;
mod checks;
mod commands;
mod compare;
mod exit;
mod follow;
mod input;
mod new;
mod outputs;
mod pipeline_file;
mod plugin_check;
mod plugins;
mod puzzle_file;
mod quantile;
mod record;
mod recording_file;
mod see;
mod show;
mod signals;
mod solve;
mod top;
mod trace;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    flowpipe_terminal::panic::install_hook();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(error),
    };
    match args.command {
        Command::IsolatedStage(_) => return apart::run(),
        Command::ScanPlugins => return apart::scan(),
        _ => {}
    }
    // The plugin that is tried there may close any file, also that of a thread that listens. Ctrl-C is for the program.
    if !args.command.tries_a_plugin_within() {
        signals::listen();
    }
    flowpipe_terminal::set_colours(
        show::colour::on_stdout(&args.global),
        show::colour::on_stderr(&args.global),
    );
    let tells_problems = matches!(
        args.command,
        Command::See(_) | Command::Solve(_) | Command::Bench(_) | Command::Compare(_)
    );
    show::log::start(&args.global, tells_problems);
    let ended = match args.command {
        Command::Run(run) => commands::run::run(&args.global, &run),
        Command::Replay(replay) => commands::replay::run(&args.global, &replay),
        Command::Compare(compare) => commands::compare::run(&args.global, &compare),
        Command::Report(report) => commands::report::run(&report),
        Command::Top(top) => commands::top::run(&args.global, &top),
        Command::Check(check) => commands::check::run(&args.global, &check),
        Command::Graph(graph) => commands::graph::run(&args.global, &graph),
        Command::Plugins(plugins) => commands::plugins::run(&args.global, &plugins),
        Command::New(new) => commands::new::run(&args.global, &new),
        Command::Schema => commands::schema::run(&args.global),
        Command::See(see) => commands::see::run(&args.global, &see),
        Command::Solve(solve) => commands::solve::run(&args.global, &solve),
        Command::Convert(convert) => commands::convert::run(&convert),
        Command::Generate(generate) => commands::generate::run(&generate),
        Command::Bench(bench) => commands::bench::run(&args.global, &bench),
        Command::Play(play) => commands::play::run(&args.global, &play),
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::IsolatedStage(_) | Command::ScanPlugins => Ok(exit::Ended::Done),
    };
    exit::code(ended)
}
