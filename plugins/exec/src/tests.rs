use std::path::Path;
use std::time::{Duration, Instant};

use flowpipe_plugin::harness::{Harness, samples};
use flowpipe_plugin::puzzle::message::SIGHTING;
use flowpipe_plugin::{Format, Result, abi};
use serde_json::{Value, json};

use super::*;

/// A command in Python that behaves as its settings ask.
const OBEDIENT: &str = r#"
import json, os, subprocess, sys, time
count = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "protocol" in asked:
        settings, how = asked["settings"], asked["settings"].get("how")
        print("begun", file=sys.stderr, flush=True)
        if how == "refuse":
            print(json.dumps({"id": 0, "error": "it knows no such setting"}), flush=True)
        elif how != "no hello":
            print(json.dumps({"id": asked["id"], "of a later": "version"}), flush=True)
        continue
    count += 1
    if how == "child":
        child = subprocess.Popen(["sleep", "1000"])
        with open(settings["file"], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
    if how == "die" or how == "die once" and not os.path.exists(settings["file"]):
        if how == "die once":
            open(settings["file"], "w").close()
        sys.exit("it can't go on")
    if how in ("sleep", "child"):
        time.sleep(1000)
    if how == "chat":
        print("debugging", flush=True)
    if how == "wrong id":
        asked["id"] += 1
    if how == "error":
        print(json.dumps({"id": asked["id"], "error": f"message {count} is not to its taste"}), flush=True)
        continue
    if how == "form":
        print(json.dumps({"id": asked["id"], "answer": 7}), flush=True)
        continue
    print(json.dumps({"id": asked["id"], "mark": "half way"}), flush=True)
    print(json.dumps({"id": asked["id"], "answer": {"verdict": "unknown", "reason": f"message {count}"},
                      "effort": {"nodes": count}, "of a later": "version"}), flush=True)
    if how == "leave":
        with open(settings["file"], "w") as file:
            file.write(str(os.getpid()))
        sys.exit(0)
"#;

fn config(how: &str) -> Value {
    json!({ "command": ["python3", "-c", OBEDIENT], "settings": { "how": how } })
}

fn solver(config: Value) -> Result<Harness> {
    flowpipe_plugin::harness!(SolverExec, config)
}

/// Its verdict on a puzzle.
fn reason(harness: &mut Harness) -> Result<String> {
    let emitted = harness.send(
        0,
        SIGHTING,
        &samples::sighting(samples::puzzle("AA").unwrap()),
    )?;
    let reason = emitted[0].body.pointer("/answer/reason").cloned();
    Ok(reason
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap())
}

fn error<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

fn runs(number: &str) -> bool {
    // A zombie counts as ended.
    std::fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn dies(number: &str) -> bool {
    let started = Instant::now();
    while runs(number) && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !runs(number)
}

#[test]
fn each_message_has_its_answer() {
    let mut harness = solver(config("well")).unwrap();
    assert_eq!(reason(&mut harness).unwrap(), "message 1");
    let second = harness
        .send(
            0,
            SIGHTING,
            &samples::sighting(samples::puzzle("AA").unwrap()),
        )
        .unwrap();
    assert_eq!(second[0].body["answer"]["reason"], "message 2");
    assert_eq!(second[0].body["effort"]["nodes"], 2);
    assert_eq!(second[0].body["solver"], "solver-exec");
    assert!(harness.log().iter().any(|line| line.ends_with("begun")));
}

#[test]
fn a_command_that_fails_to_start_is_an_error_before_the_run() {
    let begin = |config: Value| error(solver(config));
    let with = |command: &[&str]| json!({ "command": command, "start_ms": 60000 });
    let text = begin(with(&["flowpipe-no-such-program"]));
    assert!(
        text.contains("there is no such program; one without a slash"),
        "{text}"
    );
    let text = begin(with(&["./Cargo.toml"]));
    assert!(text.contains("chmod +x"), "{text}");
    let text = begin(with(&["sh", "-c", "echo first >&2; echo last >&2; exit 3"]));
    assert!(text.contains("exit code 3"), "{text}");
    assert!(text.ends_with("standard error: last"), "{text}");
    let text = begin(with(&["sh", "-c", "kill -9 $$"]));
    assert!(text.contains("it ended (signal 9)"), "{text}");
    let text = begin(with(&["sh", "-c", "exec >&-; sleep 1000"]));
    assert!(text.contains("it closed its standard output"), "{text}");
    let text = begin(with(&["sh", "-c", "yes | tr -d '\\n'"]));
    assert!(text.contains("a line of more than 64 MB"), "{text}");
    let text = begin(with(&["echo", "[1]"]));
    assert!(
        text.contains("it wrote \"[1]\", which is no JSON object"),
        "{text}"
    );
    let text = begin(config("refuse"));
    assert!(
        text.ends_with("it failed to start: it knows no such setting"),
        "{text}"
    );
    let mut late = config("no hello");
    late["start_ms"] = json!(2000);
    let text = begin(late);
    assert!(
        text.contains("within 2000 ms, and was killed: raise `start_ms`"),
        "{text}"
    );
    let mut nowhere = config("well");
    nowhere["directory"] = json!("/no/such/folder");
    assert!(begin(nowhere).contains("there is no folder \"/no/such/folder\""));
}

#[test]
fn only_what_the_config_names_is_a_fault_of_the_config() {
    let status = |command: &[&str]| {
        let config = json!({ "command": command, "start_ms": 60000 });
        solver(config).err().unwrap().status()
    };
    assert_eq!(
        status(&["flowpipe-no-such-program"]),
        flowpipe_plugin::abi::BAD_CONFIG
    );
    assert_eq!(status(&["sh", "-c", "exit 3"]), flowpipe_plugin::abi::ERROR);
}

#[test]
fn a_malformed_answer_is_an_error() {
    let error_of = |how: &str| error(reason(&mut solver(config(how)).unwrap()));
    assert!(error_of("chat").contains("it wrote \"debugging\""));
    assert!(error_of("wrong id").contains("it answered with \"id\": 2 to the message 1"));
    assert!(error_of("form").contains("its answer can't be read: "));
}

#[test]
fn a_command_that_reports_an_error_continues() {
    let mut harness = solver(config("error")).unwrap();
    for message in 1..=3 {
        let text = error(reason(&mut harness));
        assert!(
            text.ends_with(&format!("message {message} is not to its taste")),
            "{text}"
        );
    }
}

#[test]
fn the_backoff_of_a_command_that_ends_doubles() {
    let mut dying = config("die");
    dying["backoff"] = json!({ "first_ms": 200, "most_ms": 400 });
    let mut harness = solver(dying).unwrap();
    let started = Instant::now();
    for _ in 0..4 {
        let text = error(reason(&mut harness));
        assert!(
            text.contains("it ended (exit code 1) instead of answering"),
            "{text}"
        );
        assert!(text.ends_with("it can't go on"), "{text}");
    }
    assert!(started.elapsed() >= Duration::from_millis(200 + 400 + 400));
}

#[test]
fn a_restarted_command_answers_the_next_message() {
    let folder = tempfile::tempdir().unwrap();
    let mut once = config("die once");
    once["settings"]["file"] = json!(folder.path().join("died"));
    let mut harness = solver(once).unwrap();
    assert!(error(reason(&mut harness)).contains("exit code 1"));
    assert_eq!(reason(&mut harness).unwrap(), "message 1");
    assert_eq!(reason(&mut harness).unwrap(), "message 2");
}

#[test]
fn a_command_that_ends_after_its_answer_loses_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("number");
    let mut leaving = config("leave");
    leaving["settings"]["file"] = json!(file);
    let mut harness = solver(leaving).unwrap();
    assert_eq!(reason(&mut harness).unwrap(), "message 1");
    let started = Instant::now();
    let number = || std::fs::read_to_string(&file).unwrap_or_default();
    while number().is_empty() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(dies(&number()));
    // Its end has to be noticed, too; a message that is sent before would be lost.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(reason(&mut harness).unwrap(), "message 1");
}

/// The processes of a command that started another one, once both are there.
fn family(file: &Path) -> (String, String) {
    let text = std::fs::read_to_string(file).unwrap();
    let (parent, child) = text.split_once(' ').unwrap();
    (parent.to_owned(), child.to_owned())
}

#[test]
fn a_command_that_is_too_slow_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers");
    let mut late = config("child");
    late["settings"]["file"] = json!(file);
    late["timeout_ms"] = json!(3000);
    let mut harness = solver(late).unwrap();
    let text = error(reason(&mut harness));
    assert!(
        text.contains("no answer within 3000 ms (`timeout_ms`)"),
        "{text}"
    );
    let (parent, child) = family(&file);
    assert!(dies(&parent) && dies(&child));
}

