//! Messages as JSON lines, in and out of the program.

use std::io::Write;
#[cfg(target_os = "linux")]
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Stdio;

#[cfg(unix)]
use crate::going::{Going, replace, until};
#[cfg(target_os = "linux")]
use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{flowpipe, flowpipe_within, pipeline, project, run, with_input};
use serde_json::{Value, json};

/// A pipeline that passes lines on.
fn passes(folder: &Path, keys: &str, source: &str, sink: &str) -> String {
    let text = format!(
        "[stages.in]\nplugin = \"source-jsonl\"\n{keys}\nconfig = {{ {source} }}\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"in\"\nconfig = {{ {sink} }}\n"
    );
    pipeline(folder, &text)
}

#[test]
fn standard_input_becomes_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = passes(
        folder.path(),
        "on_error = \"skip\"",
        "stdin = true, schema = \"x.a/1\"",
        "stdout = true",
    );
    let ran = with_input(&["run", &file], "{\"a\":1}\n{\"b\" 2}\n\n[3]").expect(0);
    // The tables are printed elsewhere: what reads the lines reads nothing else.
    assert_eq!(ran.stdout, "{\"a\":1}\n[3]\n");
    assert!(ran.stderr.contains("source-jsonl"), "{ran:#?}");
    let why = "standard input, line 2: column 6: expected `:`";
    assert!(ran.stderr.contains(why), "{ran:#?}");
}

#[test]
fn a_wrong_line_ends_the_run_unless_the_pipeline_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n2\nx\n4\n").unwrap();
    let file = passes(
        folder.path(),
        "",
        "path = \"in.jsonl\", schema = \"x.a/1\"",
        "path = \"out.jsonl\"",
    );
    let ran = run(&["run", &file]).expect(1);
    assert!(
        ran.stderr.contains("in.jsonl, line 3: column 1"),
        "{ran:#?}"
    );
    let out = folder.path().join("out.jsonl");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "1\n2\n");
    // What is there is kept: that is so the next time too, so that a service is not started again.
    let ran = run(&["run", &file]).expect(78);
    assert!(
        ran.stderr.contains("out.jsonl is there already"),
        "{ran:#?}"
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "1\n2\n");
}

/// It would be empty before it is read, or grow without end.
#[test]
fn no_stage_writes_what_another_one_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("in.jsonl"), "1\n").unwrap();
    std::fs::hard_link(file("in.jsonl"), file("other.jsonl")).unwrap();
    for (plugin, to, if_exists) in [
        ("sink-jsonl", "in.jsonl", "overwrite"),
        ("sink-jsonl", "other.jsonl", "append"),
        ("tee", "./in.jsonl", "overwrite"),
    ] {
        let source = "path = \"in.jsonl\", schema = \"x.a/1\"";
        let sink = format!("path = \"{to}\", if_exists = \"{if_exists}\"");
        let pipeline = passes(folder.path(), "", source, &sink);
        let text = std::fs::read_to_string(&pipeline).unwrap();
        std::fs::write(&pipeline, text.replace("sink-jsonl", plugin)).unwrap();
        for command in ["check", "run"] {
            let ran = run(&[command, &pipeline]).expect(78);
            for part in [":8:19: `out` writes", "that `in` reads"] {
                assert!(ran.stderr.contains(part), "{ran:#?}");
            }
            assert_eq!(std::fs::read_to_string(file("in.jsonl")).unwrap(), "1\n");
        }
    }
}

#[cfg(unix)]
#[test]
fn standard_streams_and_sockets_that_a_stage_can_not_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let isolated = "isolation = \"process\"";
    let standard = "stdin = true, schema = \"x.a/1\"";
    for (keys, source, sink, why) in [
        (
            isolated,
            standard,
            "path = \"out\"",
            "can't use standard input there",
        ),
        (
            isolated,
            "unix = \"s.sock\", listen = true",
            "path = \"out\"",
            "can't use Unix sockets there",
        ),
    ] {
        let file = passes(folder.path(), keys, source, sink);
        for command in ["check", "run"] {
            let ran = run(&[command, &file]).expect(78);
            assert!(ran.stderr.contains(why), "{ran:#?}");
        }
    }
    assert!(!folder.path().join("s.sock").exists());
    let file = passes(folder.path(), "", standard, "stdout = true");
    let text = std::fs::read_to_string(&file).unwrap();
    let ran = with_input(&["run", "-"], &text).expect(78);
    assert!(
        ran.stderr.contains("which the pipeline was read from"),
        "{ran:#?}"
    );
}

/// A pipeline that prints the lines of each connection to a port of this machine.
#[cfg(unix)]
fn goes_on_listening(folder: &Path) -> (SocketAddr, String) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = free.local_addr().unwrap();
    let source =
        format!("tcp = \"{free}\", listen = true, keep_listening = true, schema = \"x.a/1\"");
    (free, passes(folder, "", &source, "stdout = true"))
}

