//! The log as JSON: all that is printed on standard error is an object on each line.

#[cfg(unix)]
use crate::isolation::misbehaving;
use flowpipe_tests::{Ran, changed, pipeline, run};
use serde_json::Value;

/// The levels and messages of what was printed on standard error.
fn log(ran: &Ran) -> Vec<(String, String)> {
    let lines = ran.stderr.lines().map(|line| {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        assert!(text("timestamp").ends_with('Z'), "{line}");
        assert!(!text("target").is_empty(), "{line}");
        (text("level"), text("message"))
    });
    lines.collect()
}

#[cfg(unix)]
#[test]
fn problems_of_a_run_are_objects() {
    let folder = tempfile::tempdir().unwrap();
    let file = misbehaving(folder.path(), "abort", "");
    let args = ["run", &file, "--quiet"];
    let text = run(&args).expect(0);
    let json = run(&[&args[..], &["--log-format", "json", "--color", "always"]].concat()).expect(0);
    let problems = text.stderr.matches("problem:").count();
    assert!(problems > 0, "{text:#?}");
    let log = log(&json);
    let of_run = log.iter().filter(|(level, _)| level == "WARN");
    let of_run: Vec<_> = of_run.map(|(_, message)| message.as_str()).collect();
    assert_eq!(of_run.len(), problems, "{log:#?}");
    assert!(of_run.iter().all(|it| it.contains("wrong")), "{log:#?}");
    assert!(!json.stderr.contains('\u{1b}'), "{json:#?}");
}

#[test]
fn the_failure_that_ends_a_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[stages.numbers]\nplugin = \"source-jsonl\"\n\
         config = { path = \"numbers.jsonl\", schema = \"x.a/1\" }\n\
         [stages.hot]\nplugin = \"filter\"\nfrom = \"numbers\"\nconfig = { jq = '.celsius + 1' }\n";
    std::fs::write(
        folder.path().join("numbers.jsonl"),
        "{\"celsius\": \"a\"}\n",
    )
    .unwrap();
    let file = pipeline(folder.path(), text);
    let ran = run(&["run", &file, "--log-format", "json"]).expect(1);
    let log = log(&ran);
    let errors: Vec<_> = log.iter().filter(|(level, _)| level == "ERROR").collect();
    assert_eq!(errors.len(), 1, "{log:#?}");
    assert!(
        errors[0].1.starts_with("the run failed: stage \"hot\""),
        "{log:#?}"
    );
    let as_text = run(&["run", &file]).expect(1);
    assert!(!as_text.stderr.contains("the run failed"), "{as_text:#?}");
}

#[test]
fn errors_and_notices_are_objects() {
    let folder = tempfile::tempdir().unwrap();
    let as_json = |args: &[&str], code: i32| {
        log(&run(&[args, &["--log-format", "json"]].concat()).expect(code))
    };
    let missing = as_json(&["run", "nowhere.toml"], 2);
    assert_eq!(missing.len(), 1, "{missing:#?}");
    assert_eq!(missing[0].0, "ERROR");
    assert!(missing[0].1.contains("nowhere.toml"), "{missing:#?}");

    let broken = changed(folder.path(), |ready| ready.replace("fps = 20", "fps = -1"));
    let refused = as_json(&["check", broken.to_str().unwrap()], 78);
    assert!(
        refused
            .iter()
            .any(|(_, text)| text.contains("changed.toml:7:54")),
        "{refused:#?}"
    );

    let errors = refused.iter().filter(|(level, _)| level == "ERROR");
    let errors: Vec<_> = errors.map(|(_, text)| text.as_str()).collect();
    assert_eq!(errors.len(), 1, "{refused:#?}");
    assert!(errors[0].contains("changed.toml:7:54: "), "{errors:?}");

    let recording = folder.path().join("run.mcap").display().to_string();
    let args = ["run", "pipelines/replay.toml", "--record", &recording, "-v"];
    let log = as_json(&args, 0);
    assert!(log.iter().any(|(level, _)| level == "INFO"), "{log:#?}");
}
