//! What a run does when plugins misbehave, race, hang, or when it is interrupted.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, pipeline, ready, run};
use serde_json::Value;

const THREE: &str = r#"
[stages.puzzles]
plugin = "capture-puzzles"
config = { text = "AB\nAB\n\nABC\nABC\n\nABCD\nABCD\n" }
"#;

/// Three puzzles, a stage that does wrong, a solver.
fn misbehaving(config: &str, settings: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{THREE}
[stages.wrong]
plugin = \"misbehaving\"
from = \"puzzles\"
config = {config}
{settings}

[stages.solver]
plugin = \"solver-varisat\"
from = \"wrong\"
"
    );
    run(&["run", "--json", &pipeline(folder.path(), &text)])
}

fn problem(ran: &Ran) -> String {
    ran.json()["report"]["problems"][0].to_string()
}

fn solved(ran: &Ran) -> Value {
    ran.json()["boards"]["solved"].clone()
}

#[test]
fn a_panic_ends_the_run_or_costs_its_message() {
    let ran = misbehaving("{ how = \"panic-in-process\", every = 2 }", "").expect(1);
    assert_eq!(ran.json()["report"]["failure"]["stage"], "wrong");
    for part in [
        "misbehaving",
        "panicked at",
        "made to panic in process",
        "\"sequence\":2",
    ] {
        assert!(
            problem(&ran).contains(part),
            "no {part:?} in {}",
            problem(&ran)
        );
    }
    let ran = misbehaving(
        "{ how = \"panic-in-process\", every = 2 }",
        "on_error = \"skip\"",
    )
    .expect(0);
    // After the panic the stage is restarted, and counts its messages from 1.
    assert_eq!(solved(&ran), 2);
    assert_eq!(ran.json()["report"]["stages"][1]["failed"], 1);
}

#[test]
fn a_panic_in_create_runs_nothing() {
    let ran = misbehaving("{ how = \"panic-in-create\" }", "").expect(1);
    assert!(
        ran.stderr.contains("made to panic in create"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_panic_at_the_end_takes_nothing_down() {
    assert_eq!(
        solved(&misbehaving("{ how = \"panic-in-drop\" }", "").expect(0)),
        3
    );
}

#[test]
fn malformed_messages_are_not_forwarded() {
    let ran = misbehaving("{ how = \"malformed\", every = 3 }", "on_error = \"skip\"").expect(0);
    assert_eq!(solved(&ran), 2);
    assert!(
        problem(&ran).contains("not a flowpipe.sighting/1"),
        "{}",
        problem(&ran)
    );
    // As a problem, and not as a warning too.
    let printed = ran.stderr.matches("not a flowpipe.sighting/1").count();
    assert_eq!(printed, 1, "{}", ran.stderr);
}

#[test]
fn a_flood_waits_for_the_queue() {
    let ran = misbehaving("{ how = \"flood\", every = 3 }", "").expect(0);
    assert_eq!(solved(&ran), 1002);
}

#[test]
fn silence_is_no_failure() {
    assert_eq!(
        solved(&misbehaving("{ how = \"silence\" }", "").expect(0)),
        0
    );
}

#[test]
fn a_hang_is_named_and_replaced_or_ends_the_run() {
    let hang = "{ how = \"hang\", every = 2 }";
    let limits = "timeout = \"100ms\"\nwatchdog = \"100ms\"\n";
    let ran = misbehaving(hang, limits).expect(1);
    assert_eq!(ran.json()["report"]["failure"]["kind"], "hang");
    let ran = misbehaving(hang, &format!("{limits}on_error = \"skip\"")).expect(0);
    assert_eq!(solved(&ran), 2);
    assert_eq!(ran.json()["report"]["stages"][1]["given_up"], 1);
}

#[test]
fn solvers_race_and_the_checks_decide() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{THREE}
[stages.solver]
plugin = [\"solver-patient\", \"solver-varisat\"]
from = \"puzzles\"
"
    );
    let ran = run(&["run", "--json", &pipeline(folder.path(), &text)]).expect(0);
    assert_eq!(solved(&ran), 3);
    let contestants = ran.json()["report"]["stages"][1]["contestants"].clone();
    let won: u64 = contestants
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["won"].as_u64().unwrap())
        .sum();
    assert_eq!(won, 3, "{contestants:#}");
}

#[test]
fn another_planner_draws_the_flows_backwards() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{THREE}
[stages.solver]
plugin = \"solver-varisat\"
from = \"puzzles\"
[stages.planner]
plugin = \"planner-simple\"
from = \"solver\"
config = {{ backwards = true }}
[stages.actuator]
plugin = \"actuator-simulated\"
from = \"planner\"
"
    );
    let ran = run(&["run", "--json", &pipeline(folder.path(), &text)]).expect(0);
    assert_eq!(ran.json()["boards"]["accepted"], 3);
}

