//! What the process of ffmpeg may do: a fault of a decoder leads neither to other files nor to the network. Landlock and
//! seccomp of Linux enforce that. Everything is prepared before the process is started: between fork and exec, no memory
//! may be allocated.

use std::collections::BTreeMap;
use std::env::{self, consts::ARCH};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::config::Source;

/// The newest rules that are requested; older systems enforce the subset that they support.
const RULES: ABI = ABI::V7;

/// Where programs and their libraries are, and what these read to start.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/run/current-system",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm",
    "/sys/devices/system",
];

/// Devices that do nothing to the world.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The last known call of the system: a later one may be another way to do what is denied.
const LAST_KNOWN: u32 = 462;
/// The same number on every architecture; some C libraries lack it.
const FCHMODAT2: i64 = 452;

/// What decoding needs none of: sockets, other processes, changes to files by their names, and what only an administrator
/// may do.
const DENIED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_userfaultfd,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fsetxattr,
    libc::SYS_lsetxattr,
    libc::SYS_setxattr,
    libc::SYS_fremovexattr,
    libc::SYS_lremovexattr,
    libc::SYS_removexattr,
    libc::SYS_utimensat,
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
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Namespaces of its own, in which a process has all rights.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Confines the program that a command starts: it may read its source and what it needs to start, write to the pipes that
/// it is given, and nothing else. What the system can't enforce is not enforced.
///
/// # Errors
/// When the system refuses what it can do.
pub fn confine(command: &mut Command, program: &str, source: Source<'_>) -> io::Result<()> {
    let mut rules = Some(rules(program, source).map_err(io::Error::other)?);
    let filters = match has_seccomp() {
        true => filters().map_err(io::Error::other)?,
        false => Vec::new(),
    };
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let confine = move || {
        if let Some(rules) = rules.take() {
            rules.restrict_self().map_err(|_| refused())?;
        }
        for filter in &filters {
            apply_filter(filter).map_err(|_| refused())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls alone, and allocates no memory.
    unsafe { command.pre_exec(confine) };
    Ok(())
}

fn rules(program: &str, source: Source<'_>) -> Result<RulesetCreated, RulesetError> {
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let (path, access) = match source {
        Source::File(path) => (path, AccessFs::ReadFile.into()),
        Source::Camera(path) => (path, device),
    };
    Ruleset::default()
        .handle_access(AccessFs::from_all(RULES))?
        .handle_access(AccessNet::from_all(RULES))?
        .scope(Scope::Signal)?
        .scope(Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, run))?
        .add_rules(path_beneath_rules(found(program), run))?
        .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules([path], access))
}

/// The file of a program.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into());
    }
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

fn has_seccomp() -> bool {
    // SAFETY: this only asks.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 }
}

fn filters() -> Result<Vec<BpfProgram>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|call| (*call, Vec::new())).collect();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let is_set = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, is_set, flag)?;
        let of_clone = rules.entry(libc::SYS_clone).or_default();
        of_clone.push(SeccompRule::new(vec![condition])?);
    }
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)?;
    Ok(vec![known(), filter.try_into()?])
}

/// Calls beyond the last one are not there, and neither is `clone3`: its flags are in memory, which a filter can't read, and
/// C libraries use `clone` in its place.
fn known() -> BpfProgram {
    // As the kernel's headers name them.
    const LOAD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_GREATER, 2, 0, LAST_KNOWN),
        step(JUMP_IF_EQUAL, 1, 0, libc::SYS_clone3 as u32),
        step(RETURN, 0, 0, ALLOW),
        step(RETURN, 0, 0, ERRNO | libc::ENOSYS as u32),
    ]
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Output;

    use super::*;

    /// What a program gives that may read a file, or everything.
    fn run(program: &str, args: &[&str], readable: Option<&Path>) -> Output {
        let mut command = Command::new(program);
        command.args(args);
        if let Some(file) = readable {
            confine(&mut command, program, Source::File(file.to_str().unwrap())).unwrap();
        }
        command.output().unwrap()
    }

    #[test]
    fn a_program_reads_its_file_and_no_other_and_writes_none() {
        let folder = tempfile::tempdir().unwrap();
        let (video, other) = (folder.path().join("video"), folder.path().join("other"));
        std::fs::write(&video, "the video").unwrap();
        std::fs::write(&other, "another file").unwrap();
        let [video_path, other_path] = [&video, &other].map(|it| it.display().to_string());
        let read = "cat \"$0\" && cat \"$1\"";
        let args = ["-c", read, &video_path, &other_path];
        let free = run("sh", &args, None);
        assert!(free.status.success());
        assert_eq!(free.stdout, b"the videoanother file");
        let confined = run("sh", &args, Some(&video));
        assert!(!confined.status.success());
        assert_eq!(confined.stdout, b"the video");
        for script in [
            "echo more >> \"$0\"",
            "echo more > \"$1\"",
            "echo more > \"$1.new\"",
            "rm \"$1\"",
            "chmod 600 \"$0\"",
            "ls \"$(dirname \"$0\")\"",
        ] {
            let args = ["-c", script, &video_path, &other_path];
            let confined = run("sh", &args, Some(&video));
            assert!(!confined.status.success(), "{script}: {confined:?}");
            let reported = String::from_utf8_lossy(&confined.stderr).to_lowercase();
            let is_refused = reported.contains("permi") || reported.contains("cannot create");
            assert!(is_refused, "{script}: {reported}");
        }
        assert_eq!(std::fs::read(&video).unwrap(), b"the video");
        assert_eq!(std::fs::read(&other).unwrap(), b"another file");
    }

    #[test]
    fn a_program_opens_no_connection() {
        let folder = tempfile::tempdir().unwrap();
        let video = folder.path().join("video");
        std::fs::write(&video, "").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for protocol in ["tcp", "udp"] {
            let script = format!("exec 3<>/dev/{protocol}/127.0.0.1/{port}");
            let args = ["-c", script.as_str()];
            let free = run("bash", &args, None);
            assert!(free.status.success(), "{free:?}");
            let confined = run("bash", &args, Some(&video));
            assert!(!confined.status.success(), "{protocol}: {confined:?}");
        }
    }

    /// A playlist, without the options that refuse playlists.
    #[test]
    fn ffmpeg_does_not_follow_a_file_to_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (list, other) = (folder.path().join("list"), folder.path().join("other.y4m"));
        std::fs::write(&other, "YUV4MPEG2 W2 H2 F1:1 Cmono\nFRAME\nabcd").unwrap();
        std::fs::write(&list, "file other.y4m\n").unwrap();
        let list_path = list.display().to_string();
        let mut args: Vec<&str> = "-nostdin -loglevel error -f concat -i".split(' ').collect();
        args.push(&list_path);
        args.extend("-f rawvideo -pix_fmt gray pipe:1".split(' '));
        let free = run("ffmpeg", &args, None);
        assert_eq!(free.stdout, b"abcd", "{free:?}");
        let confined = run("ffmpeg", &args, Some(&list));
        assert!(confined.stdout.is_empty(), "{confined:?}");
        let reported = String::from_utf8_lossy(&confined.stderr);
        assert!(reported.contains("Permission denied"), "{reported}");
        let picture = ["-nostdin", "-loglevel", "error", "-i"];
        let rest = ["-f", "rawvideo", "-pix_fmt", "gray", "pipe:1"];
        let other_path = other.display().to_string();
        let args: Vec<&str> = [&picture[..], &[other_path.as_str()], &rest[..]].concat();
        let itself = run("ffmpeg", &args, Some(&other));
        assert_eq!(itself.stdout, b"abcd", "{itself:?}");
    }
}
