//! What is lost when a machine of a run is killed: each message that it had, and it is reported.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use flowpipe_tests::{Ran, pipeline};

use crate::machines::{Machine, address};
use crate::screen::wait_for;

/// Numbers from `desk` to `rack` and back to `desk`, where they are slowly written into a file: what `rack` emits waits
/// there.
pub fn there_and_back(folder: &Path, log: &Path, address: &str) -> String {
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = 1000000 }}\nmachine = \"desk\"\n\
         [stages.pass]\nplugin = \"numbers-pass\"\nfrom = \"numbers\"\nmachine = \"rack\"\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"pass\"\nmachine = \"desk\"\n\
         config = {{ file = {log:?}, pause_us = 1000 }}\n\
         [machines.desk]\nlisten = \"{address}\"\n[machines.rack]\n"
    );
    pipeline(folder, &text)
}

/// The same; `rack` listens at an address, and `desk` connects to another one, such as that of a proxy.
pub fn through(folder: &Path, log: &Path, listen: SocketAddr, connect: SocketAddr) -> String {
    let file = there_and_back(folder, log, "tcp/ADDRESS");
    let text = std::fs::read_to_string(file).unwrap();
    let rack = format!("[machines.rack]\nlisten = \"tcp/{listen}\"\nconnect = \"tcp/{connect}\"\n");
    let text = text.replace("listen = \"tcp/ADDRESS\"\n", "");
    pipeline(folder, &text.replace("[machines.rack]\n", &rack))
}

/// What is written.
pub fn numbers(log: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The messages of an edge that a program reports as lost with this machine.
pub fn lost(ran: &Ran, machine: &str, edge: &str) -> BTreeSet<u64> {
    let (one, several) = (
        format!(" {edge} is lost"),
        format!(" messages {edge} are lost: "),
    );
    let mut lost = BTreeSet::new();
    for line in ran.stderr.lines() {
        let Some(rest) = line.strip_prefix(&format!("machine {machine}: ")) else {
            continue;
        };
        if let Some(number) = rest.strip_suffix(&one) {
            lost.insert(number.strip_prefix("message ").unwrap().parse().unwrap());
        } else if let Some((count, ranges)) = rest.split_once(&several) {
            let before = lost.len();
            for range in ranges.split(", ") {
                let (first, last) = range.split_once(" to ").unwrap_or((range, range));
                lost.extend(first.parse::<u64>().unwrap()..=last.parse().unwrap());
            }
            assert_eq!(
                lost.len() - before,
                count.parse::<usize>().unwrap(),
                "{line}"
            );
        }
    }
    lost
}

/// Checks what is written and what is lost after `rack` was killed, which has passed numbers on. Every number that `desk` has
/// sent is one of both. `capacity`: that of the queues of the edges to `rack` and from it. Returns how many are reported as
/// lost, and how many of those are written.
pub fn check_losses(desk: &Ran, log: &Path, capacity: usize) -> [usize; 2] {
    let written = numbers(log);
    let last = *written.last().unwrap();
    assert_eq!(
        written,
        (1..=last).collect::<Vec<_>>(),
        "in order, each once"
    );
    let lost = lost(desk, "rack", "from numbers to pass");
    // They are on a line together, and one that was about to be sent on another one.
    let lines = desk.stderr.matches(" from numbers to pass ").count();
    assert!(lines <= 2, "{desk:#?}");
    let edge = &desk.json()["report"]["edges"][0];
    let of = |key: &str| edge[key].as_u64().unwrap();
    // What was discarded was never taken from the queue to be sent.
    let (queued, sent) = (of("sent"), of("sent") - of("discarded"));
    let unknown: Vec<u64> = (last + 1..=sent).filter(|it| !lost.contains(it)).collect();
    assert!(unknown.is_empty(), "{unknown:?} after {last}: {desk:#?}");
    // One may be taken right after they were counted.
    let highest = *lost.last().unwrap_or_else(|| panic!("{desk:#?}"));
    assert!(
        (sent..=queued).contains(&highest.max(last)),
        "{edge:#}: {highest} {last}"
    );
    let arrived = lost.iter().filter(|number| **number <= last).count();
    let really = lost.len() - arrived;
    let most = most_in_hand(capacity);
    assert!(really <= most, "{really} of {lost:?} after {last}: {most}");
    [lost.len(), arrived]
}

/// How many numbers pass while the report that they are finished is on its way, at most: each takes a millisecond, and a
/// report waits for as long.
const MOST_UNREPORTED: usize = 4;

/// How many numbers a machine that passes them on can have in hand, at most.
pub fn most_in_hand(capacity: usize) -> usize {
    // To it: in the queues at both ends and on the way, two more than the capacity, and one in the stage.
    let there = capacity + 3;
    // From it: two more than the capacity.
    let back = capacity + 2;
    there + back
}

/// Kills `rack` after so many messages were written.
fn kill_after(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let desk = Machine::start(&file, "desk");
    let mut rack = Machine::start(&file, "rack");
    wait_for("messages", || (numbers(&log).len() >= count).then_some(()));
    rack.0.kill().unwrap();
    rack.0.wait().unwrap();
    let ran = desk.end().expect(1);
    let [lost, _] = check_losses(&ran, &log, CAPACITY);
    // What it had passed on does not count as lost once that is reported, which takes a moment.
    let most = most_in_hand(CAPACITY) + MOST_UNREPORTED;
    assert!(lost <= most, "{lost} are lost, not {most}: {ran:#?}");
}

/// The capacity of a queue whose pipeline names none.
pub const CAPACITY: usize = 16;

#[test]
fn a_kill_loses_what_is_reported() {
    kill_after(333);
}

#[test]
#[ignore = "takes a minute: `./x test full` runs it"]
fn twenty_kills_lose_what_is_reported() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20 {
        kill_after(random.usize(20..600));
        std::thread::sleep(Duration::from_millis(random.u64(0..10)));
    }
}
