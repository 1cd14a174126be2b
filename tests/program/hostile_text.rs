//! Text from files, plugins, commands and the command line that would act on a terminal: none of it does, whichever
//! command prints it, into a pipe and onto a terminal.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pty::Pty;
use flowpipe_recording::entry::{About, AboutPlugin, AboutStage, Trouble};
use flowpipe_recording::{FORMAT, Schemas, Topic, Writer};
use flowpipe_tests::{compile, flowpipe, project, ready};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Sets the window's title, clears the screen, writes to the clipboard, writes over the line, colours by an 8-bit
/// control, reverses what follows, hides, ends the line for some programs, and colours as the program never does.
const ACTS: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\rover\u{8}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}\u{7f}\u{1b}[35m";
/// The same, and a line that looks like one of the program's.
const FORGES: &str = "\u{1b}]0;owned\u{7}\u{1b}[35m\nFORGED line\r\nFORGED again";

/// Looks through what came out of the program.
#[track_caller]
fn check(what: &str, output: &[u8], is_terminal: bool) {
    let text = std::str::from_utf8(output).unwrap_or_else(|error| panic!("{what}: {error}"));
    for sequence in ["\u{1b}]", "\u{1b}[2J", "\u{1b}[35m", "\u{1b}[31m\u{202e}"] {
        // A terminal that is taken over is cleared by whoever takes it.
        if !(is_terminal && sequence == "\u{1b}[2J") {
            assert!(!text.contains(sequence), "{what}: {sequence:?} in {text:?}");
        }
    }
    for line in text.lines() {
        let line = line.trim_start_matches(['\r', '\u{1b}']);
        assert!(
            !line.starts_with("FORGED"),
            "{what}: a forged line in {text}"
        );
    }
    let plain = match is_terminal {
        true => text.replace(['\u{1b}', '\r'], ""),
        false => without_colours(text),
    };
    let acts = |it: char| {
        it.is_control() && it != '\n' && it != '\t'
            || "\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}".contains(it)
    };
    if let Some(found) = plain.chars().find(|&it| acts(it)) {
        panic!("{what}: {found:?} in {text:?}");
    }
}

/// Without sequences that set colours and weights.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|it: char| !it.is_ascii_digit() && it != ';');
        match end {
            Some(end) if piece[end..].starts_with('m') => plain += &piece[end + 1..],
            _ => plain += &format!("\u{1b}[{piece}"),
        }
    }
    plain
}

/// Runs the program into pipes, with and without colours, and gives what it printed without. What it prints shows
/// the hostile text, so that the check has something to look at.
#[track_caller]
fn tried(args: &[&str]) -> String {
    let mut shown = String::new();
    for colours in ["always", "never"] {
        let output = flowpipe(args).args(["--color", colours]).output().unwrap();
        let what = format!("{args:?} in colour {colours}");
        check(&what, &output.stdout, false);
        check(&what, &output.stderr, false);
        let code = output.status.code();
        assert!(code.is_some_and(|code| code != 101), "{what}: {output:?}");
        shown = [output.stdout, output.stderr]
            .map(|it| String::from_utf8(it).unwrap())
            .concat();
        if colours == "never" {
            assert!(!shown.contains('\u{1b}'), "{what}: {shown}");
        }
    }
    shown
}

/// [`tried`], and something of the hostile text was shown.
#[track_caller]
fn escaped(args: &[&str]) -> String {
    let shown = tried(args);
    // Rust itself escapes what it quotes.
    let shows = shown.contains("\\u001b") || shown.contains("\\u{1b}");
    assert!(shows, "{args:?} shows nothing of it: {shown}");
    shown
}

/// Runs the program on a terminal, to its end.
#[track_caller]
fn on_terminal(args: &[&str]) {
    let terminal = Pty::start(crate::pty::flowpipe(args), (120, 40));
    let written = terminal.written();
    terminal.finish();
    let written = written.lock().unwrap();
    assert!(!written.is_empty());
    check(&format!("{args:?} on a terminal"), &written, true);
}

/// A folder whose name acts, in one that is removed.
fn folder() -> (TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join(ACTS.replace('/', "|"));
    std::fs::create_dir(&inner).unwrap();
    (outer, inner)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A string of TOML, or of JSON.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    // TOML takes no bare DEL.
    json.replace('\u{7f}', "\\u007f")
}

