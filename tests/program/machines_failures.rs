//! A stage on another machine that fails, is restarted, takes too long or races, and what both machines print of that.

use std::path::Path;

use flowpipe_tests::{Ran, pipeline};
use serde_json::Value;

use crate::machines::{Machine, address};
use crate::machines_death::numbers;

const COUNT: u64 = 60;
/// The number at which the stage does something else than to pass it on.
const ODD: u64 = 30;

/// How long the stage hangs unless it is cancelled, in seconds. No test waits so long for the end of a program.
const HANG: u64 = 600;

const WORK: &str = "
import json, sys, time
how = sys.argv[1]
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        number = asked['message']['body']['n']
        answer['messages'] = [{'body': {'n': number}}]
        if number == ODD and how == 'fail':
            answer = {'id': asked['id'], 'error': 'made to fail'}
        if number == ODD and how == 'hang':
            time.sleep(HANG)
    print(json.dumps(answer), flush=True)
";

/// Numbers from `desk` through a stage on `rack`, which are written on `desk`.
struct Work {
    /// Keys of the pipeline.
    pipeline: &'static str,
    /// The stage's plugins.
    plugin: &'static str,
    /// More keys of it.
    keys: &'static str,
    how: &'static str,
    /// How long it takes to write one, in microseconds.
    pause_us: u64,
}

impl Work {
    fn new(how: &'static str, keys: &'static str) -> Self {
        Self {
            pipeline: "",
            plugin: "\"exec\"",
            keys,
            how,
            pause_us: 1,
        }
    }

    fn file(&self, folder: &Path, log: &Path) -> String {
        std::fs::write(
            folder.join("work.py"),
            WORK.replace("ODD", &ODD.to_string())
                .replace("HANG", &HANG.to_string()),
        )
        .unwrap();
        let Self {
            pipeline: top,
            plugin,
            keys,
            how,
            pause_us,
        } = self;
        let config = match plugin.starts_with('[') {
            true => "config.exec",
            false => "config",
        };
        let port = "{ schema = \"test.number/1\" }";
        let ports = format!("inputs = {{ in = {port} }}, outputs = {{ out = {port} }}");
        let address = address();
        let text = format!(
            "{top}\n[stages.numbers]\nplugin = \"numbers\"\nmachine = \"desk\"\nconfig = {{ count = {COUNT} }}\n\
             [stages.work]\nplugin = {plugin}\nfrom = \"numbers\"\nmachine = \"rack\"\n{keys}\n\
             {config} = {{ command = [\"python3\", \"work.py\", \"{how}\"], {ports} }}\n\
             [stages.log]\nplugin = \"numbers-log\"\nfrom = \"work\"\nmachine = \"desk\"\n\
             queue = {{ capacity = 100 }}\nconfig = {{ file = {log:?}, pause_us = {pause_us} }}\n\
             [machines.desk]\nlisten = \"{address}\"\n[machines.rack]\n"
        );
        pipeline(folder, &text)
    }

    /// Runs it on both machines, which end with this exit code. Returns also what was written.
    fn run(&self, code: i32) -> (Ran, Ran, Vec<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("numbers.txt");
        let file = self.file(folder.path(), &log);
        let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
        let (desk, rack) = (desk.end().expect(code), rack.end().expect(code));
        (desk, rack, numbers(&log))
    }
}

/// A number of the stage on `rack`, which both machines report.
fn count(desk: &Ran, rack: &Ran, key: &str) -> u64 {
    let [desk, rack] = [desk, rack].map(|it| it.json()["report"]["stages"][1][key].as_u64());
    assert_eq!(desk, rack, "{key}");
    desk.unwrap()
}

/// The problem is printed where it is.
fn rack_prints(desk: &Ran, rack: &Ran, what: &str) {
    let problem = format!("problem: stage \"work\" (exec), message {ODD} at \"in\": ");
    let line = rack.stderr.lines().find(|it| it.starts_with(&problem));
    assert!(line.is_some_and(|it| it.ends_with(what)), "{rack:#?}");
    assert_eq!(rack.stderr.matches("problem: ").count(), 1, "{rack:#?}");
    assert!(!desk.stderr.contains("problem: "), "{desk:#?}");
    assert!(!rack.stderr.contains("ends the run"), "{rack:#?}");
}

fn all_but_the_odd_one() -> Vec<u64> {
    (1..=COUNT).filter(|it| *it != ODD).collect()
}

#[test]
fn a_machine_that_can_t_start_ends_the_run_of_the_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = Work::new("pass", "").file(folder.path(), &log);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"python3\"", "\"./no-such-program\"")).unwrap();
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    let (desk, rack) = (desk.end().expect(1), rack.end().expect(78));
    assert!(rack.stderr.contains("no-such-program"), "{rack:#?}");
    let words = "machine rack ends the run: it could not start: ";
    let (_, reason) = desk
        .stderr
        .split_once(words)
        .unwrap_or_else(|| panic!("{desk:#?}"));
    assert!(
        reason.lines().next().unwrap().contains("no-such-program"),
        "{desk:#?}"
    );
    // It is not awaited until it counts as dead.
    for text in ["is dead", "died"] {
        assert!(!desk.stderr.contains(text), "{desk:#?}");
    }
}

