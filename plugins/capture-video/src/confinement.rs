//! What the process of ffmpeg may do: a fault of a decoder leads neither to other files nor to the network.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use flowpipe_confinement::{Access, Rules, SYSTEM};

use crate::config::Source;

/// Where programs are besides the system's folders.
const PROGRAMS: [&str; 3] = ["/bin", "/opt", "/home/linuxbrew/.linuxbrew"];

/// Confines the program that a command starts: it may read its source and what it needs to start, write to the pipes that
/// it is given, and nothing else. What the system can't enforce is not enforced.
///
/// # Errors
/// When the system refuses what it can do.
pub fn confine(command: &mut Command, program: &str, source: Source<'_>) -> io::Result<()> {
    let folders = SYSTEM.into_iter().chain(PROGRAMS).map(PathBuf::from);
    let mut access = Access {
        executes: folders.chain(found(program)).collect(),
        ..Access::default()
    };
    match source {
        Source::File(path) => access.reads.push(path.into()),
        Source::Camera(path) => access.devices.push(path.into()),
    }
    Rules::only(&access)?.enforce_on(command);
    Ok(())
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

#[cfg(test)]
#[cfg(target_os = "linux")]
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

    /// Tries calls in a confined process, which reports those that are not denied.
    #[test]
    fn a_program_is_denied_what_isolated_stages_are_denied() {
        let program = env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let arguments = [
            "confinement::tests::calls_are_denied",
            "--exact",
            "--ignored",
        ];
        let free = run(program, &arguments, None);
        assert!(!free.status.success(), "{free:#?}");
        let confined = run(program, &arguments, Some(Path::new("/dev/null")));
        let stdout = String::from_utf8_lossy(&confined.stdout);
        assert!(stdout.contains("1 passed"), "{confined:#?}");
    }

    #[test]
    #[ignore = "started by another"]
    fn calls_are_denied() {
        let other = i64::from(std::os::unix::process::parent_id());
        for (name, call, first) in [
            ("mq_unlink", libc::SYS_mq_unlink, -1),
            ("prlimit64", libc::SYS_prlimit64, other),
            ("sched_setaffinity", libc::SYS_sched_setaffinity, other),
            ("semop", libc::SYS_semop, -1),
            ("setsid", libc::SYS_setsid, -1),
            ("shmat", libc::SYS_shmat, -1),
            ("socket", libc::SYS_socket, -1),
            ("socketpair", libc::SYS_socketpair, -1),
            ("utimensat", libc::SYS_utimensat, -1),
        ] {
            // SAFETY: the other arguments are invalid: the call does nothing.
            let result = unsafe { libc::syscall(call, first, -1_i64, -1_i64, -1_i64) };
            let error = io::Error::last_os_error().raw_os_error();
            assert_eq!((result, error), (-1, Some(libc::EPERM)), "{name}");
        }
    }
}
