//! Why the connections of an endpoint fail: zenoh's errors do not contain the reason, which TLS notes, and the first
//! warning before them.

use std::fmt::{self, Write as _};
use std::io;

use flowpipe_link::transport::{FailureReason, TransportError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use zenoh_link_tls::failures::{self, Failure, Noted, Watch};

/// What zenoh reports when a connection, with its handshake, has taken too long.
const TIMED_OUT: &str = "deadline has elapsed";
/// What the TLS library reports of the other end of a connection that it has accepted.
const NO_CERTIFICATE: &str = "peer sent no certificates";
/// The most bytes of a warning that are kept.
const LONGEST: usize = 600;

/// Gathers the failures of the endpoints of one session.
pub struct FailureLog(Watch);

/// Notes zenoh's warnings for the endpoints that they are about.
struct Warnings;

impl FailureLog {
    /// Gathers failures from now on.
    pub fn start() -> Self {
        // Unless it is set already.
        let _ = tracing::subscriber::set_global_default(Warnings);
        Self(Watch::new())
    }

    /// What the config of an endpoint has so that its failures are gathered here: a key and a value.
    pub fn setting(&self) -> String {
        format!("{}={}", failures::WATCH, self.0.number())
    }

    /// The first failure since the last call.
    pub fn take(&self) -> Option<io::Error> {
        let Noted { failure, text } = self.0.take();
        text.map(|text| error(failure, text))
    }

    /// The same, or an error of zenoh where nothing is noted.
    pub fn take_or(&self, failed: &zenoh::Error) -> io::Error {
        let Noted { failure, text } = self.0.take();
        error(
            failure,
            text.unwrap_or_else(|| cleaned(&failed.to_string())),
        )
    }
}

/// An error of zenoh in a session that was open.
pub fn plain(failed: &zenoh::Error) -> io::Error {
    io::Error::other(cleaned(&failed.to_string()))
}

fn error(failure: Option<Failure>, text: String) -> io::Error {
    let reason = match failure {
        // zenoh has only a text for it.
        None if text.contains(TIMED_OUT) => FailureReason::NoAnswer,
        None if text.contains(NO_CERTIFICATE) => FailureReason::WrongCertificate,
        None => return io::Error::other(text),
        Some(Failure::Unreachable) => {
            let text = last_cause(&text).to_owned();
            return TransportError::of(FailureReason::Unreachable, text);
        }
        Some(Failure::UnknownAuthority) => FailureReason::UnknownAuthority,
        Some(Failure::Expired) => FailureReason::Expired,
        Some(Failure::OtherHost) => FailureReason::OtherHost,
        Some(Failure::UnknownHost) => FailureReason::UnknownHost,
        Some(Failure::WrongCertificate) => FailureReason::WrongCertificate,
        Some(Failure::RefusedCertificate) => FailureReason::RefusedCertificate,
    };
    TransportError::of(reason, text)
}

/// The error of the system in the text of a connection that could not be opened. In front of it, the text has the address
/// several times, and zenoh's list of errors, one for each address of the host.
fn last_cause(text: &str) -> &str {
    let cause = text.rsplit(": ").next().unwrap_or(text);
    cause.trim_end_matches(']')
}

/// The watch of the first endpoint that a warning names.
fn watch_of(text: &str) -> Option<u64> {
    let (_, config) = text.split_once('#')?;
    let config = config.split(|c| !is_of_config(c)).next()?;
    let mut settings = config.split(';').filter_map(|it| it.split_once('='));
    let (_, number) = settings.find(|(key, _)| *key == failures::WATCH)?;
    number.parse().ok()
}

/// Whether a character is one of the config of an endpoint, as this crate writes it.
fn is_of_config(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_=;".contains(c)
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Those of the routing are about networks of more than two.
        let is_reason = !metadata.target().starts_with("zenoh::net::routing");
        metadata.is_event() && *metadata.level() <= Level::WARN && is_reason
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        if let Some(watch) = watch_of(&text.0) {
            failures::note_text(watch, || cleaned(&text.0));
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A warning or an error without the configs of endpoints, the places in zenoh's source (` at FILE.rs:LINE.`), and a hint
/// that is about all reasons.
fn cleaned(text: &str) -> String {
    let mut text = text.replace(". Hint: increase the system open file limit.", "");
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find('#')) {
        let begin = from + found;
        let config = text.get(begin + 1..).unwrap_or_default();
        let length = config.find(|c| !is_of_config(c)).unwrap_or(config.len());
        match config.get(..length).is_some_and(|it| it.contains('=')) {
            true => text.replace_range(begin..=begin + length, ""),
            false => from = begin + 1,
        }
    }
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
    fn the_first_warning_about_an_endpoint_is_kept_and_shortened() {
        let [one, other] = [FailureLog::start(), FailureLog::start()];
        let [about_one, about_other] = [&one, &other].map(|it| format!("tls/a:1#{}", it.setting()));
        tracing::subscriber::with_default(Warnings, || {
            tracing::info!("no connection to {about_one}");
            tracing::warn!("no connection");
            tracing::warn!("no connection to {about_other}! {}", "é".repeat(LONGEST));
            tracing::warn!("no connection to {about_one}! refused");
            tracing::warn!("second: {about_one} {about_other}");
        });
        let text = |log: &FailureLog| log.take().map(|error| error.to_string());
        assert_eq!(text(&one).unwrap(), "no connection to tls/a:1! refused");
        let long = text(&other).unwrap();
        assert!(long.starts_with("no connection to tls/a:1! é"), "{long}");
        assert!(long.len() <= LONGEST + 1);
        assert_eq!((text(&one), text(&other)), (None, None));
    }

    #[test]
    fn each_failure_has_its_reason() {
        let all = [
            (Failure::Unreachable, FailureReason::Unreachable),
            (Failure::UnknownHost, FailureReason::UnknownHost),
            (Failure::UnknownAuthority, FailureReason::UnknownAuthority),
            (Failure::Expired, FailureReason::Expired),
            (Failure::OtherHost, FailureReason::OtherHost),
            (Failure::WrongCertificate, FailureReason::WrongCertificate),
            (
                Failure::RefusedCertificate,
                FailureReason::RefusedCertificate,
            ),
        ];
        for (failure, reason) in all {
            let error = error(Some(failure), "no connection".to_owned());
            assert_eq!(TransportError::reason(&error), Some(reason));
        }
        let of_text = |text: &str| TransportError::reason(&error(None, text.to_owned()));
        let late = "Unable to connect to tls/a:1! deadline has elapsed";
        assert_eq!(of_text(late), Some(FailureReason::NoAnswer));
        let without = "peer sent no certificates";
        assert_eq!(of_text(without), Some(FailureReason::WrongCertificate));
        assert_eq!(of_text("Unable to connect to tls/a:1! refused"), None);
    }

    #[test]
    fn a_connection_that_could_not_be_opened_has_the_error_of_the_system() {
        let refused = "Connection refused (os error 111)";
        for text in [
            // As zenoh writes it; `cleaned` takes the bracket away with a place in the source.
            "Unable to connect to tls/10.24.0.2:7447#watch=7! Can not create a new TLS link bound to 10.24.0.2: \
             [10.24.0.2:7447: Connection refused (os error 111) at /a/tcp.rs:98.] at /b/tcp.rs:133. at /c/unicast.rs:345.",
            "no link: [[::1]:7447: Connection refused (os error 111), 127.0.0.1:7447: Connection refused (os error 111)]",
            refused,
        ] {
            let error = error(Some(Failure::Unreachable), cleaned(text));
            assert_eq!(error.to_string(), refused);
            assert_eq!(
                TransportError::reason(&error),
                Some(FailureReason::Unreachable)
            );
        }
        // Of other reasons, the text has more than one part.
        let text = "invalid peer certificate: UnknownIssuer";
        let error = error(Some(Failure::UnknownAuthority), text.to_owned());
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_warning_is_about_the_first_endpoint_that_it_names() {
        for (text, expected) in [
            ("Unable to connect to tls/a:1#watch=7! refused", Some(7)),
            (
                "tls/a:1#tls_handshake_timeout_ms=5;watch=12: in use",
                Some(12),
            ),
            ("any of [tls/a:1#watch=3]", Some(3)),
            ("tls/a:1#other=3", None),
            ("tls/a:1#watch=x", None),
            ("watch=3", None),
        ] {
            assert_eq!(watch_of(text), expected, "{text}");
        }
    }

    #[test]
    fn configs_and_places_in_the_source_are_left_out() {
        for (text, expected) in [
            (
                "Unable to connect to tls/a:1! refused at /a/b.rs:20. at /c.rs:5.",
                "Unable to connect to tls/a:1! refused",
            ),
            (
                "no tls/a:1#a_b=1;watch=20! refused, nor tls/b:1#watch=21",
                "no tls/a:1! refused, nor tls/b:1",
            ),
            ("look at #1, at noon", "look at #1, at noon"),
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
