//! A pipeline on two machines: two programs, connected over the machine's own network.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

pub use flowpipe_tests::machines::free_address;
use flowpipe_tests::{Ran, flowpipe, library, pipeline, ready, run};

use crate::machines_death::{numbers, there_and_back};
use crate::screen::wait_for;

/// No program takes so long to end.
const LONGEST_END: Duration = Duration::from_secs(150);

/// An address that nobody listens on.
pub fn address() -> String {
    address_of("tcp")
}

/// The same, for this transport.
pub fn address_of(transport: &str) -> String {
    format!("{transport}/{}", free_address())
}

/// Creates the certificates of the machines of a file, if this transport needs them.
pub fn create_certificates(file: &str, transport: &str) {
    if transport == "tls" {
        run(&["machine", "init", file]).expect(0);
    }
}

/// The pipeline `pipelines/replay.toml` on two machines: `rack` runs these stages, and `desk` the others.
pub fn on_two(folder: &Path, address: &str, rack: &[&str]) -> String {
    let machine_of = |stage: &str| {
        if rack.contains(&stage) {
            "rack"
        } else {
            "desk"
        }
    };
    let machines = format!("[machines.desk]\nlisten = \"{address}\"\n\n[machines.rack]\n");
    on(folder, &machines, machine_of)
}

/// The pipeline `pipelines/replay.toml` on three machines in a chain: `first`, `middle` and `last`. The first one and the
/// last one have no link.
pub fn on_three(folder: &Path) -> String {
    let machine_of = |stage: &str| match stage {
        "vision" | "planner" => "middle",
        "solver" => "last",
        _ => "first",
    };
    let listen = address();
    let machines = format!(
        "[machines.first]\n\n[machines.middle]\nlisten = \"{listen}\"\n\n[machines.last]\n"
    );
    on(folder, &machines, machine_of)
}

/// The pipeline `pipelines/replay.toml` on these machines.
fn on(folder: &Path, machines: &str, machine_of: impl Fn(&str) -> &'static str) -> String {
    let mut text = String::new();
    for line in ready().lines() {
        text.push_str(line);
        text.push('\n');
        let stage = line.strip_prefix("[stages.");
        if let Some(stage) = stage.and_then(|rest| rest.strip_suffix(']')) {
            let machine = machine_of(stage);
            text.push_str(&format!("machine = \"{machine}\"\n"));
        }
    }
    text.push_str(&format!("\n{machines}"));
    pipeline(folder, &text)
}

/// A program that runs one machine's stages. Dropped, it is killed.
pub struct Machine(pub Child);

