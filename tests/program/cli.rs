//! The other subcommands, their output and their exit codes.

use flowpipe_tests::{Ran, built, flowpipe, pipeline, project, record, run};
use serde_json::Value;

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    // Where cargo builds is everybody's own matter, and how far it is shifts the lines.
    let text = text.replace(&built().display().to_string(), "BUILT");
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn check_finds_every_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(
        folder.path(),
        r#"name = "wrong"
colour = "red"

[stages.frames]
plugin = "capture-file"

[stages.vision]
plugin = "vision-opencv"
form = "frames"

[stages.planner]
plugin = "planner-grid"
from = "vision"
queue = { capacity = 0, when_full = "spill" }
config = { strategy = "hops", skip_last_terminl = true }
"#,
    );
    let ran = run(&["check", &file]).expect(78);
    let folder = folder.path().display().to_string();
    snapshot("check_errors", &ran.stderr.replace(&folder, "FOLDER"));
    let ran = run(&["check", "--json", &file]).expect(78);
    let errors: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(errors.len() >= 7, "{errors:#?}");
    assert!(
        errors
            .iter()
            .all(|error| error["line"].is_u64() && error["column"].is_u64())
    );
}

/// What `check` prints, without the checks of the messages, whose files depend on the machine.
fn without_checks(stdout: &str) -> String {
    let (checks, other): (Vec<&str>, Vec<&str>) = stdout
        .lines()
        .partition(|line| line.contains(" in flowpipe's own process: "));
    assert!(
        checks[0].starts_with("  check-flowfree judges flowpipe."),
        "{checks:?}"
    );
    other.join("\n") + "\n"
}

