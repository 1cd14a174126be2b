//! Which calls of the system a process may use. What is not permitted fails with EPERM, as for whoever lacks the
//! rights; calls that are not known here with ENOSYS, as on a system that does not have them.

mod calls;

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::io;
use std::path::Path;

use seccompiler::{
    BackendError, BpfProgram, Error as ApplyError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::access::Access;
use crate::seccomp::calls::{
    ATTRIBUTES, ATTRIBUTES_OF_OPEN, COMMANDS, COPIES, PRIVILEGED, SCHEDULING, SESSIONS, SHARED,
    VIEWS,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Result<T> = std::result::Result<T, BackendError>;

/// Filters of calls, in the order in which they are applied. None where the system has no seccomp.
#[derive(Debug)]
pub struct Filters(Vec<BpfProgram>);

/// The last known call: a later one may be another way to do what is denied.
const LAST_KNOWN: u32 = 462;
/// On x86-64 there are other numbers for the same calls from here on.
const LAST_POSSIBLE: u32 = 0x3fff_ffff;

/// The process itself, for [`libc::SYS_ioprio_set`].
const IOPRIO_WHO_PROCESS: i32 = 1;

/// Puts characters into the terminal's input, or takes the terminal over; changes what a file can be used for.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
const TIOCSPGRP: u64 = 0x5410;
const TIOCSCTTY: u64 = 0x540e;
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

/// Namespaces of its own, in which a process has all rights.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
    0x80, // CLONE_NEWTIME
];

const INTERNET: [i32; 2] = [libc::AF_INET, libc::AF_INET6];
/// The part of a socket's type that is its kind.
const SOCK_KINDS: i32 = 0xf;
/// Obsolete, and packets as they are.
const SOCK_PACKET: i32 = 10;

/// Everything but what only an administrator needs, and what changes other processes.
pub fn loose() -> Result<Filters> {
    filters(always()?, LAST_POSSIBLE, None)
}

/// What a process with this access needs.
pub fn only(access: &Access) -> Result<Filters> {
    // Its flags are in memory, which a filter can't read: `clone` is used in its place.
    filters(to(access)?, LAST_KNOWN, Some(libc::SYS_clone3))
}

fn filters(rules: Rules, last: u32, absent: Option<i64>) -> Result<Filters> {
    Ok(Filters(match is_there() {
        true => vec![known(last, absent), compile(rules)?],
        false => Vec::new(),
    }))
}

/// Confines this process. Neither allocates nor frees memory.
pub fn enforce(filters: &Filters) -> io::Result<()> {
    filters.0.iter().try_for_each(|filter| {
        apply_filter(filter).map_err(|error| match error {
            ApplyError::Prctl(error) | ApplyError::Seccomp(error) => error,
            _ => io::Error::from_raw_os_error(libc::EPERM),
        })
    })
}

/// Whether the system has it.
pub fn is_there() -> bool {
    // SAFETY: this only asks.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 }
}

fn compile(rules: Rules) -> Result<BpfProgram> {
    let arch = TargetArch::try_from(ARCH)?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)?.try_into()
}