/// A file in a folder.
fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    text(&path)
}

/// A pipeline that replays a picture whose name acts.
fn pipeline(folder: &Path) -> String {
    let picture = folder.join(format!("{ACTS}\nFORGED.png"));
    std::fs::copy(
        project().join("pipelines/frames/phone-5x5-01.png"),
        &picture,
    )
    .unwrap();
    let noise = folder.join(format!("{ACTS}\nFORGED, no picture.png"));
    std::fs::write(&noise, ACTS).unwrap();
    let ready = ready();
    let pictures = format!("{}, {}", quoted(&text(&picture)), quoted(&text(&noise)));
    let changed = ready
        .replace("\"pipelines/frames/*.png\"", &pictures)
        .replace("name = \"replay\"", "name = \"\u{202e}\u{200b}\"")
        .replace(
            "plugin = \"capture-files\"",
            "plugin = \"capture-files\"\non_error = \"skip\"",
        );
    file(folder, &format!("{ACTS}.toml"), &changed)
}

#[test]
fn runs_of_pipelines() {
    let (_outer, folder) = folder();
    let pipeline = pipeline(&folder);
    let recording = text(&folder.join("a.mcap"));
    let trace = text(&folder.join("trace.json"));
    escaped(&[
        "run", &pipeline, "-vv", "--record", &recording, "--trace", &trace,
    ]);
    check("--trace", &std::fs::read(&trace).unwrap(), false);
    let printed = tried(&["run", &pipeline, "-q", "--json"]);
    assert!(printed.contains("\"boards\":1,"), "{printed}");
    escaped(&["check", &pipeline]);
    tried(&["graph", &pipeline]);
    tried(&["graph", &pipeline, "--format", "dot"]);
    escaped(&["replay", &recording, "--verify", "-vv"]);
    tried(&["replay", &recording, "--json"]);
    escaped(&["compare", &pipeline, &pipeline, &recording]);
    tried(&["compare", &pipeline, &pipeline, &recording, "--json"]);
    let page = tried(&["report", &recording, "--output", "-"]);
    assert!(page.contains("<html"), "{page}");
    escaped(&["report", &recording]);
    for line in tried(&["messages", &recording]).lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    on_terminal(&["run", &pipeline]);
    on_terminal(&["replay", &recording, "--verify"]);
}

#[test]
fn pipelines_that_can_not_be_used() {
    let (_outer, folder) = folder();
    let hostile = quoted(FORGES);
    for (number, content) in [
        format!("[stages.{hostile}]\nplugin = \"capture-files\""),
        format!("name = {hostile}\n[stages.a]\nplugin = {hostile}\nfrom = {hostile}"),
        format!("[stages.a]\nplugin = \"capture-files\"\nconfig = {{ {hostile} = {hostile}, paths = {hostile} }}"),
        format!("[stages.a]\nplugin = \"capture-files\"\nconfig = {{ paths = [{hostile}] }}\nqueue = {{ when_full = {hostile} }}"),
        format!("# {ACTS}\nname = \"{ACTS}\" {ACTS}"),
        ACTS.to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let pipeline = file(&folder, &format!("{number}.toml"), content);
        escaped(&["check", &pipeline]);
        tried(&["check", &pipeline, "--json"]);
    }
    on_terminal(&["run", &text(&folder.join("2.toml"))]);
}