#[test]
fn check_starts_nothing_and_finds_no_fault_in_the_ready_pipelines() {
    let ran = run(&["check", "pipelines/replay.toml"]).expect(0);
    assert_eq!(
        without_checks(&ran.stdout),
        "pipelines/replay.toml: OK: 5 stages, 4 queues, 3 tests
  frames    capture-files: reads pictures from 'pipelines/frames/*.png'
              config: fps = 20, paths = [\"pipelines/frames/*.png\"]
  vision    vision-opencv: no effects
  solver    solver-search: no effects
  planner   planner-minlink: no effects
  actuator  actuator-simulated: no effects
Plugins declare these effects; only stages with isolation = \"process\" are confined to them.
"
    );
}

#[test]
fn check_lists_what_a_pipeline_does_to_the_world() {
    let mut check = flowpipe(&["check", "pipelines/live.toml"]);
    let ran: Ran = check
        .env("XDG_STATE_HOME", "/STATE")
        .output()
        .unwrap()
        .into();
    let stdout = without_checks(&ran.expect(0).stdout);
    let (_, effects) = stdout.split_once('\n').unwrap();
    assert_eq!(
        effects,
        "  screen   capture-screen: reads the screen: window 'flowpipe play'
  screen   capture-screen: reads what a desktop portal has allowed before
  screen   capture-screen: keeps what a desktop portal allows
             config: window = \"flowpipe play\"
  vision   vision-opencv: no effects
  referee  referee-repair: reads what is known of games from /STATE/flowpipe/games.toml
  referee  referee-repair: writes what is found of games to /STATE/flowpipe/games.toml
  solver   solver-search: no effects
  planner  planner-minlink: no effects
  mouse    actuator-mouse: drives the mouse in window 'flowpipe play'
  mouse    actuator-mouse: reads the screen's pixels around the pointer
  mouse    actuator-mouse: reads what a desktop portal has allowed before
  mouse    actuator-mouse: keeps what a desktop portal allows
Plugins declare these effects; only stages with isolation = \"process\" are confined to them.
"
    );
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[stages.puzzles]
plugin = "capture-puzzles"
config = { files = ["a.txt", "b c.txt"] }

[stages.solver]
plugin = ["solver-search", "solver-exec"]
from = "puzzles"
config.solver-exec = { command = ["sh", "-c", "rm -r *"], directory = "/tmp", env = { PATH = "/evil" } }

[stages.planner]
plugin = "planner-minlink"
from = "solver"
isolation = "process"

[stages.actuator]
plugin = "actuator-simulated"
from = "planner"
config = { pictures = "frames/" }

[record]
file = "runs/{name}.mcap"
"#;
    let file = pipeline(folder.path(), text);
    std::fs::write(folder.path().join("a.txt"), "").unwrap();
    let ran = run(&["check", &file]).expect(0);
    let place = folder.path().display().to_string();
    let stdout = without_checks(&ran.stdout).replace(&place, "/FOLDER");
    let (_, effects) = stdout.split_once('\n').unwrap();
    assert_eq!(
        effects,
        "  puzzles   capture-puzzles: reads puzzles from /FOLDER/a.txt '/FOLDER/b c.txt' (not there: '/FOLDER/b c.txt')
              config: files = [\"/FOLDER/a.txt\",\"/FOLDER/b c.txt\"]
  solver    solver-search: no effects
  solver    solver-exec: runs `sh -c 'rm -r *'` in the folder /tmp with the environment PATH=/evil (not there: 'sh')
              config: command = [\"sh\",\"-c\",\"rm -r *\"], directory = \"/tmp\", env = {\"PATH\":\"/evil\"}
  planner   planner-minlink: no effects, and confined to that
  actuator  actuator-simulated: writes pictures to /FOLDER/frames/
              config: pictures = \"/FOLDER/frames/\"
  the run is recorded to /FOLDER/runs/{name}.mcap, which is replaced if it exists
Plugins declare these effects; only stages with isolation = \"process\" are confined to them.
"
    );
    let listed = run(&["check", "--json", &file]).expect(0).json();
    let runs = &listed["stages"][2];
    assert_eq!(runs["plugin"], "solver-exec");
    assert_eq!(runs["effects"][0]["effect"], "runs-commands");
    assert_eq!(listed["record"], format!("{place}/runs/{{name}}.mcap"));
}

#[test]
fn check_names_folders_and_programs_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[stages.in]
plugin = "exec"
config = { command = ["no-such-program"], inputs = {}, outputs = { out = { schema = "x.a/1" } } }
[stages.lines]
plugin = "sink-jsonl"
from = "in"
config = { path = "no/lines.jsonl" }
[stages.here]
plugin = "sink-jsonl"
from = "in"
config = { path = "lines.jsonl" }
"#;
    let file = pipeline(folder.path(), text);
    let ran = run(&["check", &file]).expect(0);
    let no_folder = folder.path().join("no").display().to_string();
    for missing in ["no-such-program", &no_folder] {
        let words = format!("(not there: '{missing}')");
        assert_eq!(ran.stdout.matches(&words).count(), 1, "{ran:#?}");
    }
    let listed = run(&["check", "--json", &file]).expect(0).json();
    let missing = |stage: usize| &listed["stages"][stage]["effects"][0]["missing"];
    assert_eq!(*missing(0), serde_json::json!(["no-such-program"]));
    assert_eq!(*missing(1), serde_json::json!([no_folder]));
    assert!(missing(2).is_null());
}

/// What keeps the mouse safe is on by default, and a pipeline may turn it off.
#[test]
fn check_shows_the_config_of_stages_with_effects() {
    let folder = tempfile::tempdir().unwrap();
    let live = std::fs::read_to_string(project().join("pipelines/live.toml")).unwrap();
    let (before, after) = live.rsplit_once("config = {}").unwrap();
    let reckless = format!("{before}config = {{ by_hand = false, corners = false }}{after}");
    let file = pipeline(folder.path(), &reckless);
    let ran = run(&["check", &file]).expect(0);
    assert!(
        ran.stdout
            .contains("config: by_hand = false, corners = false"),
        "{}",
        ran.stdout
    );
}

#[test]
fn check_goes_on_after_a_file_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path(), "a.mcap", "pipelines/replay.toml");
    let ready = "pipelines/replay.toml";
    let ran = run(&["check", "nowhere.toml", &recording, ready]).expect(2);
    assert!(ran.stderr.contains("nowhere.toml"), "{ran:#?}");
    assert!(ran.stderr.contains("this is a recording"), "{ran:#?}");
    assert!(ran.stdout.contains("replay.toml: OK"), "{ran:#?}");
}

