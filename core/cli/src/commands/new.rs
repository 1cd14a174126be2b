//! `flowpipe new ROLE NAME`: creates a plugin, and `flowpipe new pipeline NAME` a pipeline.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flowpipe_terminal::{escaped, stdout};

use crate::args::{Global, Language, New, NewRole};
use crate::exit::{Ended, Failure};
use crate::new::sdk::{self, Sdk};
use crate::new::{self, File, Scaffold, name};
use crate::plugins;

/// The longest line of a note.
const WIDTH: usize = 100;

pub fn run(global: &Global, args: &New) -> Result<Ended, Failure> {
    match args.kind.role() {
        Some(role) => plugin(global, args, role),
        None => pipeline(args),
    }
}

fn pipeline(args: &New) -> Result<Ended, Failure> {
    let lang = args.lang.unwrap_or(Language::Python);
    if let Some(refusal) = name::refusal(&args.name, "pipeline", lang) {
        return Err(Failure::Usage(refusal));
    }
    let window = args.window.as_deref().unwrap_or(&args.name);
    if window.is_empty() || window.contains(char::is_control) {
        let why = "--window: the title of a window is a line of text";
        return Err(Failure::Usage(why.to_owned()));
    }
    match lang {
        Language::Python => create(args, &new::domain::python(&args.name, window), &[]),
        Language::Rust => {
            let sdk = sdk_of(args, lang)?;
            let plan = new::domain::rust(&args.name, window, &sdk);
            create(args, &plan, &[note(lang, &sdk)])
        }
        Language::C => {
            let why = "the stages of a new pipeline are in Python or Rust; `flowpipe new stage` creates one in C";
            Err(Failure::Usage(why.to_owned()))
        }
    }
}

fn plugin(global: &Global, args: &New, role: NewRole) -> Result<Ended, Failure> {
    let lang = args.lang.unwrap_or(Language::Rust);
    if let Some(refusal) = name::refusal(&args.name, "plugin", lang) {
        return Err(Failure::Usage(refusal));
    }
    if args.window.is_some() {
        let why = "--window is for a new pipeline: a plugin captures what its config names";
        return Err(Failure::Usage(why.to_owned()));
    }
    // A script is not a plugin, so its name can't conflict.
    if lang != Language::Python
        && let Some(found) = plugins::load(global).find(&args.name)
    {
        return Err(Failure::Usage(format!(
            "there is a plugin {} already, in {}: choose another name",
            args.name,
            found.path.display()
        )));
    }
    let sdk = sdk_of(args, lang)?;
    create(
        args,
        &new::plan(role, lang, &args.name, &sdk),
        &[domain_note(role), note(lang, &sdk)],
    )
}

/// Where the SDK is.
///
/// # Errors
/// When the user named something else, or a folder in which no crate of others can be.
fn sdk_of(args: &New, lang: Language) -> Result<Sdk, Failure> {
    let named = args.sdk.clone().or_else(|| {
        let variable = std::env::var_os(sdk::VARIABLE).filter(|it| !it.is_empty());
        variable.map(PathBuf::from)
    });
    let sdk = match &named {
        None => Sdk::near(&args.folder),
        Some(path) => Sdk::at(path).ok_or_else(|| {
            Failure::Usage(format!(
                "{} is not a checkout of flowpipe: it has no core/plugin",
                path.display()
            ))
        })?,
    };
    if lang == Language::Rust && sdk.has_members_in(&args.folder) {
        return Err(Failure::Usage(format!(
            "all folders in {} are crates of flowpipe itself: choose another folder with --in",
            args.folder.display()
        )));
    }
    Ok(sdk)
}

/// What is to be known before a crate is built.
fn note(lang: Language, sdk: &Sdk) -> Option<String> {
    match (lang, sdk) {
        (Language::Rust, Sdk::Repository(url)) => Some(format!(
            "note: cargo downloads the SDK from {url}. To build with a checkout of it, create the plugin with --sdk \
             CHECKOUT."
        )),
        _ => None,
    }
}

/// What a plugin of a role is an example of.
fn domain_note(role: NewRole) -> Option<String> {
    let what = match role {
        NewRole::Capture => return None,
        NewRole::Stage => "its example reads the boards of Flow Free",
        _ => "this role is one of Flow Free: its messages are boards and strokes",
    };
    Some(format!(
        "note: {what}. For another game or program, `flowpipe new pipeline NAME` creates all stages with messages of their \
         own."
    ))
}

/// Writes the files, and prints the next steps.
fn create(args: &New, plan: &Scaffold, notes: &[Option<String>]) -> Result<Ended, Failure> {
    let folder = args.folder.join(&args.name);
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::Usage(format!(
            "{} exists already, and is not overwritten: choose another name, or another folder with --in",
            folder.display()
        )));
    }
    write(&folder, &plan.files).map_err(|error| {
        // Removes the incomplete folder, which did not exist before.
        let _ = fs::remove_dir_all(&folder);
        Failure::File {
            path: folder.display().to_string(),
            error,
        }
    })?;
    let mut out = stdout();
    let files: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    let place = escaped(folder.strip_prefix(".").unwrap_or(&folder).display());
    writeln!(out, "{place}: {}\n", files.join(", "))?;
    for note in notes.iter().flatten() {
        writeln!(out, "{}\n", textwrap::fill(note, WIDTH))?;
    }
    writeln!(out, "next:")?;
    writeln!(out, "  cd {}", pasteable(&place.to_string()))?;
    let widest = plan.next.iter().map(|(command, _)| command.len()).max();
    for (command, what_for) in &plan.next {
        let width = widest.unwrap_or_default().min(66);
        writeln!(out, "  {command:width$}   # {what_for}")?;
    }
    Ok(Ended::Done)
}

/// A path as a word of a shell, which is not read as an option either.
fn pasteable(path: &str) -> String {
    let front = if path.starts_with('-') { "./" } else { "" };
    shell_words::quote(&format!("{front}{path}")).into_owned()
}

fn write(folder: &Path, files: &[File]) -> io::Result<()> {
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &file.content)?;
    }
    Ok(())
}
