//! Recordings from strangers: whatever they contain, no command of the program runs a command, writes a file that the user did not name,
//! or moves the mouse.

mod allowed;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use flowpipe_recording::entry::{AboutPlugin, AboutStage, Change, ChangedStage, Event};
use flowpipe_tests::bounds::on_hostile_recording;
use flowpipe_tests::{Ran, changed, flowpipe};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::edited::{Edited, edit};
use crate::screen::Screen;

/// The most memory that a hostile recording may take.
const MEMORY: u64 = 500_000_000;

/// An honest recording of `pipelines/replay.toml`, made once.
fn honest() -> &'static Path {
    static RECORDING: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = RECORDING.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = flowpipe_tests::record(folder.path(), "honest.mcap", "pipelines/replay.toml");
        (folder, path.into())
    });
    path
}

/// A folder with a recording that has been edited, and one beside it that must stay empty.
struct Trap {
    folder: TempDir,
}

impl Trap {
    fn new(change: impl FnOnce(&mut Edited, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trap = Self { folder };
        std::fs::create_dir(trap.empty()).unwrap();
        let empty = trap.empty();
        edit(honest(), &trap.recording(), |edited| change(edited, &empty));
        trap
    }

    fn recording(&self) -> PathBuf {
        self.folder.path().join("hostile.mcap")
    }

    fn empty(&self) -> PathBuf {
        self.folder.path().join("empty")
    }

    /// The program on the recording.
    #[track_caller]
    fn run(&self, command: &str, more: &[&str]) -> Ran {
        self.run_with(command, more, None)
    }

    /// The same, with a screen to act on.
    #[track_caller]
    fn run_with(&self, command: &str, more: &[&str], display: Option<&str>) -> Ran {
        let path = self.recording();
        let mut args = vec![command, path.to_str().unwrap()];
        args.extend(more);
        let mut program = flowpipe(&args);
        program.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        if let Some(display) = display {
            program.env("DISPLAY", display);
        }
        self.finish(program, command)
    }

    /// Runs a command to its end within its bounds. It must write nothing into the folder that stays empty.
    #[track_caller]
    fn finish(&self, program: Command, what: &str) -> Ran {
        let ran = on_hostile_recording(program, what, MEMORY).ran;
        self.is_empty(&ran);
        ran
    }

    #[track_caller]
    fn is_empty(&self, ran: &Ran) {
        let found: Vec<_> = std::fs::read_dir(self.empty())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(found.is_empty(), "{found:?} was written: {ran:#?}");
    }

    /// Replays it whole, and from the stages that are named.
    #[track_caller]
    fn replay(&self, from: &[&str]) {
        self.run("replay", &["--verify", "--quiet"]);
        for stage in from {
            self.run("replay", &["--quiet", "--from", stage]);
        }
    }

    /// Everything else that can be done with a recording.
    #[track_caller]
    fn run_all(&self) {
        self.run("replay", &["--json", "--speed", "1000x"]);
        self.run("replay", &["--swap", "solver=solver-batsat"]);
        self.run("replay", &["--swap", "planner=planner-grid", "--verify"]);
        let beside = |name: &str| self.folder.path().join(name).display().to_string();
        let (recording, trace) = (beside("again.mcap"), beside("trace.json"));
        self.run("replay", &["--record", &recording, "--trace", &trace]);
        self.run("report", &["-o", &beside("report.html")]);
        self.run("messages", &[]);
        let (path, ready) = (self.recording(), "pipelines/replay.toml");
        let compare = ["compare", ready, ready, path.to_str().unwrap()];
        self.finish(flowpipe(&compare), "compare");
        let source = changed(self.folder.path(), |ready| {
            let captured = "plugin = \"capture-files\"\nconfig = { paths = [\"pipelines/frames/*.png\"], fps = 20 }";
            assert!(ready.contains(captured));
            let file = path.display();
            let config = format!("config = {{ file = '{file}', stage = 'frames' }}");
            ready.replace(
                captured,
                &format!("plugin = \"capture-recording\"\n{config}"),
            )
        });
        let run = ["run", source.to_str().unwrap(), "-q"];
        self.finish(flowpipe(&run), "run");
    }
}

/// A plugin as a recording claims it to be.
fn claimed(name: &str, config: Value) -> AboutPlugin {
    AboutPlugin {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        hash: String::new(),
        config,
        deterministic: true,
    }
}

/// The config of a command that leaves a file behind.
fn touches(empty: &Path) -> Value {
    json!({ "command": ["touch", empty.join("touched")], "start_ms": 200 })
}

fn stage<'a>(edited: &'a mut Edited, name: &str) -> &'a mut AboutStage {
    let mut stages = edited.about.stages.iter_mut();
    stages.find(|stage| stage.name == name).unwrap()
}

