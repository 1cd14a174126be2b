//! Collectors that are not there or misbehave: a run neither waits for them nor fails, and reports them once.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::collector::{Behaviour, Collector};
use super::{Ended, check_spans, ended, flowpipe, lines, run_lines};

/// How long a run may take to end after its stages have: the limits of a request that is on its way and of the rest, and what
/// a busy machine needs.
const LONGEST_END: f64 = 3.0 + 3.0 + 6.0;

/// A run of 40 lines.
fn run_with(url: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let ended = run_lines(folder.path(), &lines(40), &["--otlp", url], |_| {});
    assert_eq!(ended.stage("out")["in"], 40, "the run is as it is without");
    let written = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(written.lines().count(), 40);
    ended
}

/// Checks that the failure is reported once, with its reason, and that all spans are missing.
fn check_failed(ended: &Ended, reason: &str) {
    let stderr = &ended.stderr;
    let reports = stderr.matches("can't send to the collector at").count();
    assert_eq!(reports, 1, "{stderr}");
    assert!(stderr.contains(reason), "{stderr}");
    let summary = "; 120 spans missing, because the collector did not take them";
    assert!(stderr.contains(summary), "{stderr}");
    let run = ended.report()["seconds"].as_f64().unwrap();
    assert!(ended.seconds - run < LONGEST_END, "{} {run}", ended.seconds);
}

#[test]
fn a_collector_that_is_not_there_costs_no_time() {
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    check_failed(&run_with(&url), "Connection refused");
    check_failed(
        &run_with("http://collector.invalid:4318"),
        "collector.invalid",
    );
}

#[test]
fn a_collector_that_answers_nothing_is_left_alone() {
    for behaviour in [Behaviour::Hangs, Behaviour::Trickles] {
        let collector = Collector::start(behaviour);
        check_failed(&run_with(&collector.url()), "timeout");
    }
}

#[test]
fn a_collector_that_answers_something_else_is_reported() {
    for (behaviour, reason) in [
        (Behaviour::Closes, "can't send"),
        (Behaviour::Answers(400), "it answers with status 400"),
        (Behaviour::Answers(404), "it answers with status 404"),
        (Behaviour::Answers(500), "it answers with status 500"),
        (Behaviour::Redirects, "it answers with status 307"),
        (Behaviour::AnswersNonsense, "can't send"),
        (Behaviour::AnswersPage, "no OTLP over HTTP"),
        (Behaviour::Floods, "no OTLP over HTTP"),
    ] {
        let collector = Collector::start(behaviour);
        check_failed(&run_with(&collector.url()), reason);
    }
}

#[test]
fn what_a_collector_rejects_is_counted() {
    for (rejects, missing) in [(7, 7), (i64::MAX, 120), (i64::MIN, 0)] {
        let collector = Collector::start(Behaviour::Rejects(rejects));
        let ended = run_with(&collector.url());
        let stderr = &ended.stderr;
        assert!(!stderr.contains('\u{1b}'), "its text is escaped: {stderr}");
        let sent = format!("sent {} span", 120 - missing);
        // All of them, if they were sent in several batches.
        if missing != 7 || stderr.contains("; 7 spans missing") {
            assert!(stderr.contains(&sent), "{stderr}");
        }
        assert_eq!(
            stderr.contains("it rejects spans: too "),
            missing > 0,
            "{stderr}"
        );
    }
}

#[test]
fn what_a_busy_collector_did_not_take_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(Behaviour::IsBusy(1));
    let file = folder.path().join("lines.toml");
    std::fs::write(&file, super::LINES).unwrap();
    let url = collector.url();
    let args = ["run", file.to_str().unwrap(), "--json", "--otlp", &url];
    let began = Instant::now();
    let mut child = flowpipe(folder.path(), &args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(20).as_bytes()).unwrap();
    // The first batch is refused meanwhile.
    std::thread::sleep(Duration::from_secs(2));
    stdin.write_all(lines(20).as_bytes()).unwrap();
    drop(stdin);
    let ended = ended(child.wait_with_output().unwrap(), began.elapsed());
    let (spans, _) = collector.spans();
    check_spans(&spans);
    assert_eq!(spans.len(), 120);
    let stderr = &ended.stderr;
    assert_eq!(
        stderr.matches("it has no room: status 503").count(),
        1,
        "{stderr}"
    );
    assert!(!stderr.contains("missing"), "{stderr}");
}
