//! A live game whose solver is on another machine.

use std::path::Path;
use std::process::Stdio;

use flowpipe_tests::machines::divided;
use flowpipe_tests::{flowpipe, pipeline};

use crate::live_play::{Player, Table, ready};
use crate::machines::Machine;

/// The live pipeline with the solver on `rack`: in the loop with the referee.
fn solver_on_rack(boards: usize) -> String {
    let pipeline = ready("live.toml", &[("referee", &format!("boards = {boards}"))]);
    divided(&pipeline, "solver", "tcp")
}

/// Both machines.
fn start(table: &Table, folder: &Path, boards: usize) -> (Player, Machine) {
    let divided = solver_on_rack(boards);
    let file = pipeline(folder, &divided);
    let rack = flowpipe(&["run", &file, "--machine", "rack", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let desk = table.play(&divided, &["--machine", "desk", "--json"]);
    (desk, Machine(rack.unwrap()))
}

#[test]
fn a_solver_on_another_machine_solves_what_is_played() {
    let table = Table::set(&["--size", "5,7,9", "--seed", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let (desk, rack) = start(&table, folder.path(), 5);
    let (desk, rack) = (desk.ended().expect(0).json(), rack.end().expect(0).json());
    assert_eq!(desk["boards"]["accepted"], 5, "{desk:#}");
    for json in [&desk, &rack] {
        let stages = json["report"]["stages"].as_array().unwrap();
        let solver = stages.iter().find(|it| it["name"] == "solver").unwrap();
        assert!(solver["out"].as_u64() >= Some(5), "{solver:#}");
    }
    table.wait_for("solved", 5);
}

/// The loop does not wait for it.
#[test]
fn the_death_of_the_solver_s_machine_ends_the_game() {
    let table = Table::set(&["--size", "5,7,9", "--seed", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let (desk, mut rack) = start(&table, folder.path(), 500);
    table.wait_for("solved", 2);
    rack.0.kill().unwrap();
    rack.0.wait().unwrap();
    let ran = desk.ended().expect(1);
    assert!(
        ran.stderr.contains("machine rack is dead: the run ends"),
        "{ran:#?}"
    );
}
