//! The calls that a confined process is denied, by what they do.

/// The same number on every architecture; some C libraries lack it.
const FCHMODAT2: i64 = 452;
/// As that one.
const QUOTACTL_FD: i64 = 443;

/// Calls that only an administrator needs, or that access other processes. They are always denied.
pub const PRIVILEGED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Leaves the session or the process group, by which what a process left behind is found and ended, and a terminal
/// protects itself from those in the background.
pub const SESSIONS: &[i64] = &[libc::SYS_setpgid, libc::SYS_setsid];

/// Copies of a process, which would outlive it. Threads are started by `clone`.
pub const COPIES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// When and where threads run: by the argument that names the process. 0: the caller's own.
pub const SCHEDULING: [(i64, u8); 6] = [
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
];

/// Other programs.
pub const COMMANDS: &[i64] = &[libc::SYS_execve, libc::SYS_execveat];

/// Other views of the system.
pub const VIEWS: &[i64] = &[libc::SYS_unshare];

/// Calls that change files by their names without opening them. Landlock does not check them.
pub const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// The same for open files, which may have been opened to be read.
pub const ATTRIBUTES_OF_OPEN: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_utimensat,
];

/// Memory and queues that any process of the user finds by a number or a name.
pub const SHARED: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];
