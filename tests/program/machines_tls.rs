//! A pipeline on two machines, connected as machines on different hosts are: by TLS, with certificates of both.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use flowpipe_tests::{flowpipe, pipeline, run};

use crate::machines::{Machine, ends_without_rack, frames_have_travelled, free_address, on_two};
use crate::machines_death::{numbers, there_and_back};
use crate::screen::wait_for;

/// Strangers that are connected at a time. The listener accepts more of them at once, and the process has files for them.
const STRANGERS: usize = 100;
/// The pause between two strangers.
const STRANGER_INTERVAL: Duration = Duration::from_millis(2);
/// How long something that happens may take. Other tests run at the same time.
const LONG: Duration = Duration::from_secs(60);

/// A pipeline on two machines with certificates: `rack` runs these stages, and `desk`, which listens, the others.
fn with_certificates(folder: &Path, address: SocketAddr, rack: &[&str]) -> String {
    let file = on_two(folder, &format!("tls/{address}"), rack);
    run(&["machine", "init", &file]).expect(0);
    file
}

/// A program whose lines on standard error are read while it runs. Dropped, it is killed.
pub struct Watched {
    program: Child,
    lines: BufReader<std::process::ChildStderr>,
}

impl Watched {
    pub fn start(file: &str, machine: &str) -> Self {
        let command = flowpipe(&["run", file, "--machine", machine, "--json"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut program = command.unwrap();
        let lines = BufReader::new(program.stderr.take().unwrap());
        Self { program, lines }
    }

    /// Waits for a line with this text, and returns all lines before it, too.
    pub fn wait_for(&mut self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let begin = all.len();
            let length = self.lines.read_line(&mut all).unwrap();
            assert!(length > 0, "it has ended: {all}");
            if all[begin..].contains(text) {
                return all;
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

#[test]
fn the_halves_of_a_pipeline_do_what_it_does_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let stages = ["solver", "planner", "actuator"];
    let file = with_certificates(folder.path(), free_address(), &stages);
    let rack = Machine::start(&file, "rack");
    let desk = Machine::start(&file, "desk");
    let (desk, rack) = (desk.end().expect(0).json(), rack.end().expect(0).json());
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    for what in ["boards", "solved", "played", "accepted"] {
        assert_eq!(rack["boards"][what], whole["boards"][what], "{what}");
    }
    assert_eq!(desk["boards"]["boards"], whole["boards"]["boards"]);
}

#[test]
fn frames_travel_there_and_sightings_back_while_strangers_connect() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let file = with_certificates(folder.path(), address, &["vision"]);
    let desk = Machine::start(&file, "desk");
    let rack = Machine::start(&file, "rack");
    let (done, running) = std::sync::mpsc::channel::<()>();
    let strangers = std::thread::spawn(move || {
        let (mut connected, mut count) = (VecDeque::new(), 0);
        while running.recv_timeout(STRANGER_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if let Ok(mut stream) = TcpStream::connect(address) {
                count += 1;
                // Every second one says nothing. The others may be refused already.
                if count % 2 == 0 {
                    let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
                }
                connected.push_back(stream);
                // Closed, it needs no file.
                connected.drain(..connected.len().saturating_sub(STRANGERS));
            }
        }
        count
    });
    let frames = frames_have_travelled(desk, rack);
    let count = |key: &str| frames[key].as_u64().unwrap();
    // The programs could be on two machines.
    assert_eq!(count("shared"), 0, "{frames:#}");
    assert!(count("sent_bytes") < count("bytes"), "{frames:#}");
    drop(done);
    let strangers = strangers.join().unwrap();
    assert!(strangers > 2 * STRANGERS, "{strangers}");
}

#[test]
fn a_machine_that_dies_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let address = format!("tls/{}", free_address());
    let file = there_and_back(folder.path(), &log, &address);
    run(&["machine", "init", &file]).expect(0);
    let desk = Machine::start(&file, "desk");
    let rack = Watched::start(&file, "rack");
    wait_for("messages", || (numbers(&log).len() > 20).then_some(()));
    // It is killed.
    drop(rack);
    ends_without_rack(desk);
}

/// A second program runs as `rack` while the first one does.
fn refuses_a_second_program(file: &str, log: &Path) {
    let mut desk = Watched::start(file, "desk");
    let mut rack = Machine::start(file, "rack");
    let written = |count| wait_for("messages", || (numbers(log).len() > count).then_some(()));
    written(20);
    let mut second = Watched::start(file, "rack");
    second.wait_for("is connected to another program that runs as this machine");
    // It tries again and again.
    written(numbers(log).len() + 1_000);
    rack.check_runs();
    drop(second);
    written(numbers(log).len() + 100);
    drop(rack);
    let lines = desk.wait_for("machine rack is dead: the run ends");
    // The connection of the first one is lost with it, and not before.
    for once in [
        "a second program connects as machine rack",
        "the connection to machine rack is lost",
    ] {
        assert_eq!(lines.matches(once).count(), 1, "{once}: {lines}");
    }
}

#[test]
fn a_second_program_of_a_machine_is_refused_and_the_run_goes_on() {
    for transport in ["tls", "tcp"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("numbers.txt");
        let address = format!("{transport}/{}", free_address());
        let file = there_and_back(folder.path(), &log, &address);
        if transport == "tls" {
            run(&["machine", "init", &file]).expect(0);
        }
        refuses_a_second_program(&file, &log);
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let address = free_address();
    let ours = with_certificates(one.path(), address, &["solver"]);
    let theirs = with_certificates(other.path(), address, &["solver"]);
    let mut desk = Watched::start(&ours, "desk");
    let mut rack = Watched::start(&theirs, "rack");
    for (program, other) in [(&mut rack, "desk"), (&mut desk, "rack")] {
        let lines = program.wait_for("different authorities");
        let reason = lines.lines().last().unwrap();
        assert!(
            reason.contains("Unknown") && !reason.contains("Addr("),
            "{lines}"
        );
        let waits = format!("still waiting for machine {other}: ");
        assert!(reason.starts_with(&waits), "{lines}");
    }
    drop(rack);
    // The right one can connect, and the run starts.
    let rack = Machine::start(&ours, "rack");
    rack.end().expect(0);
    assert!(desk.program.wait().unwrap().success());
}

#[test]
fn a_machine_needs_its_own_certificate_and_a_private_key() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = with_certificates(folder.path(), free_address(), &["solver"]);
    let path = |name: &str| folder.path().join("certificates").join(name);
    let started = |machine: &str| run(&["run", &file, "--machine", machine]);
    let mode = |mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path("rack.key"), permissions).unwrap();
    };
    mode(0o640);
    let ran = started("rack").expect(78);
    let text = "rack.key: other users can use this private key (mode 640): `chmod 600` it";
    assert!(ran.stderr.contains(text), "{ran:#?}");
    mode(0o600);
    // The desk takes the files of the rack.
    for end in ["pem", "key"] {
        std::fs::copy(path(&format!("rack.{end}")), path(&format!("desk.{end}"))).unwrap();
    }
    let ran = started("desk").expect(78);
    let text = "the certificate is that of machine rack";
    assert!(ran.stderr.contains(text), "{ran:#?}");
    let advice =
        "copy the files of machine desk again from where `flowpipe machine init` has created them";
    let whole = with_certificates(other.path(), free_address(), &["solver"]);
    let good = Path::new(&whole).with_file_name("certificates");
    let copy = |from: &str, to: &str| {
        std::fs::copy(good.join(from), path(to)).unwrap();
    };
    for (file, content, wrong) in [
        ("desk.pem", "nothing", "the certificate is malformed"),
        ("desk.key", "nothing", "the private key is malformed"),
        (
            "desk.key",
            "rack.key",
            "the private key is not that of the certificate",
        ),
        (
            "ca.pem",
            "nothing",
            "the certificate of the authority is malformed",
        ),
        (
            "ca.pem",
            "desk.key",
            "the certificate of the authority is malformed",
        ),
    ] {
        for name in ["ca.pem", "desk.pem", "desk.key"] {
            copy(name, name);
        }
        match content {
            "nothing" => std::fs::write(path(file), content).unwrap(),
            other => copy(other, file),
        }
        let ran = started("desk").expect(78);
        let text = format!("certificates/{file}: {wrong}: {advice}");
        assert!(ran.stderr.contains(&text), "{text}: {ran:#?}");
    }
    std::fs::remove_file(path("desk.pem")).unwrap();
    let ran = started("desk").expect(78);
    for text in [
        "certificates/desk.pem: ",
        "`flowpipe machine init FILE` creates certificates; machine desk needs ca.pem, desk.pem and desk.key",
    ] {
        assert!(ran.stderr.contains(text), "{ran:#?}");
    }
}

