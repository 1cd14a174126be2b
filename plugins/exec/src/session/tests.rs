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
    while !process.has_output() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it wrote nothing"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A call of which no certain answer is expected.
fn call(session: &mut Session, caller: &mut dyn Caller) -> Result<ReplyHeader> {
    session.call(&json!({}), caller)
}

#[test]
fn a_start_that_is_answered_in_time_and_read_late_is_not_late() {
    let (_harness, mut session) = session(WELL);
    call(&mut session, &mut Cancel::never()).unwrap();
    session.replace();
    wait_for_output(&session);
    // The next message comes after the time to start has passed.
    session.start_deadline = Some(Instant::now());
    call(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn a_call_that_is_cancelled_while_the_command_starts_kills_nothing() {
    let (_harness, mut session) = session(WELL);
    session.replace();
    let cancelled = call(&mut session, &mut Cancel::by(&|| true)).err().unwrap();
    assert_eq!(cancelled.status(), flowpipe_plugin::abi::CANCELLED);
    assert_eq!(session.number, 0, "a cancelled call sends no message");
    // It has started meanwhile, and its deadline has passed.
    if session.start_deadline.is_some() {
        wait_for_output(&session);
        session.start_deadline = Some(Instant::now());
    }
    call(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn an_answer_that_has_arrived_is_read_before_the_clock_is_checked() {
    let (_harness, mut session) = session(WELL);
    session.send_line(line(1, &json!({})).unwrap()).unwrap();
    wait_for_output(&session);
    let passed = Deadline::Answer(Some(Instant::now()));
    let received: Result<ReplyHeader, _> = session.receive(1, passed, &mut Cancel::never());
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
    call(&mut session, &mut Cancel::never()).unwrap();
}

#[test]
fn a_process_that_never_starts_is_killed_even_if_each_call_is_cancelled_before() {
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
    session.start_deadline = Some(Instant::now());
    call(&mut session, &mut Cancel::by(&|| true)).err().unwrap();
    assert!(session.process.is_none());
    assert!(harness.log().iter().any(|line| line.contains("`start_ms`")));
    call(&mut session, &mut Cancel::never()).unwrap();
}
