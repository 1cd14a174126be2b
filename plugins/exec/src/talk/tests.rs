use flowpipe_plugin::harness::Harness;
use serde_json::json;

use super::*;
use crate::solver::SolverExec;

/// Answers each message, and says the same again of itself when it begins.
const WELL: &str = r#"
id=0
while read -r line; do
    [ $id = 0 ] && echo '{"id":0,"mark":"soon"}' && echo
    echo "{\"id\":$id}"
    id=$((id + 1))
done
"#;

/// A talk, and the harness whose host it has.
fn talk(script: &str) -> (Harness, Talk) {
    let config = json!({ "command": ["sh", "-c", script] });
    let harness = flowpipe_plugin::harness!(SolverExec, config.clone()).unwrap();
    let config = serde_json::from_value(config).unwrap();
    let talk = Talk::start(config, "solver", harness.host()).unwrap();
    (harness, talk)
}

/// Waits until the process has said something that nobody has heard.
fn wait_for_words(talk: &Talk) {
    let process = talk.process.as_ref().unwrap();
    let started = Instant::now();
    while !process.has_spoken() {
        assert!(started.elapsed() < Duration::from_secs(60), "it is silent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asks for an answer that nothing is expected of.
fn ask(talk: &mut Talk, asker: &mut dyn Asker) -> Result<Told> {
    talk.ask(&json!({}), asker)
}

#[test]
fn a_start_that_nobody_looked_at_in_time_is_no_late_one() {
    let (_harness, mut talk) = talk(WELL);
    ask(&mut talk, &mut Cancel::never()).unwrap();
    talk.replace();
    wait_for_words(&talk);
    // The next message comes after the time to start has passed.
    talk.start_by = Some(Instant::now());
    ask(&mut talk, &mut Cancel::never()).unwrap();
}

#[test]
fn a_message_that_was_cancelled_while_the_command_began_kills_nothing() {
    let (_harness, mut talk) = talk(WELL);
    talk.replace();
    let cancelled = ask(&mut talk, &mut Cancel::by(&|| true)).err().unwrap();
    assert_eq!(cancelled.status(), flowpipe_plugin::abi::CANCELLED);
    assert_eq!(talk.number, 0, "what is not wanted is not asked");
    // It has begun meanwhile, and the time to start has passed.
    if talk.start_by.is_some() {
        wait_for_words(&talk);
        talk.start_by = Some(Instant::now());
    }
    ask(&mut talk, &mut Cancel::never()).unwrap();
}

#[test]
fn an_answer_that_is_there_is_heard_before_the_clock_is_looked_at() {
    let (_harness, mut talk) = talk(WELL);
    talk.say(line(1, &json!({})).unwrap()).unwrap();
    wait_for_words(&talk);
    let passed = Limit::Answer(Some(Instant::now()));
    let heard: Result<Told, _> = talk.wait(1, passed, &mut Cancel::never());
    assert!(heard.is_ok(), "{:?}", heard.err());
}

#[test]
fn one_that_ends_before_anybody_has_heard_that_it_began_costs_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("replaced");
    let script = format!(
        "[ -e {0} ] && rm {0} && read -r line && echo '{{\"id\":0}}' && exit\n{WELL}",
        marker.display()
    );
    let (_harness, mut talk) = talk(&script);
    std::fs::write(&marker, "").unwrap();
    talk.replace();
    wait_for_words(&talk);
    // Its end has to be noticed, too.
    std::thread::sleep(Duration::from_secs(1));
    ask(&mut talk, &mut Cancel::never()).unwrap();
}

#[test]
fn one_that_never_begins_is_killed_though_each_message_is_given_up_before() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("replaced");
    let script = format!(
        "[ -e {0} ] && rm {0} && exec sleep 1000\n{WELL}",
        marker.display()
    );
    let (harness, mut talk) = talk(&script);
    std::fs::write(&marker, "").unwrap();
    talk.replace();
    let started = Instant::now();
    while marker.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    talk.start_by = Some(Instant::now());
    ask(&mut talk, &mut Cancel::by(&|| true)).err().unwrap();
    assert!(talk.process.is_none());
    assert!(harness.log().iter().any(|line| line.contains("`start_ms`")));
    ask(&mut talk, &mut Cancel::never()).unwrap();
}