#[test]
fn a_cancelled_command_is_killed_and_another_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers");
    let mut slow = config("child");
    slow["settings"]["file"] = json!(file);
    let mut harness = solver(slow).unwrap();
    let there = file.clone();
    harness.cancel_when(move || std::fs::read_to_string(&there).is_ok_and(|it| it.contains(' ')));
    let cancelled = reason(&mut harness).err().unwrap();
    assert_eq!(cancelled.status(), abi::CANCELLED);
    let (parent, child) = family(&file);
    assert!(dies(&parent) && dies(&child));
}

#[test]
fn no_process_is_left_when_the_stage_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("number");
    let script = format!(
        "sleep 1000 & echo \"$$ $!\" > {}; while read -r line; do echo '{{\"id\":0}}'; done; sleep 1000",
        file.display()
    );
    let harness = solver(json!({ "command": ["sh", "-c", script] })).unwrap();
    let (parent, child) = family(&file);
    let (parent, child) = (parent.trim(), child.trim());
    assert!(runs(parent) && runs(child));
    drop(harness);
    assert!(dies(parent) && dies(child));
}

/// Inverts every picture that it gets, and reports what else it got.
const TURN: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"]}
    if "message" in asked:
        frame = asked["message"]["frame"]
        size = frame["stride"] * frame["height"]
        with open(frame["file"], "rb") as file:
            pixels = file.read(size)
        with open(sys.argv[1], "wb") as file:
            file.write(pixels[::-1])
        frame = {**frame, "file": sys.argv[1]}
        answer["messages"] = [
            {"schema": "any/1", "body": {"file": asked["message"]["frame"]["file"]}},
            {"schema": "any/1", "body": asked["message"]["body"], "frame": frame},
        ]
    if "finish" in asked:
        answer |= {"messages": [{"schema": "any/1", "body": "finished"}], "end": True}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn any_messages_and_pictures_go_in_and_out() {
    let folder = tempfile::tempdir().unwrap();
    let turned = folder.path().join("turned").display().to_string();
    let config = json!({ "command": ["python3", "-c", TURN, turned] });
    let mut harness = flowpipe_plugin::harness!(Exec, config).unwrap();
    let mut shown = String::new();
    for pixels in [[1, 2, 3, 4, 5, 6], [7, 8, 9, 1, 2, 3]] {
        let picture = (Format::Grey8, 3, 2);
        let emitted = harness
            .send_picture("any/1", &json!({ "a": 1.25 }), picture, &pixels)
            .unwrap();
        assert!(emitted[0].frame.is_none());
        shown = emitted[0].body["file"].as_str().unwrap().to_owned();
        assert_eq!(emitted[1].body, json!({ "a": 1.25 }));
        let mut other_way = pixels;
        other_way.reverse();
        assert_eq!(emitted[1].frame.as_ref().unwrap().pixels(), other_way);
    }
    assert_eq!(harness.finish().unwrap()[0].body, "finished");
    assert!(Path::new(&shown).exists());
    drop(harness);
    assert!(
        !Path::new(&shown).exists(),
        "the file of pixels goes with the stage"
    );
}

