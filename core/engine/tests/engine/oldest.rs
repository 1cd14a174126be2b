//! Plugins built against old headers keep working. The source and the headers are kept.

use std::sync::Arc;

use flowpipe_engine::run::{Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;
use serde_json::json;

use crate::common::{Builder, Watcher, adds_up, compile_against, finish};

/// Runs both stages of the fixture, built against an old header, as a pipeline.
fn works_built_against(header: &str) {
    let folder = tempfile::tempdir().unwrap();
    compile_against(header, "oldest.c", folder.path(), "oldest", &[]);
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &Scanner::InProcess);
    assert_eq!(catalogue.refused(), []);
    assert_eq!(catalogue.stages()[0].manifest.version, "0.1.0");

    let mut line = Builder::new();
    line.stage("oldest-source", json!({}));
    line.stage("oldest", json!({ "add": 47 }));
    line.join(0, 1);
    let watcher = Arc::new(Watcher::default());
    let options = Options {
        observers: vec![watcher.clone()],
        ..Options::default()
    };
    let report = finish(Run::start(line.0, &catalogue, options).unwrap());

    assert_eq!(watcher.problems(), []);
    adds_up(&report);
    let answers = watcher.from(1);
    assert_eq!(answers.len(), 1);
    let read = json!({ "n": 42, "yes": 1, "share": 0.25, "word": "h\u{e9}", "list": 3 });
    assert_eq!(answers[0].json, read);
    assert_eq!(answers[0].pixels.unwrap().1, 42, "one brighter");
    assert_eq!(watcher.marks(), [(1, "action".to_owned(), Some(1))]);
}

#[test]
fn a_plugin_of_the_first_day_works() {
    works_built_against("tests/frozen/first");
}

#[test]
fn a_plugin_of_0_1_works() {
    works_built_against("tests/frozen/0.1");
}

#[test]
fn a_config_is_refused_as_on_the_first_day() {
    let folder = tempfile::tempdir().unwrap();
    compile_against(
        "tests/frozen/first",
        "oldest.c",
        folder.path(),
        "oldest",
        &[],
    );
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &Scanner::InProcess);
    let mut line = Builder::new();
    line.stage("oldest-source", json!({}));
    line.stage("oldest", json!({}));
    line.join(0, 1);
    let refused = Run::start(line.0, &catalogue, Options::default())
        .err()
        .unwrap();
    assert!(refused.to_string().contains("add is missing"), "{refused}");
}
