//! Which checks judge a pipeline's messages: those that its outputs name, and those that belong to flowpipe.

use std::path::Path;

use flowpipe_tests::{Ran, compile, pipeline, run};
use tempfile::TempDir;

/// A source of one message of gestures, which may name a check, and what takes it.
fn gestures(folder: &Path, output: &str) -> String {
    let source = "import json, sys\nfor line in sys.stdin:\n    answer = {'id': json.loads(line)['id']}\n    \
                  if '\"tick\"' in line:\n        bounds = {'x': 0, 'y': 0, 'width': 10, 'height': 10}\n        \
                  body = {'planner': 'test', 'frame': {'source': 'test'}, 'bounds': bounds, 'gestures': []}\n        \
                  answer |= {'messages': [{'body': body | json.loads(sys.argv[1])}], 'end': True}\n    \
                  print(json.dumps(answer), flush=True)\n";
    std::fs::write(folder.join("gestures.py"), source).unwrap();
    let text = format!(
        "[stages.hand]\nplugin = \"exec\"\n\
         config = {{ command = [\"python3\", \"gestures.py\", '{{}}'], inputs = {{}}, \
         outputs = {{ out = {{ schema = \"flowpipe.gestures/1\"{output} }} }} }}\n\
         [stages.player]\nplugin = \"exec\"\nfrom = \"hand\"\n\
         config = {{ command = [\"python3\", \"-c\", '{ECHO}'], outputs = {{}} }}\n"
    );
    pipeline(folder, &text)
}

const ECHO: &str = "import json, sys; [print(json.dumps(dict(id=json.loads(it)[\"id\"])), flush=True) for it in sys.stdin]";

/// A folder of plugins with a check of gestures that refuses all of them.
fn house(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let defines = [
        "REFUSES=\"not in this house\"".to_owned(),
        format!("NAME=\"{name}\""),
    ];
    let defines: Vec<_> = defines.iter().map(String::as_str).collect();
    compile("tests/plugins/judging.c", folder.path(), "house", &defines);
    folder
}

#[track_caller]
fn with(plugins: &TempDir, args: &[&str]) -> Ran {
    let plugins = plugins.path().display().to_string();
    run(&[args, &["--plugin-dir", &plugins]].concat())
}

#[test]
fn a_check_of_another_folder_judges_if_an_output_names_it() {
    let plugins = house("check-house");
    let folder = tempfile::tempdir().unwrap();
    let unnamed = gestures(folder.path(), "");
    let ran = with(&plugins, &["run", &unnamed]).expect(0);
    let why = "does not judge flowpipe.gestures/1: no output names it";
    assert!(ran.stderr.contains(why), "{ran:#?}");
    let ran = with(&plugins, &["check", &unnamed]).expect(0);
    assert!(ran.stdout.contains(why), "{ran:#?}");
    let judges = "  check-messages judges flowpipe.gestures/1 in flowpipe's own process: ";
    assert!(ran.stdout.contains(judges), "{ran:#?}");

    let folder = tempfile::tempdir().unwrap();
    let named = gestures(folder.path(), ", check = \"check-house\"");
    let ran = with(&plugins, &["run", &named]).expect(1);
    assert!(ran.stderr.contains("not in this house"), "{ran:#?}");
    let ran = with(&plugins, &["check", &named]).expect(0);
    let judges = "  check-house judges flowpipe.gestures/1 in flowpipe's own process: ";
    assert!(ran.stdout.contains(judges), "{ran:#?}");
    let checks = with(&plugins, &["check", &named, "--json"]).expect(0);
    let checks = &checks.json()["checks"];
    let names = checks.as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|it| (it["check"].clone(), it["judges"].clone()))
        .collect();
    assert_eq!(
        names,
        [
            ("check-house".into(), true.into()),
            ("check-messages".into(), true.into())
        ]
    );
}

#[test]
fn a_check_of_flowpipe_is_not_replaced() {
    let plugins = house("check-messages");
    let folder = tempfile::tempdir().unwrap();
    let named = gestures(folder.path(), ", check = \"check-messages\"");
    let ran = with(&plugins, &["run", &named]).expect(0);
    assert!(
        ran.stderr
            .contains("has the check of this name, which no other replaces"),
        "{ran:#?}"
    );
    // That of flowpipe judges.
    let text = std::fs::read_to_string(&named).unwrap();
    std::fs::write(&named, text.replace("'{}'", "'{\"bounds\": 3}'")).unwrap();
    let ran = with(&plugins, &["run", &named]).expect(1);
    assert!(ran.stderr.contains("does not pass the checks"), "{ran:#?}");
    assert!(!ran.stderr.contains("not in this house"), "{ran:#?}");
}