/// Of what a plugin refuses at its creation, all that a JSON Schema can express.
#[test]
fn check_finds_configs_that_plugins_refuse() {
    let folder = tempfile::tempdir().unwrap();
    for (plugin, config, words) in [
        (
            "capture-files",
            "{ paths = [] }",
            "3:20: `paths` must have at least 1 element, not an empty list",
        ),
        (
            "capture-files",
            "{ paths = '' }",
            "3:20: `paths` must have at least 1 character, not an empty string",
        ),
        (
            "capture-files",
            "{ paths = 'a', times = 2, repeat = true }",
            "3:45: `repeat` can't be true beside `times`",
        ),
        (
            "capture-files",
            "{ paths = 'a', fps = 0 }",
            "3:31: `fps` must be more than 0",
        ),
        (
            "capture-files",
            "{ paths = 'a', times = 0 }",
            "3:33: `times` must be at least 1",
        ),
        (
            "capture-screen",
            "{ monitor = 1, region = { x = 0, y = 0, width = 1, height = 1 } }",
            "3:34: `region` and `monitor` can't both be set",
        ),
        (
            "capture-screen",
            "{ region = { x = 0, y = 0, width = 0, height = 1 } }",
            "`region.width` must be at least 1",
        ),
        (
            "capture-screen",
            "{ monitor = 0 }",
            "3:22: `monitor` must be at least 1",
        ),
        (
            "capture-screen",
            "{ rate = 0 }",
            "3:19: `rate` must be more than 0",
        ),
        (
            "capture-screen",
            "{ rate = 1001 }",
            "3:19: `rate` must be at most 1000",
        ),
        (
            "vision-opencv",
            "{ rules = 'sloppy' }",
            "3:20: `rules` can't be \\\"sloppy\\\"",
        ),
    ] {
        let text = format!("[stages.a]\nplugin = \"{plugin}\"\nconfig = {config}\n");
        let ran = run(&["check", "--json", &pipeline(folder.path(), &text)]).expect(78);
        let found = ran.stdout;
        let (place, message) = words.split_once(": ").unwrap_or(("", words));
        assert!(found.contains(message), "no {message:?} in {found}");
        if let Some((line, column)) = place.split_once(':') {
            assert!(found.contains(&format!("\"line\":{line}")), "{found}");
            assert!(found.contains(&format!("\"column\":{column}")), "{found}");
        }
    }
}

#[test]
fn a_bad_config_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = pipeline(folder.path(), "[stages.a]\nplugin = \"nothing\"\n");
    let ran = run(&["run", &file]).expect(78);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("pipeline.toml:2:10"),
        "{ran:#?}"
    );
    let nothing_there =
        "[stages.a]\nplugin = \"capture-files\"\nconfig = { paths = [\"no/*.png\"] }\n";
    let ran = run(&["run", &pipeline(folder.path(), nothing_there)]).expect(78);
    assert!(ran.stderr.contains("no/*.png"), "{ran:#?}");
}

#[test]
fn wrong_usage() {
    run(&["run"]).expect(2);
    run(&["run", "no/such/file.toml"]).expect(2);
    run(&["dance"]).expect(2);
    let ran = run(&["plugins", "show", "solver-varista"]).expect(2);
    assert!(
        ran.stderr.contains("did you mean `solver-varisat`?"),
        "{}",
        ran.stderr
    );
}

#[test]
fn graphs() {
    snapshot(
        "graph_mermaid",
        &run(&["graph", "pipelines/replay.toml"]).expect(0).stdout,
    );
    let dot = run(&["graph", "pipelines/replay.toml", "--format", "dot"]).expect(0);
    snapshot("graph_dot", &dot.stdout);
}

#[test]
fn plugins_are_listed_and_shown() {
    let ran = run(&["plugins"]).expect(0);
    for name in [
        "capture-files",
        "vision-opencv",
        "solver-varisat",
        "planner-grid",
    ] {
        assert!(ran.stdout.contains(name), "no {name} in {}", ran.stdout);
    }
    snapshot(
        "plugins_show",
        &run(&["plugins", "show", "planner-grid"]).expect(0).stdout,
    );
    let manifest = run(&["plugins", "show", "planner-grid", "--json"])
        .expect(0)
        .json();
    assert_eq!(manifest["role"], "planner");
}

