//! A pipeline on two machines: two programs, connected over the machine's own network.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

pub use flowpipe_tests::machines::free_address;
use flowpipe_tests::{Ran, flowpipe, pipeline, ready, run};

/// An address that nobody listens on.
pub fn address() -> String {
    format!("tcp/{}", free_address())
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

/// A program that runs one machine's stages.
pub struct Machine(pub Child);

impl Machine {
    pub fn start(file: &str, machine: &str) -> Self {
        let command = flowpipe(&["run", file, "--machine", machine, "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(command.unwrap())
    }

    pub fn end(self) -> Ran {
        self.0.wait_with_output().unwrap().into()
    }
}

/// Checks the ends of a run of which `rack` has the stage `vision`, against one of a single machine.
pub fn frames_have_travelled(desk: Machine, rack: Machine) {
    let (desk, rack) = (desk.end().expect(0), rack.end().expect(0));
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    assert_eq!(desk.json()["boards"], whole["boards"]);
    assert_eq!(
        rack.json()["report"]["stages"][1]["in"],
        whole["boards"]["boards"]
    );
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
        ran.stderr.contains("machine rack is gone: the run ends"),
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
    frames_have_travelled(desk, rack);
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

#[test]
fn a_machine_that_dies_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = on_two(
        folder.path(),
        &address(),
        &["solver", "planner", "actuator"],
    );
    let file = without_end(folder.path(), &file);
    let desk = Machine::start(&file, "desk");
    let mut rack = Machine::start(&file, "rack");
    std::thread::sleep(Duration::from_secs(3));
    rack.0.kill().unwrap();
    rack.0.wait().unwrap();
    ends_without_rack(desk);
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
