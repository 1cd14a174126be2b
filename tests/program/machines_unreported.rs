//! A machine that ends without a report of its stages.

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

/// Takes part in the run as `rack`, which takes all messages, and ends without a report. Returns how many came.
fn rack_without_report(link: &Link) -> u64 {
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
            Some(Event::Ended { channel: EDGE }) => {
                (1..CHANNELS).for_each(|channel| link.end(channel));
                // The other one ends when it likes.
                let _ = link.finish(LONG, LONG);
                return count;
            }
            _ => {}
        }
    }
    panic!("the run does not end");
}

#[test]
fn a_machine_without_a_report_makes_the_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (address, log) = (free_address(), folder.path().join("numbers.txt"));
    let text = format!(
        "[stages.numbers]\nplugin = \"numbers\"\nconfig = {{ count = 20 }}\nmachine = \"desk\"\n\
         [stages.log]\nplugin = \"numbers-log\"\nfrom = \"numbers\"\nmachine = \"rack\"\nconfig = {{ file = {log:?} }}\n\
         [machines.desk]\nlisten = \"tcp/{address}\"\n[machines.rack]\n"
    );
    let desk = Machine::start(&pipeline(folder.path(), &text), "desk");
    let dialer = TcpDialer::new(address, "rack").unwrap();
    let began = Instant::now();
    let clock = move || i64::try_from(began.elapsed().as_nanos()).unwrap();
    let link = Link::start(
        Settings::new(true, CHANNELS),
        Box::new(dialer),
        Arc::new(clock),
    );
    let link = link.unwrap();
    for channel in [CONTROL, EDGE, OBSERVATIONS] {
        link.receive_on(channel, 64);
    }
    assert_eq!(rack_without_report(&link), 20);
    let ran = desk.end().expect(1);
    let machines = &ran.json()["machines"];
    assert_eq!(machines[0]["reported"], true, "{ran:#?}");
    assert_eq!(machines[1]["reported"], false, "{ran:#?}");
    assert_eq!(ran.json()["report"]["stages"][0]["out"], 20);
    assert!(!ran.stderr.contains("is dead"), "{ran:#?}");
}