impl Machine {
    pub fn start(file: &str, machine: &str) -> Self {
        let command = flowpipe(&["run", file, "--machine", machine, "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(command.unwrap())
    }

    /// Checks that it has not ended.
    ///
    /// # Panics
    /// With what it has printed, when it has.
    pub fn check_runs(&mut self) {
        if let Some(status) = self.0.try_wait().unwrap() {
            let ran = Ran::from(Output {
                status,
                stdout: read(self.0.stdout.take()),
                stderr: read(self.0.stderr.take()),
            });
            panic!("it has ended: {ran:#?}");
        }
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ran {
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        let stdout = std::thread::spawn(|| read(stdout));
        let stderr = std::thread::spawn(|| read(stderr));
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break Some(status);
            }
            if began.elapsed() > LONGEST_END {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // Then its outputs end.
        drop(self);
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let Some(status) = status else {
            panic!(
                "it does not end: {}",
                String::from_utf8_lossy(&stderr).into_owned()
            );
        };
        Ran::from(Output {
            status,
            stdout,
            stderr,
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(output: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut output) = output {
        output.read_to_end(&mut bytes).unwrap();
    }
    bytes
}

/// Checks the ends of a run of which `rack` has the stage `vision`, against one of a single machine. Returns what was
/// sent of its frames.
pub fn frames_have_travelled(desk: Machine, rack: Machine) -> serde_json::Value {
    let (desk, rack) = (desk.end().expect(0), rack.end().expect(0));
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    assert_eq!(desk.json()["boards"], whole["boards"]);
    assert_eq!(
        rack.json()["report"]["stages"][1]["in"],
        whole["boards"]["boards"]
    );
    let machines = desk.json()["machines"].clone();
    let machines = machines.as_array().unwrap();
    let rack = machines.iter().find(|it| it["name"] == "rack").unwrap();
    let frames = rack["link"]["frames"].clone();
    assert_eq!(frames["count"], 11, "{frames:#}");
    frames
}

/// The pipeline of a file with frames that do not end, two a second.
pub fn without_end(folder: &Path, file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    pipeline(folder, &text.replace("fps = 20", "fps = 2, repeat = true"))
}

/// Checks the end of a run whose other machine, `rack`, has died.
pub fn ends_without_rack(desk: Machine) {
    let ran = desk.end();
    assert!(
        ran.stderr.contains("machine rack is dead: the run ends"),
        "{ran:#?}"
    );
    assert_eq!(ran.code, Some(1), "{ran:#?}");
}

#[test]
fn the_halves_of_a_pipeline_do_what_it_does_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    let file = on_two(
        folder.path(),
        &address(),
        &["solver", "planner", "actuator"],
    );
    // In any order: the one that connects is there first.
    let rack = Machine::start(&file, "rack");
    std::thread::sleep(Duration::from_millis(300));
    let desk = Machine::start(&file, "desk");
    let (desk, rack) = (desk.end().expect(0), rack.end().expect(0));
    let (desk, rack) = (desk.json(), rack.json());
    for what in ["boards", "solved", "played", "accepted"] {
        assert_eq!(
            rack["boards"][what], whole["boards"][what],
            "{what}: {rack:#}"
        );
    }
    let counts = |json: &serde_json::Value, stage: usize| {
        let stage = &json["report"]["stages"][stage];
        ["in", "out"].map(|count| stage[count].as_u64().unwrap())
    };
    for (stage, json) in [(0, &desk), (1, &desk), (2, &rack), (3, &rack), (4, &rack)] {
        assert_eq!(counts(json, stage), counts(&whole, stage), "stage {stage}");
    }
    // From the frame on one machine to the mouse on the other.
    let marks = |json: &serde_json::Value| json["report"]["marks"]["action"]["count"].clone();
    assert_eq!(marks(&rack), marks(&whole));
}

#[test]
fn frames_travel_there_and_sightings_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = on_two(folder.path(), &address(), &["vision"]);
    let desk = Machine::start(&file, "desk");
    let rack = Machine::start(&file, "rack");
    let frames = frames_have_travelled(desk, rack);
    let count = |key: &str| frames[key].as_u64().unwrap();
    // Both programs are on one machine.
    if cfg!(target_os = "linux") {
        assert!(count("shared") > 0, "{frames:#}");
        assert!(count("sent_bytes") < count("bytes"), "{frames:#}");
    }
}

#[test]
fn machines_with_different_files_name_the_difference() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let address = address();
    let desk = on_two(one.path(), &address, &["solver"]);
    let rack = on_two(other.path(), &address, &["solver", "planner"]);
    let (desk, rack) = (Machine::start(&desk, "desk"), Machine::start(&rack, "rack"));
    for ran in [desk.end().expect(78), rack.end().expect(78)] {
        assert!(
            ran.stderr.contains("the pipeline file differs: "),
            "{ran:#?}"
        );
    }
}

/// What the other file names is not missing here.
#[test]
fn of_a_file_with_a_wrong_name_of_a_plugin_only_the_file_is_named() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = one.path().join("numbers.txt");
    let file = there_and_back(one.path(), &log, &address());
    let text = std::fs::read_to_string(&file).unwrap();
    let wrong = pipeline(
        other.path(),
        &text.replace("\"numbers-pass\"", "\"numbers-pas\""),
    );
    let (desk, rack) = (
        Machine::start(&file, "desk"),
        Machine::start(&wrong, "rack"),
    );
    for ran in [desk.end().expect(78), rack.end().expect(78)] {
        let differs = "the pipeline file differs: ";
        assert!(ran.stderr.contains(differs), "{ran:#?}");
        assert!(!ran.stderr.contains("lacks the plugin"), "{ran:#?}");
    }
}

/// Starts `desk` as it is, and `rack` with this command. Both name what differs, and nothing starts.
fn differs(file: &str, rack: &mut std::process::Command, what: &[&str]) {
    let desk = Machine::start(file, "desk");
    let rack = rack.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let rack = Machine(rack.unwrap());
    for (ran, [own, other]) in [
        (desk.end(), ["desk", "rack"]),
        (rack.end(), ["rack", "desk"]),
    ] {
        let ran = ran.expect(78);
        let line = ran.stderr.lines().find(|it| it.contains(" differs: "));
        let line = line.unwrap_or_else(|| panic!("{ran:#?}"));
        let parts: Vec<_> = line.split("; ").collect();
        for what in what {
            let begin = format!("{what} differs: ");
            let part = parts.iter().find(|it| it.contains(&begin));
            let part = part.unwrap_or_else(|| panic!("{what}: {ran:#?}"));
            let (_, hashes) = part.split_once(&begin).unwrap();
            let (own_hash, rest) = hashes.split_once(&format!(" on {own}, ")).unwrap();
            let (other_hash, _) = rest.split_once(&format!(" on {other}")).unwrap();
            assert_ne!(own_hash, other_hash);
        }
        assert_eq!(line.matches(" differs: ").count(), what.len(), "{line}");
    }
}

#[test]
fn machines_with_different_plugins_name_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let mut rack = flowpipe(&["run", &file, "--machine", "rack"]);
    // The same plugins in a file with another hash.
    let name = library("numbers");
    let name = name.file_name().unwrap();
    let plugins = rack
        .get_envs()
        .find(|(key, _)| *key == "FLOWPIPE_PLUGIN_PATH");
    let original = Path::new(plugins.unwrap().1.unwrap()).join(name);
    let mut bytes = std::fs::read(original).unwrap();
    bytes.extend(b"another build");
    let own = folder.path().join("plugins");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join(name), bytes).unwrap();
    rack.env("FLOWPIPE_PLUGIN_PATH", &own);
    let plugins = [
        "the plugin numbers",
        "the plugin numbers-log",
        "the plugin numbers-pass",
    ];
    differs(&file, &mut rack, &plugins);
    assert!(!log.exists());
}