#[test]
fn a_picture_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small");
    std::fs::write(&file, [0; 5]).unwrap();
    let capture = |frame: Value| {
        let answer = json!({ "id": 1, "frame": frame }).to_string();
        let script = format!(
            "read -r line; echo '{{\"id\":0}}'; read -r line; echo '{answer}'; read -r line"
        );
        let config = json!({ "command": ["sh", "-c", script] });
        error(
            flowpipe_plugin::harness!(CaptureExec, config)
                .unwrap()
                .tick(),
        )
    };
    let picture = json!({ "file": file, "format": "grey8", "width": 3, "height": 2 });
    let text = capture(picture.clone());
    assert!(
        text.ends_with("small: it needs 6 bytes, the file has 5"),
        "{text}"
    );
    let mut narrow = picture.clone();
    narrow["stride"] = json!(2);
    assert!(capture(narrow).contains("rows of 3 bytes do not fit a stride of 2"));
    let mut huge = picture.clone();
    (huge["width"], huge["height"], huge["stride"]) =
        (json!(u32::MAX), json!(u32::MAX), json!(u64::MAX));
    assert!(capture(huge).contains("it needs"));
    let mut odd = picture;
    odd["format"] = json!("yuv");
    assert!(capture(odd).contains("its answer can't be read: unknown variant `yuv`"));
}
