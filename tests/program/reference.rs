//! The reference pages of the book, and the man pages, have what the program has.

use std::path::Path;

use flowpipe_tests::{flowpipe, project, run};

/// Writes pages into a folder with a hidden command, and gives the folder.
fn written(command: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    // Installed plugins and those of other folders are no part of the book.
    let output = flowpipe(&[command, path])
        .env_remove("FLOWPIPE_PLUGIN_PATH")
        .output();
    assert!(output.unwrap().status.success());
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_reference_pages_are_those_of_the_program() {
    let written = written("reference");
    let book = project().join("docs/reference");
    assert_eq!(names(written.path()), names(&book));
    for name in names(written.path()) {
        let is = std::fs::read_to_string(book.join(&name)).unwrap();
        let should = std::fs::read_to_string(written.path().join(&name)).unwrap();
        let mut lines = is.lines().zip(should.lines()).enumerate();
        let first = lines.find(|(_, (is, should))| is != should);
        assert!(
            is == should,
            "docs/reference/{name} differs from what the program writes, first at {first:?}: run `cargo build --locked \
             --workspace --lib --bins --tests --examples`, then `target/debug/flowpipe reference docs/reference`"
        );
    }
}

/// The names of the stages that the sources of a plugin's crate define.
fn stages_of(name: &str) -> Vec<String> {
    let sources = project().join("plugins").join(name).join("src");
    let mut stages = Vec::new();
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(path).unwrap();
            let names = text.lines().filter_map(|line| {
                let (_, rest) = line.split_once("const NAME: &'static str = \"")?;
                Some(rest.split_once('"')?.0.to_owned())
            });
            stages.extend(names);
        }
    }
    stages
}

#[test]
fn the_reference_pages_list_every_plugin_and_every_command() {
    let written = written("reference");
    let page = |name| std::fs::read_to_string(written.path().join(name)).unwrap();
    let plugins = page("plugins.md");
    let crates = names(&project().join("plugins"));
    assert!(crates.len() > 20, "{crates:?}");
    let is_listed = |name: &str| plugins.contains(&format!("\n### {name}\n"));
    for name in crates {
        // A library of several plugins may have a name of its own.
        let stages = stages_of(&name);
        let all = !stages.is_empty() && stages.iter().all(|stage| is_listed(stage));
        assert!(is_listed(&name) || all, "{name}: {stages:?}");
    }
    let commands = page("commands.md");
    for name in visible_commands() {
        assert!(
            commands.contains(&format!("\n## flowpipe {name}\n")),
            "{name}"
        );
    }
}

#[test]
fn each_visible_command_has_a_man_page() {
    let written = written("man");
    let pages = names(written.path());
    for name in visible_commands() {
        let page = format!("flowpipe-{name}.1");
        assert!(pages.contains(&page), "there is no {page}: {pages:?}");
        let text = std::fs::read_to_string(written.path().join(&page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
}

/// The subcommands that the help lists.
fn visible_commands() -> Vec<String> {
    let help = run(&["--help"]).expect(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names: Vec<_> = names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 15, "{help}");
    names
}
