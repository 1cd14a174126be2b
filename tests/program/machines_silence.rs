//! Machines that hear nothing of each other for a while: for less time than after which one is dead, and for more.

use std::path::Path;
use std::time::Duration;

use flowpipe_tests::signals::send_signal;

use crate::machines::{Machine, address, free_address};
use crate::machines_death::{lost, numbers, there_and_back, through};
use crate::proxy::Proxy;
use crate::screen::wait_for;

/// A connection on which nothing arrives for three seconds is closed.
pub const SILENCE: Duration = Duration::from_secs(4);
/// After ten seconds without a connection, which is closed after three seconds of silence, a machine counts as dead.
pub const DEATH: Duration = Duration::from_secs(15);
/// Longer than silence closes a connection, and shorter than a machine without a `reconnect_timeout` is waited for.
const SHORTER_THAN_DEATH: Duration = Duration::from_secs(8);

/// Gives the machine of a file the key.
fn set_reconnect_timeout(file: &str, machine: &str, time: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    let table = format!("[machines.{machine}]\n");
    assert!(text.contains(&table), "{text}");
    let with_key = format!("{table}reconnect_timeout = {time:?}\n");
    std::fs::write(file, text.replace(&table, &with_key)).unwrap();
}

/// Waits until more numbers are written.
fn more_arrive(log: &Path) {
    let before = numbers(log).len();
    wait_for("messages", || {
        (numbers(log).len() > before + 50).then_some(())
    });
}

/// Stops the run, and checks that nothing was lost although each connection was closed at least so often.
fn end_without_loss(desk: Machine, rack: Machine, log: &Path, least_closed: usize) {
    send_signal("INT", desk.0.id());
    let (desk, rack) = (desk.end().expect(130), rack.end().expect(0));
    for (ran, other) in [(&desk, "rack"), (&rack, "desk")] {
        let closed = format!("the connection to machine {other} is lost");
        // Once more if it was found again meanwhile.
        let count = ran.stderr.matches(&closed).count();
        assert!(count >= least_closed, "{ran:#?}");
        for text in [": message ", " are lost", " is dead"] {
            assert!(!ran.stderr.contains(text), "{ran:#?}");
        }
    }
    let written = numbers(log);
    assert_eq!(written, (1..=written.len() as u64).collect::<Vec<_>>());
    let emitted = &desk.json()["report"]["stages"][0]["out"];
    assert_eq!(emitted, written.len());
}

#[test]
fn silence_in_one_direction_loses_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let listen = free_address();
    let proxy = Proxy::start(listen);
    let file = through(folder.path(), &log, listen, proxy.address);
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    more_arrive(&log);
    for direction in [0, 1] {
        proxy.stall(direction, SILENCE);
        more_arrive(&log);
    }
    end_without_loss(desk, rack, &log, 2);
}

#[test]
fn a_machine_with_a_long_time_to_reconnect_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let listen = free_address();
    let proxy = Proxy::start(listen);
    let file = through(folder.path(), &log, listen, proxy.address);
    // The other one has the default: the longer time counts.
    set_reconnect_timeout(&file, "desk", "1m");
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    more_arrive(&log);
    // Neither can connect while one direction is silent, for about twelve seconds after the connection is closed.
    proxy.stall(0, DEATH);
    more_arrive(&log);
    end_without_loss(desk, rack, &log, 1);
}

#[test]
fn a_machine_with_a_short_time_to_reconnect_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let listen = free_address();
    let proxy = Proxy::start(listen);
    let file = through(folder.path(), &log, listen, proxy.address);
    for machine in ["desk", "rack"] {
        set_reconnect_timeout(&file, machine, "1s");
    }
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    more_arrive(&log);
    proxy.stall(0, SHORTER_THAN_DEATH);
    end_given_up(desk, rack, &log);
}

#[test]
fn a_machine_that_stands_still_for_too_long_is_given_up_by_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("numbers.txt");
    let file = there_and_back(folder.path(), &log, &address());
    let (desk, rack) = (Machine::start(&file, "desk"), Machine::start(&file, "rack"));
    wait_for("messages", || (numbers(&log).len() > 100).then_some(()));
    send_signal("STOP", rack.0.id());
    std::thread::sleep(DEATH);
    send_signal("CONT", rack.0.id());
    end_given_up(desk, rack, &log);
}

/// Checks that both machines count each other as dead, and that what has not arrived is reported as lost.
fn end_given_up(desk: Machine, rack: Machine, log: &Path) {
    let (desk, rack) = (desk.end().expect(1), rack.end().expect(1));
    for (ran, other) in [(&desk, "rack"), (&rack, "desk")] {
        let dead = [
            format!("machine {other} is dead: the run ends"),
            // It may be there still when the other one is back.
            format!("machine {other} counts this one as dead"),
        ];
        let is_known = dead.iter().any(|text| ran.stderr.contains(text));
        assert!(is_known, "{ran:#?}");
    }
    let written = numbers(log);
    let last = *written.last().unwrap();
    assert_eq!(written, (1..=last).collect::<Vec<_>>(), "each once");
    // What has not arrived is lost, as its sender reports: up to the last one that was sent.
    for (ran, other, edge, may_be_none) in [
        (&desk, "rack", "from numbers to pass", false),
        (&rack, "desk", "from pass to log", true),
    ] {
        let lost = lost(ran, other, edge);
        let sent = lost.last().copied().unwrap_or(last);
        assert!(may_be_none || sent > last, "{lost:?} {last}: {ran:#?}");
        let unreported: Vec<_> = (last + 1..=sent).filter(|it| !lost.contains(it)).collect();
        assert!(unreported.is_empty(), "{unreported:?}: {ran:#?}");
    }
}
