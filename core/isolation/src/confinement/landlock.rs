//! Which files, ports and processes a process may reach.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use flowpipe_process::ancestors;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};

use crate::confinement::{Confinement, Files, Permissions, Unreadable, libraries};

/// The newest rules that are requested; older systems enforce the subset that they support.
const RULES: ABI = ABI::V7;

/// Folders and files of system libraries.
const SYSTEM: [&str; 22] = [
    "/usr",
    "/lib",
    "/lib64",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/fonts",
    "/var/cache/fontconfig",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/vm",
    "/proc/sys/kernel",
    "/sys/devices/system",
];

/// Devices that do nothing to the world.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Files for looking up the names of other machines.
const NETWORK: [&str; 11] = [
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
];

/// Returns what stays out of reach although a library is linked with it.
pub(super) fn confine(
    confinement: &Confinement,
    loaded: &[PathBuf],
) -> Result<Vec<Unreadable>, String> {
    let (ruleset, unreadable) = match confinement {
        Confinement::Loose => (loose(), Vec::new()),
        Confinement::To(permissions) => {
            let needed = libraries::needed_by(loaded, &SYSTEM, &library_folders());
            (to(permissions, &needed.files), needed.unreadable)
        }
    };
    let status = ruleset.and_then(RulesetCreated::restrict_self);
    status
        .map(|_| unreadable)
        .map_err(|error| error.to_string())
}

/// It reaches no memory of other processes, which is so with any rules, and sends them no signals.
fn loose() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().scope(Scope::Signal)?.create()
}

fn to(
    permissions: &Permissions,
    libraries: &BTreeSet<PathBuf>,
) -> Result<RulesetCreated, RulesetError> {
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
    let write = (AccessFs::from_write(RULES) & !devices) | read;
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(RULES))?
        .scope(Scope::Signal)?;
    if !permissions.uses_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(RULES))?;
    }
    if !permissions.uses_display {
        // The X server listens there too.
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    let mut ruleset = ruleset
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(libraries, read))?
        .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules(paths(&permissions.reads), read))?
        .add_rules(path_beneath_rules(paths(&permissions.writes), write))?;
    if permissions.uses_network {
        ruleset = ruleset.add_rules(path_beneath_rules(NETWORK, read))?;
    }
    if permissions.uses_display {
        ruleset = ruleset.add_rules(path_beneath_rules(display_files(), read))?;
        if let (false, Some(port)) = (permissions.uses_network, display_port()) {
            ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
    }
    Ok(ruleset)
}

fn paths(files: &Files) -> Vec<PathBuf> {
    match files {
        Files::All => vec!["/".into()],
        Files::These(paths) => paths.clone(),
    }
}

/// Where else the system looks for libraries.
fn library_folders() -> Vec<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = env::split_paths(&named).filter(|path| path.is_absolute());
    named
        .chain(configured(Path::new("/etc/ld.so.conf")))
        .chain(configured_in("/etc/ld.so.conf.d"))
        .collect()
}

fn configured_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| configured(&entry.path()))
        .collect()
}

fn configured(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let folders = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('/'));
    folders.map(PathBuf::from).collect()
}

/// The files that a client of the display server authenticates with, and those that name the processes that this one
/// descends from: it does not capture their windows, such as the terminal's.
fn display_files() -> Vec<PathBuf> {
    let authority = env::var_os("XAUTHORITY").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".Xauthority"));
    let machine = ["/etc/machine-id", "/etc/hosts"].map(PathBuf::from);
    let lineage = ancestors::lineage().into_iter().map(ancestors::stat_file);
    let files = authority.into_iter().chain(home).chain(machine);
    files.chain(lineage).collect()
}

/// The port of a display server that is reached over the network, as with `ssh -X`.
pub(super) fn display_port() -> Option<u16> {
    let display = env::var("DISPLAY").ok()?;
    let (host, number) = display.rsplit_once(':')?;
    let number = number.split('.').next()?.parse::<u16>().ok()?;
    let is_local = host.is_empty() || host == "unix" || host.starts_with('/');
    (!is_local).then(|| number.checked_add(6000))?
}

/// What this system can't enforce.
pub(super) fn gap() -> Option<String> {
    let missing = match version() {
        6.. => return None,
        4 | 5 => "signals to other processes and abstract sockets stay open to them",
        1..=3 => {
            "signals to other processes, abstract sockets and, in part, the network stay open to them"
        }
        _ => {
            return Some(
                "Landlock is not there (Linux 5.13 has it, where it is turned on): they may read and write files"
                    .to_owned(),
            );
        }
    };
    Some(format!(
        "Landlock is older than that of Linux 6.12: {missing}"
    ))
}

/// The version of Landlock; 0: it is missing.
fn version() -> i64 {
    const VERSION: u32 = 1;
    let nothing: *const u8 = std::ptr::null();
    // SAFETY: with this flag the system reads no memory and returns a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) }
}
