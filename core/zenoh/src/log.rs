//! Why zenoh fails: its errors do not contain the reason, which is the first warning before them.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::{Mutex, PoisonError};

use flowpipe_link::transport::{FailureReason, TransportError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use zenoh_link_tls::failures::{self, Failure};

/// The most bytes of a warning that are kept.
const LONGEST: usize = 600;

static FIRST: Mutex<Option<String>> = Mutex::new(None);

struct FirstWarning;

/// Keeps warnings from now on.
pub fn start() {
    // Unless it is started already.
    let _ = tracing::subscriber::set_global_default(FirstWarning);
}

/// The first warning since the last call, as an error.
pub fn take() -> Option<io::Error> {
    let (text, reason) = (first(), reason());
    text.map(|text| error(reason, text))
}

/// The same, or an error of zenoh where it has not warned.
pub fn take_or(failed: &zenoh::Error) -> io::Error {
    let text = first().unwrap_or_else(|| cleaned(&failed.to_string()));
    error(reason(), text)
}

fn first() -> Option<String> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The reason that TLS has noted, if it has.
fn reason() -> Option<FailureReason> {
    failures::take().map(|failure| match failure {
        Failure::Unreachable => FailureReason::Unreachable,
        Failure::UnknownAuthority => FailureReason::UnknownAuthority,
        Failure::Expired => FailureReason::Expired,
        Failure::OtherHost => FailureReason::OtherHost,
    })
}

fn error(reason: Option<FailureReason>, text: String) -> io::Error {
    match reason {
        Some(reason) => TransportError::of(reason, text),
        None => io::Error::other(text),
    }
}

impl Subscriber for FirstWarning {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Those of the routing are about networks of more than two.
        let is_reason = !metadata.target().starts_with("zenoh::net::routing");
        metadata.is_event() && *metadata.level() <= Level::WARN && is_reason
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let text = cleaned(&text.0);
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(text);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A warning or an error without the places in zenoh's source (` at FILE.rs:LINE.`), and without a hint that is about all
/// reasons.
fn cleaned(text: &str) -> String {
    let mut text = text.replace(". Hint: increase the system open file limit.", "");
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(" at ")) {
        let begin = from + found;
        let place = text.get(begin + 4..).unwrap_or_default();
        let length = place.find(' ').unwrap_or(place.len());
        match place
            .get(..length)
            .is_some_and(|place| place.contains(".rs:"))
        {
            true => text.replace_range(begin..begin + 4 + length, ""),
            false => from = begin + 4,
        }
    }
    text.trim_end().to_owned()
}

/// The message of an event, shortened.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // It fails when it is long enough.
            let _ = write!(self, "{value:?}");
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.0.len() >= LONGEST {
                return Err(fmt::Error);
            }
            self.0.push(c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_warning_is_kept_and_shortened() {
        tracing::subscriber::with_default(FirstWarning, || {
            tracing::info!("nothing");
            tracing::warn!("{}", "é".repeat(LONGEST));
            tracing::warn!("second");
        });
        let text = take().unwrap().to_string();
        assert!(text.starts_with('é'), "{text}");
        assert!(text.len() <= LONGEST + 1);
        assert!(take().is_none());
    }

    #[test]
    fn places_in_the_source_are_left_out() {
        for (text, expected) in [
            (
                "Unable to connect to tls/a:1! refused at /a/b.rs:20. at /c.rs:5.",
                "Unable to connect to tls/a:1! refused",
            ),
            ("look at this, at noon", "look at this, at noon"),
            ("bad cert at /a.rs:1. Then more", "bad cert Then more"),
            (
                "tls handshake. Hint: increase the system open file limit.",
                "tls handshake",
            ),
        ] {
            assert_eq!(cleaned(text), expected);
        }
    }
}
