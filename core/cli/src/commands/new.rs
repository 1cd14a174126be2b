//! `flowpipe new ROLE NAME`: begins a plugin.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use flowpipe_terminal::{escaped, stdout};

use crate::args::{Global, Language, New};
use crate::exit::{Ended, Failure};
use crate::new::sdk::Sdk;
use crate::new::{self, File, name};
use crate::plugins;

pub fn run(global: &Global, args: &New) -> Result<Ended, Failure> {
    if let Some(refusal) = name::refusal(&args.name, args.lang) {
        return Err(Failure::Usage(refusal));
    }
    // A script has the name of no plugin.
    if args.lang != Language::Python
        && let Some(found) = plugins::load(global).find(&args.name)
    {
        return Err(Failure::Usage(format!(
            "there is a plugin {} already, in {}: choose another name",
            args.name,
            found.path.display()
        )));
    }
    let sdk = match &args.sdk {
        None => Sdk::near(&args.folder.canonicalize().unwrap_or_default()),
        Some(path) => Sdk::at(path).ok_or_else(|| {
            Failure::Usage(format!(
                "{} is no checkout of flowpipe: there is no core/plugin in it",
                path.display()
            ))
        })?,
    };
    if args.lang == Language::Rust && sdk.has_members_in(&args.folder) {
        return Err(Failure::Usage(format!(
            "in {} all folders are crates of flowpipe itself, and this one would not be: choose another with --in",
            args.folder.display()
        )));
    }
    let plan = new::plan(args.role, args.lang, &args.name, &sdk);
    let folder = args.folder.join(&args.name);
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::Usage(format!(
            "{} is there already, and nothing is overwritten: choose another name, or another folder with --in",
            folder.display()
        )));
    }
    write(&folder, &plan.files).map_err(|error| {
        // Nothing half made is left. It was not there before.
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
    writeln!(out, "next:")?;
    writeln!(out, "  cd {}", pasteable(&place.to_string()))?;
    let widest = plan.next.iter().map(|(command, _)| command.len()).max();
    for (command, what_for) in &plan.next {
        let width = widest.unwrap_or_default().min(66);
        writeln!(out, "  {command:width$}   # {what_for}")?;
    }
    Ok(Ended::Done)
}

/// A path as a shell's word, that can't be taken for an option either.
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
