//! Which files, ports and processes a process may reach.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, RestrictSelfError, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
    path_beneath_rules,
};

use crate::access::{Access, SYSTEM};

/// The newest rules that are requested; older systems enforce the subset that they support.
const RULES: ABI = ABI::V7;

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

/// It reaches no memory of other processes, which is so with any rules, and sends them no signals.
pub fn loose() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().scope(Scope::Signal)?.create()
}

/// It reaches what it has access to.
pub fn only(access: &Access) -> Result<RulesetCreated, RulesetError> {
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
    let write = (AccessFs::from_write(RULES) & !devices) | read;
    let use_device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(RULES))?
        .scope(Scope::Signal)?;
    if !access.uses_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(RULES))?;
    }
    if !access.uses_display {
        // The X server listens there too.
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    let mut ruleset = ruleset
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules(&access.reads, read))?
        .add_rules(path_beneath_rules(&access.writes, write))?
        .add_rules(path_beneath_rules(
            &access.executes,
            read | AccessFs::Execute,
        ))?
        .add_rules(path_beneath_rules(&access.devices, use_device))?;
    if access.uses_network {
        ruleset = ruleset.add_rules(path_beneath_rules(NETWORK, read))?;
    }
    if let (false, Some(port)) = (access.uses_network, access.display_port) {
        ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    Ok(ruleset)
}

/// Confines this process. Neither allocates nor frees memory.
pub fn enforce(ruleset: RulesetCreated) -> io::Result<()> {
    match ruleset.restrict_self() {
        Ok(_) => Ok(()),
        Err(RulesetError::RestrictSelf(
            RestrictSelfError::SetNoNewPrivsCall { source, .. }
            | RestrictSelfError::RestrictSelfCall { source, .. },
        )) => Err(source),
        Err(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

/// What this system can't enforce.
pub fn gap() -> Option<String> {
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
