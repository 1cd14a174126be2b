//! A run on two machines is observed as one.

use std::process::Stdio;

use flowpipe_tests::{Ran, flowpipe, run};
use serde_json::Value;

use crate::machines::{Machine, free_address, on_two};

/// Runs a pipeline on both machines. `desk`: more arguments of the one that listens.
fn on_both(file: &str, desk: &[&str]) -> [Ran; 2] {
    let start = |machine: &str, more: &[&str]| {
        let mut args = vec!["run", file, "--machine", machine];
        args.extend(more);
        let command = flowpipe(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Machine(command.unwrap())
    };
    let (desk, rack) = (start("desk", desk), start("rack", &[]));
    [desk.end(), rack.end()]
}

#[test]
fn both_machines_report_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&["run", "pipelines/replay.toml", "--json"])
        .expect(0)
        .json();
    let address = format!("tcp/{}", free_address());
    let file = on_two(folder.path(), &address, &["vision", "solver"]);
    let desk = Machine::start(&file, "desk");
    let rack = Machine::start(&file, "rack");
    let (desk, rack) = (desk.end().expect(0).json(), rack.end().expect(0).json());
    let counts = |json: &Value| {
        let stages = json["report"]["stages"].as_array().unwrap().iter();
        let counts =
            stages.map(|it| ["name", "in", "out", "dropped", "failed"].map(|key| it[key].clone()));
        counts.collect::<Vec<_>>()
    };
    for (json, other) in [(&desk, "rack"), (&rack, "desk")] {
        assert_eq!(counts(json), counts(&whole));
        let stages = json["report"]["stages"].as_array().unwrap();
        let machines: Vec<_> = stages
            .iter()
            .map(|it| it["machine"].as_str().unwrap())
            .collect();
        assert_eq!(machines, ["desk", "rack", "rack", "desk", "desk"]);
        assert!(
            stages
                .iter()
                .all(|it| it["time"]["count"].as_u64() > Some(0)),
            "{json:#}"
        );
        for edge in json["report"]["edges"].as_array().unwrap() {
            let count = |key: &str| edge[key].as_u64().unwrap();
            let all = count("delivered") + count("dropped") + count("discarded");
            assert_eq!(count("sent"), all, "{edge:#}");
        }
        assert_eq!(
            json["report"]["marks"]["action"]["count"],
            whole["report"]["marks"]["action"]["count"]
        );
        for machine in json["machines"].as_array().unwrap() {
            assert_eq!(machine["reported"], true);
            let link = &machine["link"];
            assert_eq!(link.is_object(), machine["name"] == other, "{machine:#}");
            if link.is_object() {
                let bytes = ["sent_bytes", "received_bytes"].map(|key| link[key].as_u64().unwrap());
                assert!(bytes.iter().all(|bytes| *bytes > 1_000), "{link:#}");
                // A frame is a megabyte and more.
                let frames = &link["frames"];
                let [count, bytes] = ["count", "bytes"].map(|key| frames[key].as_u64().unwrap());
                assert_eq!(count > 0, other == "rack", "{link:#}");
                assert!(bytes >= count * 1_000_000, "{link:#}");
                assert!(link["bytes_per_second"].as_u64() > Some(0));
                // Both programs are on one machine, and started at about the same time.
                assert!(link["clock_offset_ns"].as_i64().unwrap().abs() < 60_000_000_000);
                assert!((1..100_000_000).contains(&link["clock_error_ns"].as_i64().unwrap()));
            }
        }
    }
    assert!(whole.get("machines").is_none());
    assert!(whole["report"]["stages"][0].get("machine").is_none());
}

#[test]
fn the_table_has_a_column_for_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("tcp/{}", free_address());
    let file = on_two(folder.path(), &address, &["vision"]);
    for (ran, other) in on_both(&file, &[]).into_iter().zip(["rack", "desk"]) {
        let ran = ran.expect(0);
        let table: Vec<_> = ran.stdout.lines().filter(|it| it.contains('│')).collect();
        assert!(
            table
                .iter()
                .any(|it| it.contains("stage") && it.contains("machine")),
            "{ran:#?}"
        );
        for (stage, machine) in [("frames", "desk"), ("vision", "rack"), ("actuator", "desk")] {
            let is_it = |line: &&&str| line.contains(stage) && line.contains(machine);
            assert!(table.iter().any(|line| is_it(&line)), "{stage}: {ran:#?}");
        }
        let line = ran
            .stdout
            .lines()
            .find(|it| it.starts_with(&format!("machine {other}: ")));
        let line = line.unwrap_or_else(|| panic!("{ran:#?}"));
        let has_frames = ran.stdout.contains("machine rack: ") && ran.stdout.contains(" sent as ");
        assert_eq!(has_frames, other == "rack", "{ran:#?}");
        for text in [" sent, ", " received, ", "/s, its clock ", " ± "] {
            assert!(line.contains(text), "{line}");
        }
    }
}
