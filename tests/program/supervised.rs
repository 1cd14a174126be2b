//! Runs as services of systemd: what a service manager hears of them, through a socket as systemd's.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{flowpipe, pipeline, project, ready, run};

use crate::machines::{Machine, numbers_at_once};
use crate::machines_death::numbers;

/// How long a message may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of the service manager's socket.
const SOCKET: &str = "notify";

/// A run without end, and its service manager.
struct Service {
    folder: tempfile::TempDir,
    manager: UnixDatagram,
    program: Child,
}

impl Service {
    /// `watchdog`: after how many microseconds without a report the run counts as hung.
    fn start(watchdog: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(SOCKET);
        let manager = UnixDatagram::bind(&socket).unwrap();
        manager.set_read_timeout(Some(PATIENCE)).unwrap();
        let file = pipeline(
            folder.path(),
            &ready().replace("fps = 20", "fps = 20, repeat = true"),
        );
        let program = flowpipe(&["run", &file, "--supervised", "--quiet"])
            .env("NOTIFY_SOCKET", &socket)
            .env("WATCHDOG_USEC", watchdog)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            folder,
            manager,
            program,
        }
    }
}

#[test]
fn the_service_manager_hears_of_the_start_of_each_interval_and_of_the_end() {
    let began = Instant::now();
    let Service {
        folder: _folder,
        manager,
        program,
    } = Service::start("1000000");
    let next = || {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert_eq!(next(), "READY=1\nSTATUS=runs replay\n");
    for _ in 0..3 {
        assert_eq!(next(), "WATCHDOG=1\n");
    }
    // Half of what the service manager waits for, three times. What a busy machine adds makes it no less.
    assert!(began.elapsed() >= Duration::from_millis(1_500));
    send_signal("TERM", program.id());
    let last = std::iter::repeat_with(next).find(|it| it != "WATCHDOG=1\n");
    assert_eq!(last.as_deref(), Some("STOPPING=1\n"));
    let ended = program.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
}

/// As `sd_watchdog_enabled(3)` reads it.
#[test]
fn a_watchdog_without_time_is_none() {
    let Service {
        folder: _folder,
        manager,
        program,
    } = Service::start("0");
    let next = || {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert_eq!(next(), "READY=1\nSTATUS=runs replay\n");
    // It would be notified a hundred times a second.
    std::thread::sleep(Duration::from_millis(300));
    send_signal("TERM", program.id());
    assert_eq!(next(), "STOPPING=1\n");
    let ended = program.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
}

/// A stage that waits for a connection holds a run that is to end for some seconds, in which the service manager knows
/// that it ends. What is lost is reported.
#[test]
fn a_run_that_is_stopped_ends_although_nobody_connects() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join(SOCKET);
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let text = "[stages.clock]\nplugin = \"source-ticks\"\nconfig = { interval_ms = 1 }\n\
                [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"clock\"\n\
                config = { unix = \"s.sock\", listen = true }\n";
    let file = pipeline(folder.path(), text);
    let program = flowpipe(&["run", &file, "--supervised", "--quiet"])
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "100000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let next = || {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert!(next().starts_with("READY=1"));
    assert_eq!(next(), "WATCHDOG=1\n");
    send_signal("TERM", program.id());
    assert!(std::iter::repeat_with(next).any(|it| it == "STOPPING=1\n"));
    // It goes on: the stage still waits.
    assert_eq!(next(), "WATCHDOG=1\n");
    let ended = program.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let [stdout, stderr] = [&ended.stdout, &ended.stderr].map(|it| String::from_utf8_lossy(it));
    let lost =
        "it still waited when the run was ending: this message is lost, and so are those behind it";
    assert!(stderr.contains(lost), "{stderr}");
    assert!(stdout.contains("left over at the end"), "{stdout}");
}

/// The service manager would kill it if it ended for as long as the stages of other machines go on.
#[test]
fn a_machine_whose_part_is_done_goes_on_until_the_others_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join(SOCKET);
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let log = folder.path().join("numbers.txt");
    // `rack` needs three seconds for all.
    let file = numbers_at_once(folder.path(), &log, 150_000);
    let args = [
        "run",
        file.as_str(),
        "--machine",
        "desk",
        "--supervised",
        "--quiet",
    ];
    let desk = flowpipe(&args)
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "200000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let desk = Machine(desk.unwrap());
    let rack = Machine::start(&file, "rack");
    let next = || {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert!(next().starts_with("READY=1"));
    let mut reports = 0;
    let last = loop {
        match next() {
            it if it == "WATCHDOG=1\n" => reports += 1,
            other => break other,
        }
    };
    assert_eq!(last, "STOPPING=1\n");
    assert_eq!(numbers(&log).len(), 20, "they are written before");
    // Ten in a second, but on a busy machine.
    assert!(reports >= 5, "{reports}");
    desk.end().expect(0);
    rack.end().expect(0);
}

/// A name that starts with `@` is that of a socket without a file, by `sd_notify(3)`.
#[cfg(target_os = "linux")]
#[test]
fn the_socket_of_the_service_manager_may_be_abstract() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::SocketAddr;
    let name = format!("flowpipe-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = UnixDatagram::bind_addr(&address).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let output = flowpipe(&["run", "pipelines/replay.toml", "--supervised", "--quiet"])
        .env("NOTIFY_SOCKET", format!("@{name}"))
        .env_remove("WATCHDOG_USEC")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("can't be notified"), "{log}");
    for expected in ["READY=1\nSTATUS=runs replay\n", "STOPPING=1\n"] {
        let mut bytes = [0; 1024];
        let length = manager.recv(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes[..length]), expected);
    }
}

