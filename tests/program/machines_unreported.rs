//! A machine that ends without a report of its stages, and one that takes none.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::tcp::TcpDialer;
use flowpipe_tests::pipeline;
use serde_json::{Value, json};

use crate::machines::{Machine, free_address};

const CONTROL: u32 = 0;
const EDGE: u32 = 1;
/// The reports, and all else that machines observe.
const OBSERVATIONS: u32 = 2;
/// Those, and two for workers.
const CHANNELS: u32 = 5;
const LONG: Duration = Duration::from_secs(60);

/// Takes part in the run as `rack`, which takes all messages, until the last one. Returns how many came.
fn take_part(link: &Link) -> u64 {
    let began = Instant::now();
    let control = |control: Value| {
        let body = control.to_string().into_bytes().into();
        link.send(CONTROL, &body, LONG).unwrap();
    };
    let mut count = 0;
    while began.elapsed() < LONG {
        match link.next_event(Duration::from_millis(100)) {
            Some(Event::Message { id, body }) => {
                link.take(id.channel);
                link.done(id);
                count += u64::from(id.channel == EDGE);
                let message: Value = serde_json::from_slice(&body).unwrap_or_default();
                if let Some(desk) = message
                    .get("Introduction")
                    .filter(|_| id.channel == CONTROL)
                {
                    // It runs the same.
                    control(
                        json!({ "Introduction": { "machine": "rack", "facts": desk["facts"] } }),
                    );
                    control(json!({ "Missing": { "machines": [], "observers": {} } }));
                }
            }
            Some(Event::Ended { channel: EDGE }) => return count,
            _ => {}
        }
    }
    panic!("the run does not end");
}

/// Ends without a report.
fn end(link: &Link) {
    (1..CHANNELS).for_each(|channel| link.end(channel));
    // The other one ends when it likes.
    let _ = link.finish(LONG, LONG);
}

/// Starts `desk`, which has twenty numbers for `rack`, and the link of `rack`, which receives on these channels.
fn start(folder: &Path, channels: &[u32]) -> (Machine, Link) {
    let (address, log) = (free_address(), folder.join("numbers.txt"));
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = 20 }}\nmachine = \"desk\"\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"numbers\"\nmachine = \"rack\"\nconfig = {{ file = {log:?} }}\n\
         [machines.desk]\nlisten = \"tcp/{address}\"\n[machines.rack]\n"
    );
    let desk = Machine::start(&pipeline(folder, &text), "desk");
    let dialer = TcpDialer::new(address, "rack").unwrap();
    let began = Instant::now();
    let clock = move || i64::try_from(began.elapsed().as_nanos()).unwrap();
    let link = Link::start(
        Settings::new(true, CHANNELS),
        Box::new(dialer),
        Arc::new(clock),
    );
    let link = link.unwrap();
    for channel in channels {
        link.receive_on(*channel, 64);
    }
    (desk, link)
}

#[test]
fn a_machine_without_a_report_makes_the_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (desk, link) = start(folder.path(), &[CONTROL, EDGE, OBSERVATIONS]);
    assert_eq!(take_part(&link), 20);
    end(&link);
    let ran = desk.end().expect(1);
    let machines = &ran.json()["machines"];
    assert_eq!(machines[0]["reported"], true, "{ran:#?}");
    assert_eq!(machines[1]["reported"], false, "{ran:#?}");
    assert_eq!(ran.json()["report"]["stages"][0]["out"], 20);
    assert!(!ran.stderr.contains("is dead"), "{ran:#?}");
}

#[cfg(unix)]
#[test]
fn a_machine_that_takes_no_report_is_named_and_stopped() {
    use std::io::{BufRead as _, BufReader};

    use flowpipe_tests::signals::send_signal;

    let folder = tempfile::tempdir().unwrap();
    let (mut desk, link) = start(folder.path(), &[CONTROL, EDGE]);
    assert_eq!(take_part(&link), 20);
    let (sender, lines) = std::sync::mpsc::channel();
    let stderr = BufReader::new(desk.0.stderr.take().unwrap());
    std::thread::spawn(move || {
        let lines = stderr.lines().map_while(Result::ok);
        // Nobody reads what is printed later.
        lines.for_each(|line| drop(sender.send(line)));
    });
    let notice = "the run on this machine has ended: waiting for machine rack";
    while !lines.recv_timeout(LONG).unwrap().starts_with(notice) {}
    send_signal("INT", desk.0.id());
    let began = Instant::now();
    let is_stop = |event: Option<Event>| {
        let Some(Event::Message { id, body }) = event else {
            return false;
        };
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        id.channel == CONTROL && message.get("Stop").is_some()
    };
    while !is_stop(link.next_event(Duration::from_millis(100))) {
        assert!(began.elapsed() < LONG, "the run is not stopped");
    }
    link.receive_on(OBSERVATIONS, 64);
    end(&link);
    desk.end().expect(130);
}
