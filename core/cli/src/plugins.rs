//! Where plugins are looked for.

use std::path::PathBuf;

use flowpipe_host::catalogue::Catalogue;

use crate::args::Global;
use crate::processes;

/// The variable with more folders, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "FLOWPIPE_PLUGIN_PATH";

/// The folders, by precedence: `--plugin-dir`, [`PATH_VARIABLE`], then beside the
/// program: its own folder, `plugins` in it, and `../lib/flowpipe` (where packages install them).
pub fn folders(global: &Global) -> Vec<PathBuf> {
    let mut folders = global.plugin_dir.clone();
    if let Some(path) = std::env::var_os(PATH_VARIABLE) {
        folders
            .extend(std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()));
    }
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    if let Some(home) = program.ok().as_deref().and_then(|program| program.parent()) {
        folders.push(home.to_owned());
        folders.push(home.join("plugins"));
        folders.push(home.join("../lib/flowpipe"));
    }
    folders
}

/// Finds all plugins.
pub fn load(global: &Global) -> Catalogue {
    load_from(&folders(global))
}

/// Finds all plugins in these folders. Each call reads the files again.
pub fn load_from(folders: &[PathBuf]) -> Catalogue {
    let catalogue = Catalogue::scan(folders, &processes::scanner());
    for refused in catalogue.refused() {
        let (path, reason) = (refused.path.display(), &refused.reason);
        match refused.path.is_dir() {
            // Any plugin may be missing then.
            true => tracing::warn!("{path}: {reason}"),
            false => tracing::info!("refused {path}: {reason}"),
        }
    }
    catalogue
}