/// Connects once somebody listens.
#[cfg(unix)]
fn connected(to: SocketAddr) -> TcpStream {
    let mut peer = None;
    until("a listener", || {
        peer = TcpStream::connect(to).ok();
        (peer.is_some(), to.to_string())
    });
    peer.unwrap()
}

/// What a page in a browser sends ends no pipeline that goes on listening.
#[cfg(unix)]
#[test]
fn an_http_request_is_logged_and_the_next_connection_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (free, file) = goes_on_listening(folder.path());
    let run = Going::start(&["run", &file]);
    let mut browser = connected(free);
    browser
        .write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        .unwrap();
    // Closed by the source.
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut browser, &mut rest);
    writeln!(connected(free), "1").unwrap();
    run.wait_for_stdout("\n", 1);
    let (stdout, stderr) = run.stop();
    assert_eq!(stdout, "1\n");
    assert!(stderr.contains("this is an HTTP request"), "{stderr}");
}

/// As on a full disk.
#[cfg(unix)]
#[test]
fn a_file_that_can_not_grow_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("\"{}\"\n", "x".repeat(1_030_000));
    std::fs::write(folder.path().join("in.jsonl"), long).unwrap();
    let source = "path = \"in.jsonl\", schema = \"x.a/1\"";
    let file = passes(folder.path(), "", source, "path = \"out.jsonl\"");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("sink-jsonl", "tee")).unwrap();
    // Blocks of 512 bytes: what the program writes besides is less.
    let ran = flowpipe_within("-f 2000", &["run", &file])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    let why = "out.jsonl: File too large";
    assert!(stderr.contains(why), "{stderr}");
    let written = std::fs::read(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(written.len(), 0, "no part of a line is left");
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n").unwrap();
    let source = "path = \"in.jsonl\", schema = \"x.a/1\"";
    let file = passes(folder.path(), "", source, "path = \"out.jsonl\"");
    run(&["run", &file, "--dry-run"]).expect(0);
    assert!(!folder.path().join("out.jsonl").exists());
}

/// Not even for the stage's confinement.
#[cfg(target_os = "linux")]
#[test]
fn a_dry_run_creates_no_file_of_a_confined_stage() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n").unwrap();
    let source = "path = \"in.jsonl\", schema = \"x.a/1\"";
    let file = passes(folder.path(), "", source, "path = \"out.jsonl\"");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("from = \"in\"", "from = \"in\"\nisolation = \"process\"");
    std::fs::write(&file, text).unwrap();
    run(&["run", &file, "--dry-run"]).expect(0);
    assert!(!folder.path().join("out.jsonl").exists());
    run(&["run", &file]).expect(0);
    assert!(folder.path().join("out.jsonl").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn confined_stages_reach_the_files_and_addresses_of_their_configs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n2\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = listener.local_addr().unwrap();
    for sink in [
        format!("tcp = \"{tcp}\""),
        "path = \"out.jsonl\"".to_owned(),
    ] {
        let file = passes(
            folder.path(),
            "isolation = \"process\"",
            "path = \"in.jsonl\", schema = \"x.a/1\"",
            &sink,
        );
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("from = \"in\"", "from = \"in\"\nisolation = \"process\"");
        std::fs::write(&file, text).unwrap();
        run(&["run", &file]).expect(0);
    }
    let (peer, _) = listener.accept().unwrap();
    let lines: Vec<_> = BufReader::new(peer).lines().map(Result::unwrap).collect();
    assert_eq!(lines, ["1", "2"]);
    let written = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(written, "1\n2\n");
}

/// An endless source ends with the run, and a line that arrives is written without waiting for others.
#[cfg(unix)]
#[test]
fn lines_pass_at_once_and_a_stopped_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (free, file) = goes_on_listening(folder.path());
    let run = Going::start(&["run", &file]);
    for number in 0..3 {
        writeln!(connected(free), "{number}").unwrap();
        run.wait_for_stdout("\n", number + 1);
    }
    let (stdout, _) = run.stop();
    assert_eq!(stdout, "0\n1\n2\n");
}