#[test]
fn certificates_are_private_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = with_certificates(folder.path(), free_address(), &["solver"]);
    let certificates = folder.path().join("certificates");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(&certificates).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(
            mode & 0o077 == 0,
            name.ends_with(".key"),
            "{name}: {mode:o}"
        );
        found.insert(name);
    }
    // Nothing has the private key of the authority.
    let expected = ["ca.pem", "desk.key", "desk.pem", "rack.key", "rack.pem"];
    assert_eq!(found, expected.map(str::to_owned).into());
    let key = std::fs::read(certificates.join("desk.key")).unwrap();
    std::fs::remove_file(certificates.join("ca.pem")).unwrap();
    let ran = run(&["machine", "init", &file]).expect(2);
    let text = "desk.pem: it exists, and is not replaced: remove all certificates of the folder";
    assert!(ran.stderr.contains(text), "{ran:#?}");
    assert_eq!(std::fs::read(certificates.join("desk.key")).unwrap(), key);
    // What it had written before is removed.
    assert!(!certificates.join("ca.pem").exists());
    let ran = run(&["machine", "init", "pipelines/replay.toml"]).expect(2);
    assert!(
        ran.stderr.contains("the pipeline has no machines"),
        "{ran:#?}"
    );
}

/// The sockets of a process: each protocol with the state and the local address, as the kernel prints them.
#[cfg(target_os = "linux")]
fn sockets(process: u32) -> BTreeSet<(&'static str, String, String)> {
    let mut own = BTreeSet::new();
    for entry in std::fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
        // It may be closed already.
        let Ok(target) = std::fs::read_link(entry.unwrap().path()) else {
            continue;
        };
        let inode = target
            .to_str()
            .and_then(|text| text.strip_prefix("socket:["));
        own.extend(inode.map(|inode| inode.trim_end_matches(']').to_owned()));
    }
    let mut found = BTreeSet::new();
    for protocol in ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"] {
        let table = std::fs::read_to_string(format!("/proc/{process}/net/{protocol}"));
        for line in table.unwrap_or_default().lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            if own.contains(fields[9]) {
                found.insert((protocol, fields[3].to_owned(), fields[1].to_owned()));
            }
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn has_loaded(process: u32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    maps.contains("libflowpipe_zenoh")
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_listens_where_its_file_says_and_nowhere_else() {
    const LISTENS: &str = "0A";
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let file = with_certificates(folder.path(), address, &["solver"]);
    let listens = |protocol: &str, state: &str| state == LISTENS || !protocol.starts_with("tcp");
    // It only connects: nobody is there.
    let mut rack = Watched::start(&file, "rack");
    rack.wait_for("still waiting for machine desk: ");
    let process = rack.program.id();
    assert!(has_loaded(process));
    let found = sockets(process);
    assert!(
        !found
            .iter()
            .any(|(protocol, state, _)| listens(protocol, state)),
        "{found:?}"
    );
    drop(rack);
    let mut desk = Watched::start(&file, "desk");
    desk.wait_for("waiting for machine rack");
    let expected = (
        "tcp",
        LISTENS.to_owned(),
        format!("0100007F:{:04X}", address.port()),
    );
    let began = Instant::now();
    while !sockets(desk.program.id()).contains(&expected) && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(sockets(desk.program.id()), [expected].into());
    drop(desk);
    // Programs of one machine do without the library.
    let plain = tempfile::tempdir().unwrap();
    let file = on_two(plain.path(), &format!("tcp/{address}"), &["solver"]);
    let mut desk = Watched::start(&file, "desk");
    desk.wait_for("waiting for machine rack");
    assert!(!has_loaded(desk.program.id()));
}

#[test]
fn a_file_without_how_to_reach_a_machine_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[machines.desk]\nlisten = \"tls/0.0.0.0:7447\"\n";
    let ran = run(&["check", &pipeline(folder.path(), text)]).expect(78);
    assert!(
        ran.stderr.contains("others can't connect to this address"),
        "{ran:#?}"
    );
}