#[test]
fn recordings() {
    let (_outer, folder) = folder();
    let plugin = AboutPlugin {
        name: FORGES.to_owned(),
        version: ACTS.to_owned(),
        hash: ACTS.to_owned(),
        config: json!({ FORGES: ACTS }),
        deterministic: true,
    };
    let stage = AboutStage {
        name: FORGES.to_owned(),
        role: ACTS.to_owned(),
        plugins: vec![plugin],
        inputs: vec![ACTS.to_owned()],
        outputs: vec![(ACTS.to_owned(), ACTS.to_owned())],
        timeout_ns: None,
        isolated: false,
        workers: 1,
        machine: Some(FORGES.to_owned()),
    };
    let about = About {
        format: FORMAT,
        flowpipe: ACTS.to_owned(),
        name: FORGES.to_owned(),
        file: FORGES.to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: vec![stage],
        edges: Vec::new(),
    };
    let mut writer = Writer::new(Vec::new(), &about, FORGES, Schemas::new()).unwrap();
    let body = json!({ "source": FORGES, "at": ACTS }).to_string();
    let topic = Topic::new(FORGES, ACTS);
    writer.message(&topic, ACTS, &body, 1, (1, 1)).unwrap();
    let trouble = Trouble {
        kind: FORGES.into(),
        stage: FORGES.into(),
        plugin: FORGES.into(),
        text: FORGES.to_owned(),
        at_ns: 2,
    };
    writer.problem(&trouble).unwrap();
    let path = folder.join("a.mcap");
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let (path, pipeline) = (text(&path), "pipelines/replay.toml");
    // It prints nothing about what it does not run.
    tried(&["replay", &path]);
    escaped(&[
        "replay",
        &path,
        "--from",
        FORGES,
        "--swap",
        &format!("{FORGES}={FORGES}"),
    ]);
    escaped(&["compare", pipeline, pipeline, &path]);
    escaped(&["report", &path, "--output", "-"]);
    on_terminal(&["replay", &path]);

    // Beside stages that run again.
    let honest = flowpipe_tests::record(&folder, "honest.mcap", pipeline);
    let beside = folder.join("beside.mcap");
    crate::edited::edit(Path::new(&honest), &beside, |edited| {
        edited.about.stages.push(about.stages[0].clone());
    });
    let ran = escaped(&["replay", &text(&beside), "--quiet"]);
    assert!(ran.contains("FORGED"), "it is reported: {ran}");
    on_terminal(&["replay", &text(&beside)]);
}

#[test]
fn puzzles() {
    let (_outer, folder) = folder();
    let boards = format!("// {ACTS}\nA.B\n...\nA.B\n\n// {ACTS}\n{ACTS}\nA..{ACTS}\n");
    let boards = file(&folder, "puzzles.txt", &boards);
    escaped(&["solve", &boards, "--plan=planner-minlink"]);
    tried(&["solve", &boards, "--json"]);
    escaped(&["solve", &boards, "--solver", FORGES]);
    tried(&["solve", &boards, "--config", FORGES]);
    for format in ["grid", "level", "json"] {
        escaped(&["convert", &boards, "--to", format]);
    }
    escaped(&["bench", &boards]);
    escaped(&["play", "--terminal", &boards]);
    let titled = format!("// {ACTS}\nA.B\n...\nA.B\n");
    let titled = file(&folder, "titled.txt", &titled);
    let mut game = Pty::start(
        crate::pty::flowpipe(&["play", "--terminal", &titled]),
        (80, 24),
    );
    game.wait_to_see("flows 0/2");
    let written = game.written();
    game.type_in("q");
    game.finish();
    check("play --terminal", &written.lock().unwrap(), true);
    let drawn = text(&folder.join("a.svg"));
    tried(&["solve", &titled, "--svg", &drawn]);
    check("--svg", &std::fs::read(&drawn).unwrap(), false);
}

#[test]
fn pictures() {
    let (_outer, folder) = folder();
    let _ = pipeline(&folder);
    let mut pictures: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| text(&entry.unwrap().path()))
        .filter(|path| path.ends_with(".png"))
        .collect();
    pictures.push(text(&folder.join(FORGES)));
    assert_eq!(pictures.len(), 3);
    let mut args = vec!["see"];
    args.extend(pictures.iter().map(|it| &**it));
    escaped(&args);
    args.push("--json");
    escaped(&args);
    escaped(&["see", "--plugin", FORGES, &pictures[0]]);
}

#[test]
fn commands() {
    let (_outer, folder) = folder();
    let puzzle = file(&folder, "puzzle.txt", "A.B\n...\nA.B\n");
    for (number, (ends, answer)) in [
        ("", json!({ "verdict": "unknown", "reason": FORGES })),
        ("", json!({ "verdict": "unsupported", "reason": FORGES })),
        ("", json!({ "verdict": FORGES })),
        ("sys.exit(3)", json!({})),
    ]
    .iter()
    .enumerate()
    {
        let script = format!(
            "import json, sys\nacts = json.loads({0:?})\nsys.stderr.buffer.write(acts.encode() + b'\\x9b31m\\xff\\n')\nsys.stderr.flush()\n{ends}\nfor asked in map(json.loads, sys.stdin):\n    answer = json.loads({1:?})\n    print(json.dumps({{'id': asked['id'], 'answer': answer}}), flush=True)\n",
            ascii(&json!(ACTS)),
            ascii(answer),
        );
        let script = file(&folder, &format!("{number}.py"), &script);
        let config = format!("{{ command = [\"python3\", {}] }}", quoted(&script));
        let args = [
            "solve",
            &puzzle,
            "--solver",
            "solver-exec",
            "--config",
            &config,
            "-vv",
        ];
        escaped(&args);
        on_terminal(&args);
    }
}