/// Puts a plugin in a stage's place that runs a command.
fn runs_a_command(edited: &mut Edited, name: &str, plugin: &str, empty: &Path) {
    edited.about.dry = false;
    let stage = stage(edited, name);
    stage.plugins = vec![claimed(plugin, touches(empty))];
}

#[test]
fn commands_of_a_recording_do_not_run() {
    for (name, plugin) in [
        ("vision", "vision-exec"),
        ("solver", "solver-exec"),
        ("planner", "planner-exec"),
        ("actuator", "actuator-exec"),
        ("vision", "exec"),
    ] {
        Trap::new(|edited, empty| runs_a_command(edited, name, plugin, empty)).replay(&[name]);
    }
}

/// A command whose config declares that it may run again.
fn declares_itself_harmless(empty: &Path, file: &Path) -> Value {
    let port = |schema: &str| json!({ "schema": schema, "file": file });
    json!({
        "command": ["touch", empty.join("touched")],
        "start_ms": 200,
        "deterministic": true,
        "effects": [],
        "inputs": { "in": port("flowpipe.sighting/1") },
        "outputs": { "out": port("flowpipe.solved/1") },
    })
}

#[test]
fn what_a_recorded_config_declares_is_not_believed() {
    // Reading this file would never end.
    let endless = tempfile::tempdir().unwrap();
    let pipe = endless.path().join("pipe");
    #[cfg(unix)]
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let config = |empty: &Path| declares_itself_harmless(empty, &pipe);
    let trap = Trap::new(|edited, empty| {
        stage(edited, "solver").plugins = vec![claimed("exec", config(empty))];
    });
    trap.replay(&["solver"]);
    trap.run_all();
    // Other commands than `replay` read what a recording contains, and run none of it.
    let ran = trap.run("replay", &["--from", "solver"]).expect(2);
    assert!(
        ran.stderr.contains("--allow runs-commands"),
        "{}",
        ran.stderr
    );
    // An effect that a recording adds needs to be allowed too, and it takes none away.
    let trap = Trap::new(|edited, empty| {
        let mut config = config(empty);
        config["effects"] = json!(["writes-files"]);
        stage(edited, "solver").plugins = vec![claimed("exec", config)];
    });
    let allowed = ["--from", "solver", "--allow", "runs-commands"];
    let ran = trap.run("replay", &allowed).expect(2);
    assert!(
        ran.stderr.contains("--allow writes-files"),
        "{}",
        ran.stderr
    );
    let allowed = ["--from", "solver", "--allow", "writes-files"];
    trap.run("replay", &allowed).expect(2);
}

#[test]
fn json_schemas_of_a_recording_are_bounded() {
    let bomb = |levels: usize| {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
        }
        definitions.insert(format!("d{levels}"), json!(true));
        json!({ "$ref": "#/$defs/d0", "$defs": definitions })
    };
    for schema in [
        bomb(60),
        json!({ "$ref": "#" }),
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "pattern": "((((a{1,99}){1,99}){1,99}){1,99}){1,99}" }),
        json!({ "description": "x".repeat(1_000_000) }),
        json!(["no schema"]),
    ] {
        let trap = Trap::new(|edited, empty| {
            let mut config = declares_itself_harmless(empty, Path::new("a.json"));
            // A command that answers: only its schema is at fault.
            config["outputs"]["out"]["json_schema"] = schema.clone();
            stage(edited, "solver").plugins = vec![claimed("exec", config)];
        });
        trap.replay(&["solver"]);
        let allowed = ["--from", "solver", "--allow", "runs-commands"];
        // The user permits the command, which is not started with such a schema.
        let ran = trap.run("replay", &allowed).expect(78);
        assert!(
            ran.stderr
                .contains("the JSON Schema of flowpipe.solved/1 can't be used"),
            "{ran:?}"
        );
    }
}

