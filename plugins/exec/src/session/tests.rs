use flowpipe_plugin::harness::Harness;
use serde_json::json;

use super::*;
use crate::solver::SolverExec;

/// Answers each message. A restarted process answers the same.
const WELL: &str = r#"
id=0
while read -r line; do
    [ $id = 0 ] && echo '{"id":0,"mark":"soon"}' && echo
    echo "{\"id\":$id}"
    id=$((id + 1))
done
"#;

/// A session, and the harness that provides its host.
fn session(script: &str) -> (Harness, Session) {
    let config = json!({ "command": ["sh", "-c", script] });
    let harness = flowpipe_plugin::harness!(SolverExec, config.clone()).unwrap();
    let config = serde_json::from_value(config).unwrap();
    let session = Session::start(config, "solver", harness.host()).unwrap();
    (harness, session)
}

/// Waits until the process has written a line that has not been read.
fn wait_for_output(session: &Session) {
    let process = session.process.as_ref().unwrap();
    let started = Instant::now();
    while !process.has_spoken() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it wrote nothing"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asks for an answer that nothing is expected of.
fn ask(session: &mut Session, asker: &mut dyn Asker) -> Result<Reply> {
    session.ask(&json!({}), asker)
}

#[test]
fn a_start_that_is_answered_in_time_and_read_late_is_not_late() {
    let (_harness, mut session) = session(WELL);
    ask(&mut session, &mut Cancel::never()).unwrap();
    session.replace();
    wait_for_output(&session);
    // The next message comes after the time to start has passed.
    session.start_by = Some(Instant::now());
    ask(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn a_message_that_was_cancelled_while_the_command_began_kills_nothing() {
    let (_harness, mut session) = session(WELL);
    session.replace();
    let cancelled = ask(&mut session, &mut Cancel::by(&|| true)).err().unwrap();
    assert_eq!(cancelled.status(), flowpipe_plugin::abi::CANCELLED);
    assert_eq!(session.number, 0, "what is not wanted is not asked");
    // It has begun meanwhile, and the time to start has passed.
    if session.start_by.is_some() {
        wait_for_output(&session);
        session.start_by = Some(Instant::now());
    }
    ask(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn an_answer_that_has_arrived_is_read_before_the_clock_is_checked() {
    let (_harness, mut session) = session(WELL);
    session.send_line(line(1, &json!({})).unwrap()).unwrap();
    wait_for_output(&session);
    let passed = Limit::Answer(Some(Instant::now()));
    let received: Result<Reply, _> = session.wait(1, passed, &mut Cancel::never());
    assert!(received.is_ok(), "{:?}", received.err());
}

#[test]
fn a_process_that_ends_before_its_first_answer_is_read_costs_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("replaced");
    let script = format!(
        "[ -e {0} ] && rm {0} && read -r line && echo '{{\"id\":0}}' && exit\n{WELL}",
        marker.display()
    );
    let (_harness, mut session) = session(&script);
    std::fs::write(&marker, "").unwrap();
    session.replace();
    wait_for_output(&session);
    // Its end has to be noticed, too.
    std::thread::sleep(Duration::from_secs(1));
    ask(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn a_process_that_never_begins_is_killed_even_if_each_message_is_cancelled_before() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("replaced");
    let script = format!(
        "[ -e {0} ] && rm {0} && exec sleep 1000\n{WELL}",
        marker.display()
    );
    let (harness, mut session) = session(&script);
    std::fs::write(&marker, "").unwrap();
    session.replace();
    let started = Instant::now();
    while marker.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    session.start_by = Some(Instant::now());
    ask(&mut session, &mut Cancel::by(&|| true)).err().unwrap();
    assert!(session.process.is_none());
    assert!(harness.log().iter().any(|line| line.contains("`start_ms`")));
    ask(&mut session, &mut Cancel::never()).unwrap();
}
