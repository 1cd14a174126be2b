//! The page of commands, from the command line's definition.

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory as _};

use super::page::{Page, code, prose};
use crate::args::Args;

const INTRODUCTION: [&str; 2] = [
    "This page lists every command of `flowpipe`, with its arguments and options. `flowpipe COMMAND --help` prints the \
     same.",
    "`flowpipe reference` writes this page from the program.",
];

pub fn page() -> String {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    let mut page = Page::new("Commands", &INTRODUCTION);
    page.heading(2, "Options of every command");
    page.list(&options(&program, Arg::is_global_set));
    if let Some(notes) = program.get_after_help() {
        page.heading(2, "Exit codes");
        page.block(notes.to_string().trim_start_matches("Exit codes:\n"));
    }
    for command in visible(&program) {
        add(&mut page, command, 2);
    }
    page.finish()
}

/// The subcommands that the help lists.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| !it.is_hide_set())
}

/// A command, and its subcommands.
fn add(page: &mut Page, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    page.heading(level, name);
    let about = command.get_long_about().or(command.get_about());
    page.paragraph(&sentence(about));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim);
    page.block(&usage.collect::<Vec<_>>().join("\n"));
    let aliases: Vec<_> = command.get_visible_aliases().map(code).collect();
    if !aliases.is_empty() {
        page.paragraph(&format!(
            "Another name of this command: {}.",
            aliases.join(", ")
        ));
    }
    page.list(&options(command, |it| !it.is_global_set()));
    if let Some(notes) = command.get_after_help() {
        page.block(&notes.to_string());
    }
    for command in visible(command) {
        add(page, command, level + 1);
    }
}

/// The arguments and options that the help lists, those of positions first.
fn options(command: &Command, is_listed: impl Fn(&Arg) -> bool) -> Vec<(usize, String)> {
    let of_clap = ["help", "version"];
    let listed = command.get_arguments().filter(|it| {
        !it.is_hide_set() && is_listed(it) && !of_clap.contains(&it.get_id().as_str())
    });
    let (positional, named): (Vec<_>, Vec<_>) = listed.partition(|it| it.is_positional());
    positional
        .into_iter()
        .chain(named)
        .flat_map(option)
        .collect()
}

/// A help text as a sentence: clap removes the full stop at its end.
fn sentence(help: Option<&StyledStr>) -> String {
    let text = prose(&help.map(ToString::to_string).unwrap_or_default());
    if text.is_empty() || text.ends_with('.') {
        return text;
    }
    text + "."
}

/// An item for an argument or option, with its values below.
fn option(arg: &Arg) -> Vec<(usize, String)> {
    let short = arg.get_short().map(|it| format!("-{it}, "));
    let name = code(&format!("{}{arg}", short.unwrap_or_default()));
    let help = sentence(arg.get_long_help().or(arg.get_help()));
    let mut text = format!("**{name}**: {help}");
    if !arg.get_action().takes_values() {
        return vec![(0, text)];
    }
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|it| code(&it.to_string_lossy())).collect();
    if !defaults.is_empty() {
        text += &format!(" Default: {}.", defaults.join(", "));
    }
    let values = arg.get_possible_values();
    let values: Vec<_> = values.iter().filter(|it| !it.is_hide_set()).collect();
    if values.iter().all(|it| it.get_help().is_none()) {
        let names: Vec<_> = values.iter().map(|it| code(it.get_name())).collect();
        if !names.is_empty() {
            text += &format!(" Values: {}.", names.join(", "));
        }
        return vec![(0, text)];
    }
    let value = |it: &clap::builder::PossibleValue| {
        let help = sentence(it.get_help());
        (1, format!("{}: {help}", code(it.get_name())))
    };
    let values = values.into_iter().map(value);
    std::iter::once((0, text)).chain(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_has_a_help_text() {
        fn check(command: &Command) {
            for arg in command.get_arguments().filter(|it| !it.is_hide_set()) {
                let name = command.get_bin_name();
                assert!(arg.get_help().is_some(), "{arg} of {name:?}");
            }
            visible(command).for_each(check);
        }
        let mut program = Args::command();
        program.build();
        check(&program);
    }
}