/// What is always denied.
fn always() -> Result<Rules> {
    let mut rules = Rules::new();
    deny(&mut rules, PRIVILEGED);
    // Limits of other processes: no more memory, no more time.
    deny_where(
        &mut rules,
        libc::SYS_prlimit64,
        vec![argument(0, SeccompCmpOp::Ne, 0)?],
    )?;
    for (call, process) in SCHEDULING {
        deny_where(
            &mut rules,
            call,
            vec![number(process, SeccompCmpOp::Ne, 0)?],
        )?;
    }
    // Neither groups of processes nor all of a user.
    for (call, which) in [
        (libc::SYS_setpriority, libc::PRIO_PROCESS.cast_signed()),
        (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
    ] {
        let is_other = number(0, SeccompCmpOp::Ne, which)?;
        deny_where(&mut rules, call, vec![is_other])?;
    }
    for command in [TIOCSTI, TIOCLINUX] {
        deny_where(
            &mut rules,
            libc::SYS_ioctl,
            vec![argument(1, SeccompCmpOp::Eq, command)?],
        )?;
    }
    Ok(rules)
}

fn to(access: &Access) -> Result<Rules> {
    let mut rules = always()?;
    deny(&mut rules, VIEWS);
    let runs_programs = !access.executes.is_empty();
    if !runs_programs {
        deny(&mut rules, COMMANDS);
    }
    // The guardian of the mouse is a copy, and starts its own session.
    if !access.uses_display {
        deny(&mut rules, SESSIONS);
    }
    // A program may be a script, which starts another one.
    if !access.uses_display && !runs_programs {
        deny(&mut rules, COPIES);
        let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
        let is_copy = argument(0, SeccompCmpOp::MaskedEq(thread), 0)?;
        deny_where(&mut rules, libc::SYS_clone, vec![is_copy])?;
    }
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let is_set = argument(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        deny_where(&mut rules, libc::SYS_clone, vec![is_set])?;
    }
    for command in [TIOCSPGRP, TIOCSCTTY, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR] {
        deny_where(
            &mut rules,
            libc::SYS_ioctl,
            vec![argument(1, SeccompCmpOp::Eq, command)?],
        )?;
    }
    // Also of files that may be written: one that is open may have been opened to be read.
    if !access.writes.iter().any(|it| it == Path::new("/")) {
        deny(&mut rules, ATTRIBUTES);
        deny(&mut rules, ATTRIBUTES_OF_OPEN);
    }
    if !access.uses_display {
        deny(&mut rules, SHARED);
    }
    sockets(&mut rules, access)?;
    Ok(rules)
}

/// Which kinds of sockets may be opened, and what may be done with them.
fn sockets(rules: &mut Rules, access: &Access) -> Result<()> {
    pairs(rules, access)?;
    if !access.uses_network {
        around_connect(rules)?;
    }
    let mut allowed = Vec::new();
    if access.uses_display {
        allowed.push(libc::AF_UNIX);
    }
    if access.uses_network || access.display_port.is_some() {
        allowed.extend(INTERNET);
    }
    if access.uses_network {
        allowed.push(libc::AF_NETLINK);
    }
    if allowed.is_empty() {
        deny(rules, &[libc::SYS_socket]);
        return Ok(());
    }
    let others = allowed
        .into_iter()
        .map(|it| number(0, SeccompCmpOp::Ne, it));
    deny_where(rules, libc::SYS_socket, others.collect::<Result<_>>()?)?;
    // Netlink gives only this machine's addresses, which name lookups need.
    deny_where(
        rules,
        libc::SYS_socket,
        vec![
            number(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?,
            number(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?,
        ],
    )?;
    for domain in INTERNET {
        let domain = || number(0, SeccompCmpOp::Eq, domain);
        if access.uses_network {
            // Packets of any kind are an administrator's.
            for kind in [libc::SOCK_RAW, SOCK_PACKET] {
                deny_where(rules, libc::SYS_socket, vec![domain()?, is_of_kind(kind)?])?;
            }
        } else {
            // Landlock decides about ports of TCP, and about no other protocol.
            deny_kinds_but(rules, libc::SYS_socket, domain, &[libc::SOCK_STREAM])?;
            deny_where(
                rules,
                libc::SYS_socket,
                vec![
                    domain()?,
                    number(2, SeccompCmpOp::Ne, 0)?,
                    number(2, SeccompCmpOp::Ne, libc::IPPROTO_TCP)?,
                ],
            )?;
        }
    }
    Ok(())
}

/// Pairs of sockets that reach only each other. A datagram socket can be connected to any socket in the file system, so
/// a process that may not open Unix sockets gets none of these.
fn pairs(rules: &mut Rules, access: &Access) -> Result<()> {
    let call = libc::SYS_socketpair;
    if !access.makes_socket_pairs {
        deny(rules, &[call]);
        return Ok(());
    }
    deny_where(
        rules,
        call,
        vec![number(0, SeccompCmpOp::Ne, libc::AF_UNIX)?],
    )?;
    if access.uses_display {
        return Ok(());
    }
    let any = || number(0, SeccompCmpOp::Eq, libc::AF_UNIX);
    deny_kinds_but(rules, call, any, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])
}

/// Connections that Landlock does not check: connecting by sending, and listening at a port that the system chooses.
fn around_connect(rules: &mut Rules) -> Result<()> {
    deny(rules, &[libc::SYS_listen]);
    let flag = u64::from(libc::MSG_FASTOPEN.cast_unsigned());
    for (call, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let connects = argument(flags, SeccompCmpOp::MaskedEq(flag), flag)?;
        deny_where(rules, call, vec![connects])?;
    }
    Ok(())
}

/// Denies a call that makes sockets of this domain, but for some kinds of them.
fn deny_kinds_but(
    rules: &mut Rules,
    call: i64,
    domain: impl Fn() -> Result<SeccompCondition>,
    allowed: &[i32],
) -> Result<()> {
    for kind in (0..=SOCK_KINDS).filter(|kind| !allowed.contains(kind)) {
        deny_where(rules, call, vec![domain()?, is_of_kind(kind)?])?;
    }
    Ok(())
}

/// The second argument names this kind of socket. It may have flags besides.
fn is_of_kind(kind: i32) -> Result<SeccompCondition> {
    let mask = u64::from(SOCK_KINDS.cast_unsigned());
    number(1, SeccompCmpOp::MaskedEq(mask), kind)
}

fn deny(rules: &mut Rules, calls: &[i64]) {
    for call in calls {
        // Without conditions: it replaces all earlier rules.
        rules.insert(*call, Vec::new());
    }
}

/// Denies a call where all of these hold, or all of others that were given for it.
fn deny_where(rules: &mut Rules, call: i64, conditions: Vec<SeccompCondition>) -> Result<()> {
    let rule = SeccompRule::new(conditions)?;
    match rules.get_mut(&call) {
        Some(already) if already.is_empty() => {}
        Some(others) => others.push(rule),
        None => drop(rules.insert(call, vec![rule])),
    }
    Ok(())
}

fn argument(number: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition> {
    SeccompCondition::new(number, SeccompCmpArgLen::Dword, how, value)
}

fn number(position: u8, how: SeccompCmpOp, value: i32) -> Result<SeccompCondition> {
    argument(position, how, u64::from(value.cast_unsigned()))
}

/// Calls beyond the last, and one of them: not there.
fn known(last: u32, absent: Option<i64>) -> BpfProgram {
    // As the kernel's headers name them.
    const LOAD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let absent = absent.and_then(|call| u32::try_from(call).ok());
    vec![
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_GREATER, 2, 0, last),
        step(JUMP_IF_EQUAL, 1, 0, absent.unwrap_or(u32::MAX)),
        step(RETURN, 0, 0, ALLOW),
        step(RETURN, 0, 0, ERRNO | libc::ENOSYS as u32),
    ]
}