/// The links of such files have different numbers of channels.
#[test]
fn machines_with_different_numbers_of_stages_name_the_difference() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = one.path().join("numbers.txt");
    let desk = there_and_back(one.path(), &log, &address());
    let more = other.path().join("more.txt");
    let more = format!(
        "[stages.more]\nplugin = \"numbers-log\"\nfrom = \"pass\"\nmachine = \"rack\"\n\
         config = {{ file = {more:?}, pause_us = 1000 }}\n[machines.desk]\n"
    );
    let text = std::fs::read_to_string(&desk).unwrap();
    let rack = pipeline(other.path(), &text.replace("[machines.desk]\n", &more));
    let mut rack = flowpipe(&["run", &rack, "--machine", "rack"]);
    differs(&desk, &mut rack, &["the pipeline file"]);
    assert!(!log.exists());
}

/// Also those of stages that run on other machines.
#[test]
fn a_machine_that_lacks_plugins_reports_them_to_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let none = folder.path().join("plugins");
    std::fs::create_dir(&none).unwrap();
    let without_plugins = |machine: &str| {
        let mut command = flowpipe(&["run", &file, "--machine", machine]);
        command.env("FLOWPIPE_PLUGIN_PATH", &none);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Machine(command.spawn().unwrap())
    };
    let desk = Machine::start(&file, "desk");
    let rack = without_plugins("rack");
    let (desk, rack) = (desk.end().expect(78), rack.end().expect(78));
    for ran in [&desk, &rack] {
        for plugin in ["numbers", "numbers-log", "numbers-pass"] {
            let lack = format!("rack lacks the plugin {plugin}");
            assert!(ran.stderr.contains(&lack), "{ran:#?}");
        }
    }
    assert!(
        rack.stderr.contains("unknown plugin `numbers`"),
        "{rack:#?}"
    );
    // Where no machine has them, no one waits for long.
    let began = Instant::now();
    for machine in ["desk", "rack"].map(without_plugins) {
        machine.end().expect(78);
    }
    assert!(began.elapsed() < Duration::from_secs(40));
    assert!(!log.exists());
}

