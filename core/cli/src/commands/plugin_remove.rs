//! `flowpipe plugin remove NAME`: removes a plugin that the user has installed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flowpipe_config::reader::suggest;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_terminal::{escaped, stdout};

use crate::args::{Global, PluginRemove};
use crate::exit::{Ended, Failure};
use crate::outputs::failure;
use crate::{plugins, processes, user_plugins};

pub fn run(global: &Global, args: &PluginRemove) -> Result<Ended, Failure> {
    let folder = user_plugins::folder().unwrap_or_default();
    let installed = Catalogue::scan(std::slice::from_ref(&folder), &processes::scanner());
    let Some(file) = file_of(&installed, &folder, &args.name) else {
        return Err(Failure::Usage(not_installed(global, &installed, args)));
    };
    let names = stages_of(&installed, &file);
    let others: Vec<_> = names.iter().filter(|name| **name != args.name).collect();
    let by_file_name = file.file_name().is_some_and(|it| it == args.name.as_str());
    if !others.is_empty() && !by_file_name && !args.force {
        let others: Vec<_> = others.iter().map(|name| name.as_str()).collect();
        return Err(Failure::Usage(format!(
            "{} also contains {}: --force removes all of them",
            file.display(),
            others.join(", ")
        )));
    }
    std::fs::remove_file(&file).map_err(failure(&file))?;
    writeln!(stdout(), "removed {}", escaped(file.display()))?;
    Ok(Ended::Done)
}

/// The installed file that has a stage of this name, or this name itself: a file may be refused.
fn file_of(installed: &Catalogue, folder: &Path, name: &str) -> Option<PathBuf> {
    if let Some(found) = installed.find(name) {
        return Some(found.path.clone());
    }
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    let entry = entries.find(|entry| entry.file_name() == name)?;
    let path = entry.path();
    // A link to a file that is gone, too.
    let kind = entry.file_type().ok()?;
    (!kind.is_dir()).then_some(path)
}

/// The names of the stages in a file, also of those that another file hides.
fn stages_of(installed: &Catalogue, file: &Path) -> Vec<String> {
    let found = installed.stages().iter().filter(|it| it.path == file);
    let hidden = installed.refused().iter().filter(|it| it.path == file);
    found
        .map(|it| it.manifest.name.clone())
        .chain(hidden.filter_map(|it| it.name.clone()))
        .collect()
}

fn not_installed(global: &Global, installed: &Catalogue, args: &PluginRemove) -> String {
    let name = &args.name;
    if let Some(found) = plugins::load(global).find(name) {
        let file = found.path.display();
        return format!("{name} was not installed by `flowpipe plugin install`: it is in {file}");
    }
    let stages = installed.stages().iter();
    let names: Vec<_> = stages.map(|it| it.manifest.name.as_str()).collect();
    let hint = match suggest::closest(name, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "no plugin is installed".to_owned(),
        None => format!("installed are {}", names.join(", ")),
    };
    format!("no installed plugin is called `{name}`: {hint}")
}
