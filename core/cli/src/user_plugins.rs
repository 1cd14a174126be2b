//! The folder of the plugins that the user has installed (`flowpipe plugin install`).

use std::io;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_host::catalogue::{Catalogue, Found, Refused};

/// The folder: `flowpipe/plugins` in the folder of the user's data. `None`: the system has no such folder.
pub fn folder() -> Option<PathBuf> {
    let folders = choose_native_strategy().ok()?;
    Some(folders.data_dir().join("flowpipe").join("plugins"))
}

/// Creates the folder. Other users can't write to it, whatever the umask.
///
/// # Errors
/// When it can't be created.
pub fn create(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(folder)
}

/// Logs which installed plugins are used in place of those that come with the program.
pub fn warn_of_hidden(catalogue: &Catalogue) {
    for (found, hidden) in hidden(catalogue) {
        tracing::warn!(
            "{name}: {} is used in place of {} (`flowpipe plugin remove {name}` removes it)",
            found.path.display(),
            hidden.path.display(),
            name = found.manifest.name,
        );
    }
}

/// The installed stages that hide stages of other folders, with what they hide.
pub fn hidden(catalogue: &Catalogue) -> Vec<(&Found, &Refused)> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let outside = catalogue.refused().iter();
    let outside = outside.filter(|refused| !refused.path.starts_with(&folder));
    let pairs = outside.filter_map(|refused| {
        let found = catalogue.find(refused.name.as_deref()?)?;
        found.path.starts_with(&folder).then_some((found, refused))
    });
    pairs.collect()
}