/// Each message would wait for a connection as long as the first one, until the service manager kills the run.
#[cfg(target_os = "linux")]
#[test]
fn a_stopped_run_ends_although_nobody_accepts() {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    // SAFETY: It is a socket that listens. Its queue gets shorter: one connection waits there at most.
    let set = unsafe { libc::listen(listener.as_raw_fd(), 0) };
    assert_eq!(set, 0);
    let text = "[stages.clock]\nplugin = \"source-ticks\"\nconfig = { interval_ms = 1 }\n\
                [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"clock\"\non_error = \"skip\"\n\
                config = { unix = \"s.sock\" }\n";
    let run = Going::start(&["run", &pipeline(folder.path(), text)]);
    let mut peer = None;
    until("a connection", || {
        peer = listener.accept().ok();
        (peer.is_some(), run.stderr())
    });
    let _waiting = UnixStream::connect(&socket).unwrap();
    drop(peer);
    run.wait_for_stderr("can't write to the socket");
    // Until the queue is full.
    std::thread::sleep(Duration::from_millis(500));
    let stopped = Instant::now();
    let (_, stderr) = run.stop();
    assert!(stopped.elapsed() < Duration::from_secs(20), "{stderr}");
    assert!(
        stderr.contains("it still waited when the run was ending"),
        "{stderr}"
    );
}

/// A line that is too long may have no end either.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_finds_no_message_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = std::fs::File::create(folder.path().join("sparse.jsonl")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for path in ["sparse.jsonl", "/dev/zero"] {
        let source = format!("path = \"{path}\", schema = \"x.a/1\"");
        let file = passes(
            folder.path(),
            "on_error = \"skip\"",
            &source,
            "stdout = true",
        );
        let child = flowpipe(&["run", &file])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(2));
        send_signal("INT", child.id());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(crate::interrupt::is_stopped(ended.status), "{stderr}");
        assert!(!stderr.contains("abandoned"), "{stderr}");
    }
}

#[test]
fn both_ends_of_a_config_are_checked_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = passes(
        folder.path(),
        "",
        "schema = \"x.a/1\"",
        "path = \"a\", stdout = true",
    );
    let ran = run(&["check", &file]).expect(78);
    assert!(ran.stderr.contains("flowpipe: 2 errors"), "{ran:#?}");
    let file = passes(
        folder.path(),
        "",
        "tcp = \"0.0.0.0:7000\", schema = \"x.a/1\"",
        "path = \"a\"",
    );
    let ran = run(&["run", &file]).expect(78);
    assert!(ran.stderr.contains("set allow_remote = true"), "{ran:#?}");
}

/// The pipelines of the chapter are those of the examples.
#[test]
fn the_chapters_pipelines_are_the_examples() {
    let chapter = std::fs::read_to_string(project().join("docs/standard-stages.md")).unwrap();
    let mut examples = 0;
    let folders = ["examples/pictures", "examples/readings"].map(|it| project().join(it));
    for entry in folders.iter().flat_map(|it| std::fs::read_dir(it).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            // The chapter shows them without their tests.
            let text = text.split("\n[[tests]]").next().unwrap().trim_end();
            assert!(
                chapter.contains(&format!("```toml\n{text}\n```")),
                "{}",
                path.display()
            );
            examples += 1;
        }
    }
    assert!(examples > 0);
}

#[test]
fn what_a_sink_wrote_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let copy = project().join("examples/readings/copy.toml");
    let ran = run(&["run", &copy.display().to_string()]).expect(0);
    let lines = ran.stdout.as_str();
    let line: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!(line["sequence"], 2);
    assert_eq!(line["body"], json!({ "sensor": "cellar", "celsius": 11.0 }));
    std::fs::write(folder.path().join("in.jsonl"), lines).unwrap();
    let file = passes(
        folder.path(),
        "",
        "path = \"in.jsonl\"",
        "path = \"out.jsonl\"",
    );
    run(&["run", &file]).expect(0);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(
        read(&folder.path().join("out.jsonl")),
        read(&project().join("examples/readings/readings.jsonl"))
    );
}

/// The example of a stage that passes on and writes, twice with one file.
#[test]
fn a_tee_appends_what_it_passes_on() {
    let folder = tempfile::tempdir().unwrap();
    let examples = project().join("examples/readings");
    let readings = std::fs::read_to_string(examples.join("readings.jsonl")).unwrap();
    std::fs::write(folder.path().join("readings.jsonl"), &readings).unwrap();
    let text = std::fs::read_to_string(examples.join("log.toml")).unwrap();
    let text = text.replace("../../target/try/", "");
    let file = pipeline(folder.path(), &text);
    let written = || std::fs::read_to_string(folder.path().join("seen.jsonl"));
    run(&["run", &file, "--dry-run"]).expect(0);
    written().unwrap_err();
    for round in 1..=2 {
        let ran = run(&["run", &file]).expect(0);
        let hot = ran.stdout.lines().next();
        assert_eq!(hot, Some("{\"sensor\": \"attic\", \"celsius\": 34.25}"));
        assert_eq!(
            written().unwrap().lines().count(),
            round * readings.lines().count()
        );
    }
    let text = written().unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        line["body"],
        json!({ "sensor": "kitchen", "celsius": 21.5 })
    );
    assert_eq!(line["schema"], "sensor.reading/1");
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_tee_reaches_its_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n2\n").unwrap();
    let source = "path = \"in.jsonl\", schema = \"x.a/1\"";
    let file = passes(folder.path(), "", source, "path = \"out.jsonl\"");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("\"sink-jsonl\"", "\"tee\"\nisolation = \"process\"");
    std::fs::write(&file, text).unwrap();
    run(&["run", &file]).expect(0);
    let written = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(written, "1\n2\n");
}

