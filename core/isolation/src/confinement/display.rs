//! How a process reaches the display server.

use std::env;
use std::path::{Path, PathBuf};

use flowpipe_process::ancestors;

/// The files that a client of the display server authenticates with, and those that name the processes that this one
/// descends from: it does not capture their windows, such as the terminal's.
pub(super) fn files() -> Vec<PathBuf> {
    let authority = env::var_os("XAUTHORITY").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".Xauthority"));
    let machine = ["/etc/machine-id", "/etc/hosts"].map(PathBuf::from);
    let lineage = ancestors::lineage().into_iter().map(ancestors::stat_file);
    let files = authority.into_iter().chain(home).chain(machine);
    files.chain(lineage).collect()
}

/// The port of a display server that is reached over the network, as with `ssh -X`.
pub(super) fn port() -> Option<u16> {
    let display = env::var("DISPLAY").ok()?;
    let (host, number) = display.rsplit_once(':')?;
    let number = number.split('.').next()?.parse::<u16>().ok()?;
    let is_local = host.is_empty() || host == "unix" || host.starts_with('/');
    (!is_local).then(|| number.checked_add(6000))?
}