#[test]
fn a_failure_stops_the_other_machine_as_the_pipeline_says() {
    for on_stop in ["drain", "drop"] {
        let work = Work {
            pipeline: match on_stop {
                "drain" => "on_stop = \"drain\"",
                _ => "on_stop = \"drop\"",
            },
            // Numbers wait here when it fails.
            pause_us: 40_000,
            ..Work::new("fail", "")
        };
        let (desk, rack, written) = work.run(1);
        rack_prints(&desk, &rack, "made to fail");
        let notices = desk.stderr.matches("machine rack ends the run").count();
        assert_eq!(notices, 1, "{desk:#?}");
        assert_eq!(count(&desk, &rack, "failed"), 1);
        for ran in [&desk, &rack] {
            let failure = ran.json()["report"]["failure"].to_string();
            assert!(failure.contains("made to fail"), "{ran:#?}");
        }
        let edge = &desk.json()["report"]["edges"][1];
        let of = |key: &str| edge[key].as_u64().unwrap();
        assert_eq!(of("delivered"), written.len() as u64, "{edge:#}");
        assert_eq!(
            of("sent"),
            of("delivered") + of("dropped") + of("discarded"),
            "{edge:#}"
        );
        // In order, each once.
        assert_eq!(written, (1..=written.len() as u64).collect::<Vec<_>>());
        match on_stop {
            "drain" => assert_eq!(written.len() as u64, ODD - 1),
            _ => assert!((1..ODD - 1).contains(&of("delivered")), "{edge:#}"),
        }
    }
}

#[test]
fn a_failure_that_is_skipped_costs_its_message_alone() {
    let (desk, rack, written) = Work::new("fail", "on_error = \"skip\"").run(0);
    rack_prints(&desk, &rack, "made to fail");
    assert!(!desk.stderr.contains("ends the run"), "{desk:#?}");
    assert_eq!(written, all_but_the_odd_one());
    let counts = ["in", "out", "failed", "restarted"].map(|key| count(&desk, &rack, key));
    assert_eq!(counts, [COUNT, COUNT - 1, 1, 0]);
    assert_eq!(desk.json()["report"]["failure"], Value::Null);
}

#[test]
fn a_stage_that_is_restarted_goes_on() {
    let keys = "restart = { max = 3, backoff = \"1ms\" }";
    let (desk, rack, written) = Work::new("fail", keys).run(0);
    rack_prints(&desk, &rack, "made to fail");
    assert_eq!(written, all_but_the_odd_one());
    let counts = ["in", "out", "failed", "restarted"].map(|key| count(&desk, &rack, key));
    assert_eq!(counts, [COUNT, COUNT - 1, 1, 1]);
}

#[test]
fn a_stage_that_takes_too_long_is_cancelled() {
    let (desk, rack, written) =
        Work::new("hang", "timeout = \"1500ms\"\non_error = \"skip\"").run(0);
    rack_prints(&desk, &rack, "not done after 1.5s");
    assert_eq!(written, all_but_the_odd_one());
    let counts = ["in", "out", "failed", "timed_out"].map(|key| count(&desk, &rack, key));
    assert_eq!(counts, [COUNT, COUNT - 1, 0, 1]);

    let (desk, rack, written) = Work::new("hang", "timeout = \"1500ms\"").run(1);
    rack_prints(&desk, &rack, "not done after 1.5s");
    let notice = "machine rack ends the run";
    assert!(desk.stderr.contains(notice), "{desk:#?}");
    assert_eq!(written, (1..ODD).collect::<Vec<_>>());
}

#[test]
fn plugins_race_on_another_machine() {
    for how in ["fail", "hang"] {
        let work = Work {
            plugin: "[\"exec\", \"numbers-pass\"]",
            ..Work::new(how, "")
        };
        let (desk, rack, written) = work.run(0);
        assert_eq!(written, (1..=COUNT).collect::<Vec<_>>());
        let [desk, rack] = [&desk, &rack].map(|it| {
            let contestants = it.json()["report"]["stages"][1]["contestants"].clone();
            let contestants = contestants.as_array().unwrap().iter();
            let won = contestants.map(|it| {
                let plugin = it["plugin"].as_str().unwrap().to_owned();
                (plugin, it["won"].as_u64().unwrap())
            });
            won.collect::<Vec<_>>()
        });
        assert_eq!(desk, rack);
        assert_eq!(desk.iter().map(|(_, won)| won).sum::<u64>(), COUNT);
        // It takes less time.
        assert!(desk[1].0 == "numbers-pass" && desk[1].1 > 0, "{desk:?}");
    }
}