#[test]
fn every_plugin_declares_its_effects() {
    let listed = run(&["plugins", "--json"]).expect(0).json();
    let mut with_effects = Vec::new();
    for found in listed["found"].as_array().unwrap() {
        let name = found["manifest"]["name"].as_str().unwrap();
        let effects = found["manifest"]["effects"].as_array();
        for effect in effects.unwrap_or_else(|| panic!("{name} declares none")) {
            let kind = effect["effect"].as_str().unwrap();
            // Plugins of these tests alone.
            if ["misbehaving", "numbers-log"].contains(&name) {
                continue;
            }
            with_effects.push(format!("{name} {kind}"));
        }
    }
    with_effects.sort();
    let expected = [
        "actuator-exec runs-commands",
        "actuator-mouse drives-mouse",
        "actuator-mouse reads-files",
        "actuator-mouse reads-screen",
        "actuator-mouse writes-files",
        "actuator-simulated writes-files",
        "capture-audio reads-files",
        "capture-exec runs-commands",
        "capture-files reads-files",
        "capture-puzzles reads-files",
        "capture-recording reads-files",
        "capture-screen reads-files",
        "capture-screen reads-screen",
        "capture-screen writes-files",
        "capture-video reads-files",
        "capture-video reads-files",
        "capture-video runs-commands",
        "exec runs-commands",
        "http-request reads-files",
        "http-request uses-network",
        "http-request uses-network",
        "navigator-templates reads-files",
        "navigator-templates reads-files",
        "planner-exec runs-commands",
        "referee-repair reads-files",
        "referee-repair writes-files",
        "sink-image writes-files",
        "sink-jsonl uses-network",
        "sink-jsonl uses-network",
        "sink-jsonl writes-files",
        "sink-jsonl writes-files",
        "solver-exec runs-commands",
        "source-jsonl reads-files",
        "source-jsonl uses-network",
        "source-jsonl uses-network",
        "source-jsonl writes-files",
        "tee writes-files",
        "vision-exec runs-commands",
        "vision-opencv writes-files",
    ];
    assert_eq!(with_effects, expected);
    let shown = run(&["plugins", "show", "vision-opencv"]).expect(0).stdout;
    let line = "writes-files  writes pictures of its steps to {steps}; only with `steps`";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn refused_files_are_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("liblies{}", std::env::consts::DLL_SUFFIX);
    std::fs::write(folder.path().join(&name), "this is no library").unwrap();
    let ran = run(&[
        "plugins",
        "--json",
        "--plugin-dir",
        &folder.path().display().to_string(),
    ]);
    let json = ran.expect(0).json();
    let refused = json["refused"].as_array().unwrap();
    assert!(
        refused
            .iter()
            .any(|refused| refused["file"].to_string().contains(&name)),
        "{json:#}"
    );
}

#[test]
fn the_schema_knows_the_plugins() {
    let text = run(&["schema"]).expect(0).stdout;
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert!(schema["$schema"].is_string());
    assert!(text.contains("skip_last_terminal") && text.contains("vision-opencv"));
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            run(&["completions", shell])
                .expect(0)
                .stdout
                .contains("plugin-dir")
        );
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let program = built().join("flowpipe");
    let script = format!("{} schema | head -n 1", program.display());
    let output = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// What the documentation shows is what is built and tested.
#[test]
fn the_documentation_shows_the_examples_as_they_are() {
    let read = |path| std::fs::read_to_string(flowpipe_tests::project().join(path)).unwrap();
    let example = read("examples/planner_simple.rs");
    let (_, code) = example.split_once("\n\n").unwrap();
    assert!(read("docs/sdk.md").contains(code.trim()));
    assert!(read("README.md").contains(read("examples/small_boards.py").trim()));
}

#[test]
fn the_stage_of_the_readme_forwards_small_boards() {
    let ran = run(&["run", "examples/small_boards.toml"]).expect(0);
    // A forwarded board counts once.
    let counts = "11 boards read, 5 solved, ";
    assert!(ran.stdout.contains(counts), "{}", ran.stdout);
}