#[test]
fn a_service_manager_that_does_not_read_does_not_hold_the_run() {
    let Service {
        folder,
        manager,
        mut program,
    } = Service::start("2000");
    let socket = folder.path().join(SOCKET);
    let mut bytes = [0; 1024];
    manager.recv(&mut bytes).unwrap();
    // From now on it has room for nothing. One sender alone may reach its own limit before that of the socket.
    let mut senders = Vec::new();
    loop {
        let sender = UnixDatagram::unbound().unwrap();
        sender.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while sender.send_to(b"full", &socket).is_ok() {
            sent += 1;
        }
        senders.push(sender);
        if sent == 0 {
            break;
        }
    }
    // Several intervals, and several times as often as the run looks at them.
    std::thread::sleep(Duration::from_millis(500));
    send_signal("TERM", program.id());
    let began = Instant::now();
    let ended = loop {
        if let Some(status) = program.try_wait().unwrap() {
            break Some(status);
        }
        if began.elapsed() > PATIENCE {
            program.kill().unwrap();
            program.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(ended.and_then(|it| it.code()), Some(130));
}

/// What a stage refuses when it starts is so the next time, too: the unit does not start such a run again.
#[test]
fn a_config_that_a_stage_refuses_when_it_starts_is_a_pipeline_that_cant_be_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "1\n").unwrap();
    std::fs::write(folder.path().join("full.jsonl"), "1\n").unwrap();
    let sink = "plugin = \"sink-jsonl\"\nconfig = { path = \"full.jsonl\" }";
    let apart = format!("{sink}\nisolation = \"process\"");
    let ask = "plugin = \"http-request\"\nconfig = { servers = [\"https://127.0.0.1:1\"], url = '\"https://127.0.0.1:1/\"', ca_file = \"none.pem\" }";
    for (stage, part) in [
        (sink, "full.jsonl is there already"),
        (apart.as_str(), "full.jsonl is there already"),
        (ask, "can't use"),
    ] {
        let file = pipeline(
            folder.path(),
            &format!(
                "[stages.in]\nplugin = \"source-jsonl\"\nconfig = {{ path = \"in.jsonl\", schema = \"x.a/1\" }}\n\
                 [stages.out]\nfrom = \"in\"\n{stage}\n"
            ),
        );
        run(&["check", &file]).expect(0);
        let ran = run(&["run", &file]).expect(78);
        assert!(ran.stderr.contains(part), "{ran:#?}");
    }
    let unit = std::fs::read_to_string(project().join("core/cli/systemd/flowpipe@.service"));
    let codes = unit.unwrap();
    assert!(codes.contains("\nRestartPreventExitStatus=2 78\n"));
}

#[test]
fn without_a_service_manager_it_is_wrong_usage() {
    let ran = run(&["run", "pipelines/replay.toml", "--supervised"]).expect(2);
    assert!(ran.stderr.contains("NOTIFY_SOCKET is not set"), "{ran:#?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_service_manager_that_is_gone_does_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = flowpipe(&["run", "pipelines/replay.toml", "--supervised", "--quiet"])
        .env("NOTIFY_SOCKET", folder.path().join("nobody"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(
        log.contains("the service manager can't be notified"),
        "{log}"
    );
}

#[test]
fn systemd_understands_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("flowpipe@demo.service");
    let text = std::fs::read_to_string(project().join("core/cli/systemd/flowpipe@.service"));
    std::fs::write(&unit, text.unwrap()).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["--user", "--man=no", "verify"])
        .arg(&unit)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    match verified {
        Ok(verified) => {
            assert!(verified.status.success(), "{verified:?}");
            assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
        }
        Err(error) => println!("not tried: systemd-analyze can't be started: {error}"),
    }
}