/// The run goes on, and says what it has dropped.
#[cfg(unix)]
#[test]
fn a_reset_connection_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (free, file) = goes_on_listening(folder.path());
    let run = Going::start(&["run", "--quiet", &file]);
    let mut connection = connected(free);
    connection.write_all(b"1001\n{\"a\": 1,").unwrap();
    run.wait_for_stdout("1001", 1);
    reset(connection);
    run.wait_for_stderr("within a line, which is dropped");
    let mut other = connected(free);
    other.write_all(b"1002\n").unwrap();
    run.wait_for_stdout("1002", 1);
    run.stop();
}

/// Closes a connection as a program does that is killed.
#[cfg(unix)]
fn reset(connection: TcpStream) {
    use std::os::fd::AsRawFd as _;
    let at_once = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: The system reads a structure of this size.
    let set = unsafe {
        libc::setsockopt(
            connection.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            std::ptr::from_ref(&at_once).cast(),
            size_of_val(&at_once) as libc::socklen_t,
        )
    };
    assert_eq!(set, 0);
    drop(connection);
}

/// As of a serial device.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_read_does_not_become_that_of_the_program() {
    let system = portable_pty::native_pty_system();
    let terminal = system.openpty(portable_pty::PtySize::default()).unwrap();
    let path = terminal.master.tty_name().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = format!("path = \"{}\", schema = \"x.a/1\"", path.display());
    let file = passes(folder.path(), "", &source, "stdout = true");
    let program = flowpipe(&["run", "--quiet", &file]);
    // A leader of a session without a terminal gets the next one that it opens.
    let mut command = std::process::Command::new("setsid");
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(project());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = Going::start_command(&mut command);
    let mut keyboard = terminal.master.take_writer().unwrap();
    keyboard.write_all(b"123\n").unwrap();
    run.wait_for_stdout("123", 1);
    let status = std::fs::read_to_string(format!("/proc/{}/stat", run.pid())).unwrap();
    // Behind the name: state, parent, group, session, terminal.
    let (_, behind) = status.rsplit_once(')').unwrap();
    let fields: Vec<_> = behind.split_whitespace().collect();
    assert_eq!(fields[3], run.pid().to_string(), "{status}");
    assert_eq!(fields[4], "0", "{status}");
    run.stop();
}

/// It has read them, and the queue is full. The next stage passes on few of them until the source is replaced, however
/// long that takes, and the others at once after that.
#[cfg(unix)]
#[test]
fn a_source_that_is_replaced_loses_no_line_of_standard_input() {
    const SLOW: &str = "messages = 1, within_ms = 100";
    const FAST: &str = "messages = 100_000, within_ms = 1";
    let folder = tempfile::tempdir().unwrap();
    let text = |max_line: u32, rate: &str| {
        format!(
            "[stages.in]\nplugin = \"source-jsonl\"\n\
             config = {{ stdin = true, schema = \"x.a/1\", max_line = {max_line} }}\n\
             [stages.slow]\nplugin = \"throttle\"\nfrom = \"in\"\n\
             config = {{ {rate}, when_exceeded = \"wait\" }}\n\
             [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"slow\"\nconfig = {{ path = \"out.jsonl\" }}\n"
        )
    };
    let file = pipeline(folder.path(), &text(100, SLOW));
    let lines: String = (1000..1400).map(|number| format!("{number}\n")).collect();
    let mut command = flowpipe(&["run", "--watch", &file]);
    let (input, mut stdin) = std::io::pipe().unwrap();
    command.stdin(input);
    let run = Going::start_command(&mut command);
    // It stops within a line.
    let (first, rest) = lines.split_at(lines.len() - 3);
    stdin.write_all(first.as_bytes()).unwrap();
    let out = folder.path().join("out.jsonl");
    let written = || std::fs::read_to_string(&out).unwrap_or_default();
    until("the first lines", || {
        (written().contains("1004"), written())
    });
    replace(Path::new(&file), &text(200, SLOW));
    run.wait_for_stderr("changed: in (config, state kept)");
    assert!(!written().contains("1390"), "too late");
    stdin.write_all(rest.as_bytes()).unwrap();
    drop(stdin);
    replace(Path::new(&file), &text(200, FAST));
    run.wait_for_stderr("changed: slow (config, state kept)");
    until("the last line", || {
        (written().contains("1399\n"), written())
    });
    assert_eq!(written(), lines);
}
