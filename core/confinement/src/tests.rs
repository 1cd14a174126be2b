//! What is denied is denied to a process that confines itself and to a program that is started.

use std::env;
use std::process::Command;

use super::*;

/// Who confines the process in which the calls are tried.
const CONFINED_BY: &str = "CONFINED_BY";
const ITSELF: &str = "itself";
const ITS_PARENT: &str = "its parent";

/// Tries all calls in a process of its own, which reports those that are not denied.
fn try_calls(confined_by: &str) {
    let program = env::current_exe().unwrap();
    let mut command = Command::new(&program);
    command
        .args(["tests::calls_are_denied", "--exact", "--ignored"])
        .env(CONFINED_BY, confined_by);
    if confined_by == ITS_PARENT {
        let folders = SYSTEM.map(Into::into).into_iter();
        let access = Access {
            executes: folders.chain([program]).collect(),
            ..Access::default()
        };
        Rules::only(&access).unwrap().enforce_on(&mut command);
    }
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("1 passed"), "{output:#?}");
}

#[test]
fn a_process_that_confines_itself_is_denied_calls() {
    try_calls(ITSELF);
}

#[test]
fn a_program_that_is_started_is_denied_calls() {
    try_calls(ITS_PARENT);
}

/// What a call with these arguments fails with. Its other arguments are invalid.
fn error_of(call: i64, first: i64, second: i64) -> Option<i32> {
    // SAFETY: the calls below do nothing with invalid arguments.
    let result = unsafe { libc::syscall(call, first, second, -1_i64, -1_i64, -1_i64, -1_i64) };
    (result < 0).then(|| std::io::Error::last_os_error().raw_os_error())?
}

#[test]
#[ignore = "started by another"]
fn calls_are_denied() {
    // Where all ignored tests are run, nobody has started this one.
    let Ok(confined_by) = env::var(CONFINED_BY) else {
        return;
    };
    if confined_by == ITSELF {
        let rules = Rules::only(&Access::default()).unwrap();
        rules.enforce().unwrap();
    }
    let other = i64::from(std::os::unix::process::parent_id());
    let (user, group) = (i64::from(libc::PRIO_USER), i64::from(libc::PRIO_PGRP));
    let namespace = i64::from(libc::CLONE_NEWUSER);
    let mut calls = vec![
        ("add_key", libc::SYS_add_key, -1, -1),
        ("bpf", libc::SYS_bpf, -1, -1),
        ("clone", libc::SYS_clone, namespace, 0),
        ("fchmod", libc::SYS_fchmod, -1, -1),
        ("fchmodat", libc::SYS_fchmodat, -1, -1),
        ("fsetxattr", libc::SYS_fsetxattr, -1, -1),
        ("io_uring_setup", libc::SYS_io_uring_setup, -1, -1),
        ("ioctl of a terminal", libc::SYS_ioctl, -1, 0x5412),
        ("ioprio_set", libc::SYS_ioprio_set, 1, other),
        ("kexec_file_load", libc::SYS_kexec_file_load, -1, -1),
        ("listen", libc::SYS_listen, -1, -1),
        ("mount", libc::SYS_mount, -1, -1),
        ("mq_open", libc::SYS_mq_open, -1, -1),
        ("mq_unlink", libc::SYS_mq_unlink, -1, -1),
        ("msgsnd", libc::SYS_msgsnd, -1, -1),
        ("prlimit64", libc::SYS_prlimit64, other, -1),
        ("process_vm_readv", libc::SYS_process_vm_readv, -1, -1),
        ("ptrace", libc::SYS_ptrace, -1, -1),
        ("sched_setaffinity", libc::SYS_sched_setaffinity, other, -1),
        ("sched_setparam", libc::SYS_sched_setparam, other, -1),
        ("semget", libc::SYS_semget, -1, -1),
        ("semop", libc::SYS_semop, -1, -1),
        ("semtimedop", libc::SYS_semtimedop, -1, -1),
        ("setpgid", libc::SYS_setpgid, -1, -1),
        ("setpriority of a group", libc::SYS_setpriority, group, 0),
        ("setpriority of a user", libc::SYS_setpriority, user, 0),
        ("setsid", libc::SYS_setsid, -1, -1),
        ("shmat", libc::SYS_shmat, -1, -1),
        ("shmctl", libc::SYS_shmctl, -1, -1),
        ("socket", libc::SYS_socket, -1, -1),
        ("socketpair", libc::SYS_socketpair, -1, -1),
        ("syslog", libc::SYS_syslog, -1, -1),
        ("unshare", libc::SYS_unshare, 0, -1),
        ("utimensat", libc::SYS_utimensat, -1, -1),
    ];
    if confined_by == ITSELF {
        calls.extend([
            ("clone", libc::SYS_clone, 0x8000_0000, 0),
            ("execve", libc::SYS_execve, -1, -1),
            ("execveat", libc::SYS_execveat, -1, -1),
        ]);
    }
    for (name, call, first, second) in calls {
        assert_eq!(error_of(call, first, second), Some(libc::EPERM), "{name}");
    }
    for (name, call) in [("clone3", libc::SYS_clone3), ("a later one", 463)] {
        assert_eq!(error_of(call, -1, -1), Some(libc::ENOSYS), "{name}");
    }
}
