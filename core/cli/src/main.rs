//! The `flowpipe` program: each subcommand is one module of [`commands`].
//!
//! # Layout
//! - [`args`]: the command line; [`misplaced`]: a file in place of a command. [`exit`]: exit codes and failures.
//! - [`commands`]: one module for each subcommand.
//! - [`mouse_driver`]: what drives the mouse; [`mouse_lock`]: that one run does; [`user_folder`]: what runs share.
//! - [`plugins`]: where plugins are looked for; [`user_plugins`]: those that the user installed;
//!   [`manifest_cache`]: what is known of unchanged plugin files.
//! - [`pipeline_file`]: reads a pipeline, shows its errors.
//! - [`record`]: records a run. [`recording_file`]: opens a recording. [`trace`]: writes a trace.
//! - [`input`]: reads whole files, bounded. [`nearby`]: files with similar names. [`outputs`], [`pictures`]: write
//!   files.
//! - [`pipeline_test`]: runs the tests of a pipeline.
//! - [`puzzle_file`]: reads files of puzzles; [`puzzle_input`]: their puzzles, one by one. [`one_off`]: pipelines that the program builds itself; [`solver_run`]: one
//!   that solves puzzles.
//! - [`processes`]: child processes for isolated stages, and the one that reads manifests.
//! - [`accepted`]: messages as the types that their checks have accepted.
//! - [`bench`], [`compare`], [`doctor`], [`new`], [`plugin_check`], [`see`], [`solve`]: what the commands of these
//!   names consist of.
//! - [`foreground`]: runs a pipeline to its end. [`console`]: what it prints meanwhile; [`events`]: of what, and
//!   [`tally`]: the counts of it; [`metrics`]: what the stages publish of their work; [`visibility`]: of which stages.
//! - [`top`]: watching a run from another process. [`metric_families`]: its counts for monitoring systems,
//!   which [`prometheus`] serves to scrapers and [`otlp`] sends to a collector, with its calls as spans.
//! - [`reference`]: the reference pages of the book. [`json_schema`]: JSON Schemas as text.
//! - [`batch`]: batches that several machines share.
//! - [`machines`]: runs on several machines; [`transports`]: how they connect, with [`certificates`].
//! - [`line_budget`]: how many lines are printed of what can happen again and again.
//! - [`follow`]: reads events until a run ends. [`signals`]: Ctrl-C. [`reload`]: hot reload.
//! - [`show`]: boards, tables and colours on the terminal. [`quantile`]: medians and percentiles.

mod accepted;
mod args;
mod batch;
mod bench;
mod certificates;
mod commands;
mod compare;
mod connection_advice;
mod console;
mod doctor;
mod events;
mod exit;
mod follow;
mod foreground;
mod frame_sources;
mod input;
mod installed_facts;
mod json_schema;
mod line_budget;
mod machines;
mod manifest_cache;
mod metric_families;
mod metrics;
mod misplaced;
mod mouse_driver;
mod mouse_lock;
mod nearby;
mod new;
mod one_off;
mod otlp;
mod outputs;
mod pictures;
mod pipeline_file;
mod pipeline_test;
mod plugin_check;
mod plugins;
mod processes;
mod prometheus;
mod puzzle_file;
mod puzzle_input;
mod quantile;
mod record;
mod recording_file;
mod reference;
mod reload;
mod see;
mod show;
mod signals;
mod solve;
mod solver_run;
mod supervision;
mod tally;
mod top;
mod trace;
mod transports;
mod user_folder;
mod user_plugins;
mod visibility;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::show::log::Prints;

fn main() -> ExitCode {
    flowpipe_terminal::panic::install_hook();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(error, misplaced::add_hint),
    };
    match args.command {
        Command::IsolatedStage(_) => return processes::run_stage(),
        Command::ScanPlugins => return processes::scan(),
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
    let prints = match args.command {
        Command::Run(_) | Command::Replay(_) => Prints::Problems,
        Command::See(_) | Command::Solve(_) | Command::Bench(_) | Command::Compare(_) => {
            Prints::Failures
        }
        _ => Prints::Nothing,
    };
    show::log::start(&args.global, prints);
    if let Err(failure) = plugins::check_named(&args.global) {
        return exit::code(Err(failure));
    }
    let ended = match args.command {
        Command::Run(run) => commands::run::run(&args.global, &run),
        Command::Replay(replay) => commands::replay::run(&args.global, &replay),
        Command::Compare(compare) => commands::compare::run(&args.global, &compare),
        Command::Report(report) => commands::report::run(&report),
        Command::Messages(messages) => commands::messages::run(&messages),
        Command::Top(top) => commands::top::run(&args.global, &top),
        Command::Check(check) => commands::check::run(&args.global, &check),
        Command::Test(test) => commands::test::run(&args.global, &test),
        Command::Graph(graph) => commands::graph::run(&args.global, &graph),
        Command::Plugins(plugins) => commands::plugins::run(&args.global, &plugins),
        Command::Machine(machine) => commands::machine::run(&args.global, &machine),
        Command::New(new) => commands::new::run(&args.global, &new),
        Command::Schema => commands::schema::run(&args.global),
        Command::See(see) => commands::see::run(&args.global, &see),
        Command::Solve(solve) => commands::solve::run(&args.global, &solve),
        Command::Convert(convert) => commands::convert::run(&convert),
        Command::Generate(generate) => commands::generate::run(&args.global, &generate),
        Command::Bench(bench) => commands::bench::run(&args.global, &bench),
        Command::Play(play) => commands::play::run(&args.global, &play),
        Command::Doctor(doctor) => commands::doctor::run(&args.global, &doctor),
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::Man(man) => commands::man::run(&man),
        Command::Reference(reference) => commands::reference::run(&reference),
        Command::IsolatedStage(_) | Command::ScanPlugins => Ok(exit::Ended::Done),
    };
    exit::code(ended)
}
