//! What a process may do.

use std::path::PathBuf;

/// Folders and files that every process may read: system libraries, and what these read to start.
pub const SYSTEM: [&str; 13] = [
    "/usr",
    "/lib",
    "/lib64",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm",
    "/sys/devices/system",
];

/// What a process may do besides reading [`SYSTEM`] and using what it is given. The default is nothing.
///
/// A path that does not exist permits nothing. A folder includes all that is in it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// What it may read.
    pub reads: Vec<PathBuf>,
    /// What it may write and read. Only with `/` it may change modes, owners and times of files.
    pub writes: Vec<PathBuf>,
    /// What it may execute and read. With any of these it may start processes. They stay in its process group.
    pub executes: Vec<PathBuf>,
    /// Devices that it may use.
    pub devices: Vec<PathBuf>,
    /// It may talk to a display server: open sockets in the file system and abstract ones, share memory, and start
    /// processes that leave its process group.
    pub uses_display: bool,
    /// The TCP port of the display server, where it has one: it may connect to that.
    pub display_port: Option<u16>,
    /// It may talk to other machines.
    pub uses_network: bool,
    /// It may make pairs of sockets that reach only each other.
    pub makes_socket_pairs: bool,
}