#[test]
fn commands_do_not_run_in_processes_of_their_own() {
    let trap = Trap::new(|edited, empty| {
        for (name, plugin) in [("solver", "solver-exec"), ("actuator", "actuator-exec")] {
            runs_a_command(edited, name, plugin, empty);
            stage(edited, name).isolated = true;
        }
    });
    trap.replay(&["solver", "actuator"]);
    trap.run_all();
}

#[test]
fn a_source_with_invented_inputs_does_not_run() {
    let trap = Trap::new(|edited, empty| {
        runs_a_command(edited, "frames", "capture-exec", empty);
        stage(edited, "frames").inputs = vec!["in".to_owned()];
        stage(edited, "frames").role = "vision".to_owned();
    });
    trap.replay(&["frames"]);
    // Nor where its calls look like those of a stage with inputs, and its outputs fit.
    let trap = Trap::new(|edited, empty| {
        runs_a_command(edited, "solver", "capture-exec", empty);
        for call in edited.calls.iter_mut().filter(|it| it.stage == "solver") {
            call.event = Event::Tick;
            call.took = None;
        }
    });
    trap.replay(&["solver"]);
}

#[test]
fn commands_behind_false_roles_do_not_run() {
    for role in ["solver", "stage", "capture", ""] {
        let trap = Trap::new(|edited, empty| {
            runs_a_command(edited, "actuator", "actuator-exec", empty);
            stage(edited, "actuator").role = role.to_owned();
        });
        trap.replay(&["actuator"]);
    }
}

#[test]
fn a_contestant_that_runs_a_command_does_not_run() {
    for first in [false, true] {
        let trap = Trap::new(|edited, empty| {
            let plugins = &mut stage(edited, "solver").plugins;
            let at = if first { 0 } else { plugins.len() };
            plugins.insert(at, claimed("solver-exec", touches(empty)));
            for call in edited.calls.iter_mut().filter(|it| it.stage == "solver") {
                call.plugin = 1;
            }
        });
        trap.replay(&["solver"]);
    }
}

#[test]
fn a_change_in_mid_run_does_not_bring_a_command() {
    for (added, other) in [(false, true), (true, false), (false, false)] {
        let trap = Trap::new(|edited, empty| {
            let mut became = stage(edited, "solver").clone();
            became.plugins = vec![claimed("solver-exec", touches(empty))];
            let stage = ChangedStage {
                stage: became,
                added,
                removed: false,
                other,
            };
            edited.changes.push(Change {
                text: "solver: solver-exec".to_owned(),
                at_ns: 1,
                stages: vec![stage],
                edges: edited.about.edges.clone(),
            });
        });
        trap.replay(&["solver"]);
        trap.run_all();
    }
}

#[test]
fn a_replay_that_compares_nothing_verifies_nothing() {
    // Nothing records where the solver's messages come from.
    let forged = |edited: &mut Edited, _: &Path| edited.calls.retain(|it| it.stage != "solver");
    let trap = Trap::new(forged);
    let verdict = |ran: Ran| ran.json()["verdict"].clone();
    let whole = verdict(trap.run("replay", &["--verify", "--json"]).expect(1));
    // What the solver emitted is read from the recording by the planner, which runs again.
    assert_eq!(whole["same"], 33, "{whole:#}");
    assert_eq!(whole["without_call"], 11, "{whole:#}");
    assert_eq!(whole["missing"][0]["messages"], 11, "{whole:#}");
    assert_eq!(whole["from_recording"], 11, "the frames: {whole:#}");
    let ran = trap.run("replay", &["--verify"]).expect(1);
    for printed in [
        "11 messages of replayed stages were not compared",
        "not verified: 11 messages of solver.out",
    ] {
        assert!(ran.stdout.contains(printed), "{ran:?}");
    }

    let trap = Trap::new(|edited, _| edited.calls.clear());
    let none = verdict(trap.run("replay", &["--verify", "--json"]).expect(1));
    assert_eq!(
        (&none["same"], &none["differences"]),
        (&json!(0), &json!([]))
    );
    let ran = trap.run("replay", &["--verify"]).expect(1);
    assert!(ran.stdout.contains("nothing was verified"), "{ran:?}");
    assert!(!ran.stdout.contains("the same"), "{ran:?}");
}

