//! `flowpipe completions SHELL`.

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::args::{Args, Completions};
use crate::exit::{Ended, Failure};

pub fn run(completions: &Completions) -> Result<Ended, Failure> {
    // Into memory first: the generator panics on a broken pipe.
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Args::command(),
        "flowpipe",
        &mut script,
    );
    flowpipe_terminal::plain_stdout().write_all(&script)?;
    Ok(Ended::Done)
}
