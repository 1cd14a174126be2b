//! The `flowpipe` program: each subcommand is one module of [`commands`].
//!
//! # Layout
//! - [`args`]: what the user wrote. [`exit`]: how the program ends.
//! - [`commands`]: one module for each subcommand.
//! - [`plugins`]: where plugins are looked for. [`pipeline_file`]: reading a pipeline with its errors.
//! - [`checks`]: what the runtime holds the plugins' answers against.
//! - [`follow`]: waiting on a run. [`show`]: boards, tables and colours on the terminal.

mod args;
mod cast;
mod checks;
mod commands;
mod exit;
mod follow;
mod pipeline_file;
mod plugins;
mod show;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    show::log::start(&args.global);
    let ended = match args.command {
        Command::Run(run) => commands::run::run(&args.global, &run),
        Command::Check(check) => commands::check::run(&args.global, &check),
        Command::Graph(graph) => commands::graph::run(&args.global, &graph),
        Command::Plugins(plugins) => commands::plugins::run(&args.global, &plugins),
        Command::Schema => commands::schema::run(&args.global),
        Command::Solve(solve) => commands::solve::run(&args.global, &solve),
        Command::Play(play) => commands::play::run(&args.global, &play),
        Command::Completions(completions) => commands::completions::run(&completions),
    };
    exit::code(ended)
}
