//! `flowpipe man DIR`: the man pages, of the program and of each subcommand.

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::args::{self, Args};
use crate::exit::{Ended, Failure};
use crate::outputs;

pub fn run(args: &args::Man) -> Result<Ended, Failure> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(outputs::failure(folder))?;
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    for page in pages(program) {
        let mut text = Vec::new();
        page.render(&mut text)?;
        outputs::write_derived(&folder.join(page.get_filename()), text)?;
    }
    Ok(Ended::Done)
}

/// The page of a command, and those of its subcommands.
fn pages(command: Command) -> Vec<Man> {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    let mut pages: Vec<_> = shown.cloned().flat_map(pages).collect();
    pages.push(Man::new(command));
    pages
}