/// JSON in ASCII alone.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    for unit in value.to_string().encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') => text.push(char::from(byte)),
            _ => text += &format!("\\u{unit:04x}"),
        }
    }
    text
}

#[test]
fn plugins() {
    let (_outer, folder) = folder();
    // The same stage in C, with a manifest and a log that act.
    let source = std::fs::read_to_string(project().join("examples/small.c")).unwrap();
    let in_c = ascii(&json!(ACTS)).trim_matches('"').replace('\\', "\\\\");
    let source = source
        .replace("Passes on small boards alone.", &in_c)
        .replace("\\\"0.1.0\\\"", &format!("\\\"{in_c}\\\""))
        .replace("The most cells of a board.", &in_c);
    let source = file(&folder, "acts.c", &source);
    let library = compile(&source, &folder, "acts", &[]);
    let (library, folder) = (text(&library), text(&folder));
    escaped(&["plugins", "--plugin-dir", &folder]);
    escaped(&["plugins", "--plugin-dir", &folder, "--json"]);
    escaped(&["plugins", "--plugin-dir", &folder, "-v"]);
    escaped(&["plugin", "show", "boards-small", "--plugin-dir", &folder]);
    tried(&[
        "plugin",
        "show",
        "boards-small",
        "--plugin-dir",
        &folder,
        "--json",
    ]);
    escaped(&["plugin", "show", FORGES]);
    escaped(&["plugin", "check", &library, "--only", "manifest"]);
    escaped(&["plugin", "check", &format!("{folder}/{FORGES}")]);
}

#[test]
fn command_lines() {
    let (_outer, folder) = folder();
    let missing = text(&folder.join(FORGES));
    for command in [
        "run", "check", "graph", "replay", "report", "messages", "solve", "convert", "play", "see",
        "bench",
    ] {
        tried(&[command, &missing]);
        escaped(&[command, &format!("--{FORGES}")]);
    }
    escaped(&[FORGES]);
    escaped(&["convert", &missing, "--to", "grid"]);
    escaped(&["compare", &missing, &missing, &missing]);
    escaped(&["generate", "--size", FORGES]);
    escaped(&["completions", FORGES]);
    escaped(&["top", FORGES]);
    escaped(&["new", "solver", FORGES]);
    escaped(&[
        "new",
        "solver",
        "solver-new",
        "--in",
        &missing,
        "--sdk",
        &missing,
    ]);
    escaped(&["play", "--time-trial", FORGES]);
    escaped(&[
        "run",
        "pipelines/replay.toml",
        "--trace",
        &format!("/proc/{FORGES}/a"),
    ]);
    tried(&["schema"]);
    tried(&["top", "--list"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        tried(&["completions", shell]);
    }
}

/// A run under a name that hides, looked at from beside it.
#[test]
fn a_run_that_is_looked_at() {
    let (_outer, folder) = folder();
    let lasting = std::fs::read_to_string(pipeline(&folder)).unwrap();
    let lasting = lasting.replace("fps = 20", "fps = 20, repeat = true");
    let lasting = file(&folder, "lasting.toml", &lasting);
    let sockets = tempfile::tempdir().unwrap();
    let with_sockets = |mut command: Command| {
        command.env("XDG_RUNTIME_DIR", sockets.path());
        command
    };
    let mut run = with_sockets(flowpipe(&["run", &lasting, "-q"]))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut command = crate::pty::flowpipe(&["top", "--wait"]);
    command.env("XDG_RUNTIME_DIR", sockets.path());
    let mut top = Pty::start(command, (100, 30));
    top.wait_to_see("vision");
    top.wait_to_see("\\u202e\\u200b");
    let list = with_sockets(flowpipe(&["top", "--list"])).output().unwrap();
    let written = top.written();
    top.type_in("q");
    top.finish();
    run.kill().unwrap();
    run.wait().unwrap();
    check("top", &written.lock().unwrap(), true);
    check("top --list", &list.stdout, false);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("\\u202e"), "{list}");
}
