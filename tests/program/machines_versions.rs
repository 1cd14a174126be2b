//! Programs of different versions do not run together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::tcp::TcpDialer;
use serde_json::{Value, json};

use crate::machines::{Machine, free_address};
use crate::machines_death::there_and_back;

const CONTROL: u32 = 0;
/// That, two edges, what machines observe, and two for workers.
const CHANNELS: u32 = 6;
/// On a busy machine, the start of a program takes a minute.
const LONG: Duration = Duration::from_secs(300);
/// A version that no program has.
const OTHER: &str = "9999.0";

/// Introduces itself to `desk` as a `rack` that has what `desk` has, but another version of one thing. Returns the
/// version of `desk`, once that has refused it.
fn rack_of_another_version(link: &Link, what: &str) -> String {
    let deadline = Instant::now() + LONG;
    let mut own = None;
    while Instant::now() < deadline {
        let event = link.next_event(Duration::from_millis(100));
        let Some(Event::Message { id, body }) = event else {
            continue;
        };
        link.take(id.channel);
        link.done(id);
        let message: Value = serde_json::from_slice(&body).unwrap();
        if let Some(desk) = message.get("Introduction") {
            let mut facts = desk["facts"].clone();
            let version = facts[what].as_str();
            own = Some(version.unwrap_or_else(|| panic!("{facts:#}")).to_owned());
            facts[what] = OTHER.into();
            let introduction = json!({ "Introduction": { "machine": "rack", "facts": facts } });
            let body = introduction.to_string().into_bytes().into();
            link.send(CONTROL, &body, LONG).unwrap();
        } else if message.get("Different").is_some() {
            // The other one ends when it likes.
            let _ = link.finish(LONG, LONG);
            return own.unwrap();
        }
    }
    panic!("it is not refused");
}

#[test]
fn machines_with_different_versions_name_the_difference() {
    for what in ["the version of the ABI", "the version of flowpipe"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("numbers.txt");
        let address = free_address();
        let file = there_and_back(folder.path(), &log, &format!("tcp/{address}"));
        let desk = Machine::start(&file, "desk");
        let dialer = TcpDialer::new(address, "rack").unwrap();
        let began = Instant::now();
        let clock = move || i64::try_from(began.elapsed().as_nanos()).unwrap();
        let settings = Settings::new(true, CHANNELS);
        let link = Link::start(settings, Box::new(dialer), Arc::new(clock)).unwrap();
        link.receive_on(CONTROL, 64);
        let own = rack_of_another_version(&link, what);
        let ran = desk.end().expect(78);
        let differs = format!("{what} differs: {own} on desk, {OTHER} on rack");
        let line = ran.stderr.lines().find(|line| line.contains(&differs));
        let line = line.unwrap_or_else(|| panic!("{differs}: {ran:#?}"));
        assert_eq!(line.matches(" differs: ").count(), 1, "{line}");
        assert!(!log.exists());
    }
}