#[test]
fn honest_plugins_write_no_files() {
    for role in ["actuator", "solver"] {
        let trap = Trap::new(|edited, empty| {
            stage(edited, "actuator").role = role.to_owned();
            stage(edited, "actuator").plugins[0].config = json!({ "pictures": empty });
            stage(edited, "vision").plugins[0].config = json!({ "steps": empty });
        });
        trap.replay(&["vision", "actuator"]);
        trap.run_all();
        // Without the keys that carry effects the stages run again, and all is as it was.
        let verdict = &trap.run("replay", &["--verify", "--json"]).expect(0).json()["verdict"];
        assert_eq!(verdict["same"], 44, "{verdict:#}");
    }
}

#[test]
fn a_referee_keeps_nothing_of_games() {
    let trap = Trap::new(|edited, empty| {
        edited.about.dry = false;
        let games = json!({ "games": empty.join("games.toml") });
        stage(edited, "vision").plugins = vec![claimed("referee-repair", games)];
    });
    trap.replay(&["vision"]);
}

#[test]
fn times_and_failures_of_a_recording_do_no_harm() {
    for timeout in [0, 1, u64::MAX] {
        let trap = Trap::new(|edited, empty| {
            let solver = stage(edited, "solver");
            solver.timeout_ns = Some(timeout);
            solver.plugins.push(claimed("solver-exec", touches(empty)));
            stage(edited, "planner").timeout_ns = Some(timeout);
            for call in &mut edited.calls {
                call.hung = call.stage == "planner";
                call.restarted = true;
                call.plugin = usize::MAX * usize::from(call.stage == "vision");
                call.taken_ns = i64::MAX;
                call.clock = vec![i64::MIN, i64::MAX];
                call.waits = vec![true; 10];
            }
        });
        trap.run("replay", &["--verify"]);
        trap.run("replay", &["--from", "planner"]);
    }
}

#[test]
fn sequence_numbers_of_a_recording_do_no_harm() {
    for number in [0, 1 << 53, 1 << 60, u64::MAX] {
        let trap = Trap::new(|edited, _| {
            // A replay numbers the message of this call, which was not recorded, after the highest number.
            let mut emits = edited.calls.iter_mut().filter(|it| it.stage == "vision");
            emits.next().unwrap().emitted.clear();
            let mut last = edited
                .calls
                .iter_mut()
                .filter(|it| it.stage == "solver" && !it.emitted.is_empty());
            last.next_back().unwrap().emitted[0].sequence = number;
        });
        trap.run("replay", &["--verify"]);
    }
}

#[test]
fn the_mouse_of_a_recording_stays_where_it_is() {
    let screen = Screen::start();
    let board = screen.open("anything", [0, 0], [1280, 1200], [90, 90, 90]);
    let display = screen.display();
    screen.count_pointer_events(board);
    // They are counted.
    screen.move_to([600, 600]);
    assert_eq!(screen.pointer_events(), 1);
    for role in ["actuator", "solver"] {
        let trap = Trap::new(|edited, _| {
            edited.about.dry = false;
            let actuator = stage(edited, "actuator");
            actuator.role = role.to_owned();
            let config =
                json!({ "any_window": true, "by_hand": false, "max_age_ms": 1_000_000_000 });
            actuator.plugins = vec![claimed("actuator-mouse", config)];
        });
        trap.run_with("replay", &[], Some(display));
        assert_eq!(screen.pointer_events(), 0);
        trap.run_with("replay", &["--verify"], Some(display));
        trap.run_with("replay", &["--from", "planner"], Some(display));
        trap.run_with("replay", &["--from", "actuator"], Some(display))
            .expect(2);
        // Allowed or not, a replay is dry.
        let all = [
            "drives-mouse",
            "reads-screen",
            "reads-files",
            "writes-files",
        ];
        let all: Vec<&str> = all.iter().flat_map(|kind| ["--allow", kind]).collect();
        let allowed = [&["--from", "actuator"], &all[..]].concat();
        let ran = trap.run_with("replay", &allowed, Some(display)).expect(0);
        assert!(ran.stderr.contains("drives the mouse"), "{}", ran.stderr);
        let swapped = [&["--swap", "actuator=actuator-mouse"], &all[..]].concat();
        trap.run_with("replay", &swapped, Some(display)).expect(0);
        trap.run_with("report", &["-o", "/dev/null"], Some(display));
    }
    assert_eq!(screen.pointer_events(), 0);
    assert_eq!(screen.pointer(), [600, 600]);
}