#[test]
fn machines_with_different_options_name_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let started = |machine: &str, options: &[&str]| {
        let mut command = flowpipe(&["run", &file, "--machine", machine]);
        command.args(options);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Machine(command.spawn().unwrap())
    };
    for (own, other, expected) in [
        (
            &["--dry-run"][..],
            &["--set", "numbers.count=5"][..],
            [
                "rack lacks the option --dry-run",
                "desk lacks the option --set numbers.count",
            ],
        ),
        (
            &["--set", "numbers.count=6"],
            &["--set", "numbers.count=5"],
            ["the option --set numbers.count differs: ", " on rack"],
        ),
    ] {
        let (desk, rack) = (started("desk", own), started("rack", other));
        for ran in [desk.end().expect(78), rack.end().expect(78)] {
            for part in expected {
                assert!(ran.stderr.contains(part), "{part}: {ran:#?}");
            }
            assert!(!ran.stderr.contains("besides the file"), "{ran:#?}");
        }
    }
    assert!(!log.exists());
}

#[test]
fn a_machine_that_dies_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let desk = Machine::start(&file, "desk");
    let mut rack = Machine::start(&file, "rack");
    wait_for("messages", || (numbers(&log).len() > 20).then_some(()));
    rack.0.kill().unwrap();
    rack.0.wait().unwrap();
    ends_without_rack(desk);
}

#[test]
fn an_address_that_is_in_use_may_be_free_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp/{}", used.local_addr().unwrap());
    let file = on_two(folder.path(), &address, &["solver"]);
    let work = folder.path().join("machines.toml");
    let machines = format!("[machines.rack]\n[machines.desk]\nlisten = \"{address}\"\n");
    std::fs::write(&work, machines).unwrap();
    let work = work.display().to_string();
    for args in [
        vec!["run", &file, "--machine", "desk"],
        vec!["machine", "work", &work, "--machine", "desk"],
    ] {
        // A service starts again then.
        let ran = run(&args).expect(1);
        assert!(ran.stderr.contains(&format!("{address}: ")), "{ran:#?}");
    }
}

#[test]
fn the_machine_has_to_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = on_two(folder.path(), &address(), &["solver"]);
    for (args, why) in [
        (
            vec!["run", &file],
            "name this one with --machine (desk, rack)",
        ),
        (vec!["run", &file, "--machine", "rak"], "it has desk, rack"),
        (
            vec!["run", "pipelines/replay.toml", "--machine", "desk"],
            "--machine needs a pipeline with [machines.NAME]",
        ),
    ] {
        let ran = run(&args).expect(2);
        assert!(ran.stderr.contains(why), "{ran:#?}");
    }
}

/// A pipeline of `desk`, whose twenty numbers are on `rack` at once. That logs one each time that so many microseconds have
/// passed.
pub fn numbers_at_once(folder: &Path, log: &Path, pause_us: u32) -> String {
    let address = address();
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nmachine = \"desk\"\nconfig = {{ count = 20 }}\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"numbers\"\nmachine = \"rack\"\n\
         queue = {{ capacity = 100 }}\nconfig = {{ file = {log:?}, pause_us = {pause_us} }}\n\
         [machines.desk]\nlisten = \"{address}\"\n[machines.rack]\n"
    );
    pipeline(folder, &text)
}

#[test]
fn a_machine_whose_part_is_done_prints_for_whom_it_waits() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    // `rack` needs eight seconds for all.
    let file = numbers_at_once(folder.path(), &log, 400_000);
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    let (desk, rack) = (desk.end().expect(0), rack.end().expect(0));
    let notice = "the run on this machine has ended: waiting for machine";
    let named = format!("{notice} rack (Ctrl-C stops the run there, too, ");
    assert_eq!(desk.stderr.matches(&named).count(), 1, "{desk:#?}");
    assert!(!rack.stderr.contains(notice), "{rack:#?}");
    assert_eq!(numbers(&log).len(), 20);
}