/// A loop over the project's frames that only an interrupt ends.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    for (on_stop, left_over) in [("drain", Some(0)), ("drop", None)] {
        let text = ready()
            .replace("name =", &format!("on_stop = \"{on_stop}\"\nname ="))
            .replace("*.png\"]", "*.png\"], repeat = true");
        let file = pipeline(folder.path(), &text);
        let mut child = flowpipe(&["run", &file])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("the game counts it as solved") {
            line.clear();
            assert!(
                stdout.read_line(&mut line).unwrap() > 0,
                "it ended by itself"
            );
        }
        send_signal("INT", child.id());
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
        assert!(
            rest.contains("frame captured -> first mouse action: p50"),
            "{rest}"
        );
        if left_over == Some(0) {
            assert!(!rest.contains("left over at the end"), "{rest}");
        }
    }
}

/// More text than a pipe holds.
#[test]
fn a_reader_that_pauses_gets_all_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let puzzles = "AB\\nAB\\n\\n".repeat(3000);
    let text = format!(
        "[stages.puzzles]
plugin = \"capture-puzzles\"
config = {{ text = \"{puzzles}\" }}
[stages.solver]
plugin = \"solver-search\"
from = \"puzzles\"
"
    );
    let mut run = flowpipe(&["run", &pipeline(folder.path(), &text)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(run.try_wait().unwrap().is_none(), "it waits for its reader");
    let ran: Ran = run.wait_with_output().unwrap().into();
    let ran = ran.expect(0);
    assert_eq!(ran.stdout.matches("solved by solver-search").count(), 3000);
    assert!(ran.stdout.contains("3000 boards read, 3000 solved"));
    assert!(!ran.stderr.contains("not printed"), "{}", ran.stderr);
}

/// Only a pipeline that plays, or may play, has a time to the first action.
#[test]
fn the_time_to_an_action_is_that_of_pipelines_that_act() {
    const LINE: &str = "frame captured -> first mouse action: ";
    let folder = tempfile::tempdir().unwrap();
    // No stage acts. The puzzle has no solution, so that the mouse gets nothing to play either.
    let solves = "[stages.puzzles]\nplugin = \"capture-puzzles\"\nconfig = { text = \"AB\\nBA\" }\n\
                  [stages.solver]\nplugin = \"solver-search\"\nfrom = \"puzzles\"\n";
    let ran = run(&["run", &pipeline(folder.path(), solves)]).expect(0);
    assert!(!ran.stdout.contains(LINE), "{}", ran.stdout);
    let plays = format!(
        "{solves}[stages.planner]\nplugin = \"planner-corners\"\nfrom = \"solver\"\n\
         [stages.mouse]\nplugin = \"actuator-mouse\"\nfrom = \"planner\"\n"
    );
    let ran = run(&["run", &pipeline(folder.path(), &plays), "--dry-run"]).expect(0);
    assert!(
        ran.stdout.contains(&format!("{LINE}no action")),
        "{}",
        ran.stdout
    );
}
