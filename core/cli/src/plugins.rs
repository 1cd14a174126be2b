//! Where plugins are looked for.

use std::fs::File;
use std::path::{Path, PathBuf};

use flowpipe_config::reader::suggest;
use flowpipe_host::catalogue::{Catalogue, Scan};
use flowpipe_host::library::inspect;

use crate::args::Global;
use crate::exit::Failure;
use crate::manifest_cache::CachedScanner;
use crate::{outputs, processes, user_plugins};

/// The variable with more folders, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "FLOWPIPE_PLUGIN_PATH";

/// The folders, by precedence: `--plugin-dir`, [`PATH_VARIABLE`], the folder of installed plugins
/// ([`user_plugins`]), then those of [`beside_program`]. `--plugin-dir` may be a single file.
pub fn folders(global: &Global) -> Vec<PathBuf> {
    let named = global.plugin_dir.iter().map(|path| absolute_file(path));
    let mut folders: Vec<PathBuf> = named.collect();
    if let Some(path) = std::env::var_os(PATH_VARIABLE) {
        folders
            .extend(std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()));
    }
    folders.extend(user_plugins::folder());
    folders.extend(beside_program());
    folders
}

/// The folders beside the program: its own, `plugins` in it, and `../lib/flowpipe` (where packages install plugins).
pub fn beside_program() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    match program.ok().as_deref().and_then(Path::parent) {
        Some(home) => vec![
            home.to_owned(),
            home.join("plugins"),
            home.join("../lib/flowpipe"),
        ],
        None => Vec::new(),
    }
}

/// Checks that every `--plugin-dir` is a folder, or a file that can be loaded.
///
/// # Errors
/// When one is missing, can't be opened, is neither a folder nor a file, or is a file that is no plugin.
pub fn check_named(global: &Global) -> Result<(), Failure> {
    for path in &global.plugin_dir {
        let reason = match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => continue,
            Ok(there) if there.is_file() => match inspect_file(path) {
                Ok(()) => continue,
                Err(reason) => reason,
            },
            Ok(_) => "this is a device or a pipe".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = path.display();
        return Err(Failure::Usage(format!(
            "--plugin-dir {path}: {reason}: name a folder of plugins, or a plugin file"
        )));
    }
    Ok(())
}

/// Checks that a file is a plugin, without loading it.
fn inspect_file(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    inspect::inspect(&file).map_err(|error| error.to_string())
}

/// The path of a file from the root: the system searches other folders for a library's name without a folder.
fn absolute_file(path: &Path) -> PathBuf {
    match path.is_file() {
        true => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    }
}

/// Finds all plugins, and loads only those whose manifests are not known.
pub fn load(global: &Global) -> Catalogue {
    find(&folders(global), &CachedScanner::new(processes::scanner()))
}

/// Finds all plugins, and reads their manifests from the libraries: for commands that decide by them without using
/// the plugins.
pub fn load_all(global: &Global) -> Catalogue {
    load_from(&folders(global))
}

/// Finds all plugins in these folders. Each call reads the files again.
pub fn load_from(folders: &[PathBuf]) -> Catalogue {
    find(folders, &CachedScanner::refreshing(processes::scanner()))
}

/// The message for a name that no plugin has.
pub fn unknown(catalogue: &Catalogue, name: &str) -> String {
    let stages = catalogue.stages().iter();
    let names: Vec<&str> = stages.map(|it| it.manifest.name.as_str()).collect();
    let hint = suggest::closest(name, &names).map_or_else(
        || "`flowpipe plugins` lists what was found".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    format!("there is no plugin `{name}`: {hint}")
}

fn find(folders: &[PathBuf], scanner: &dyn Scan) -> Catalogue {
    let own: Vec<_> = user_plugins::folder()
        .into_iter()
        .chain(beside_program())
        .collect();
    let catalogue = Catalogue::scan_with(folders, &own, scanner);
    for found in catalogue.stages() {
        outputs::note_input(&found.path);
    }
    for refused in catalogue.refused() {
        let (path, reason) = (refused.path.display(), &refused.reason);
        match refused.path.is_dir() {
            // Any plugin may be missing then.
            true => tracing::warn!("{path}: {reason}"),
            _ if catalogue.has_own_check_for(refused) => {
                tracing::warn!("refused {path}: {reason}");
            }
            // The user named this file.
            false if folders.contains(&refused.path) => tracing::warn!("refused {path}: {reason}"),
            false => tracing::info!("refused {path}: {reason}"),
        }
    }
    for other in catalogue.not_plugins() {
        if folders.contains(&other.path) {
            tracing::warn!("{}: {}", other.path.display(), other.reason);
        }
    }
    user_plugins::warn_of_hidden(&catalogue);
    catalogue
}
