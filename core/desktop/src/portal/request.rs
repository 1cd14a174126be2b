//! Requests: what the portal answers when a person has decided.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Serialize;
use zbus::zvariant::{DynamicType, OwnedObjectPath, OwnedValue, Value};

use super::signals::Response;
use crate::bus::{Bus, Object};

/// What comes with an answer, by name.
pub(super) type Results = HashMap<String, OwnedValue>;
/// What is asked for, by name.
pub(super) type Options<'a> = HashMap<&'a str, Value<'a>>;

/// How long it is waited for an answer.
pub(super) struct Patience<'a> {
    pub longest: Duration,
    /// Whether nobody waits any more.
    pub is_over: &'a dyn Fn() -> bool,
}

/// How often it is checked whether the session has ended meanwhile, or nobody waits any more.
const CHECK: Duration = Duration::from_millis(100);

/// Asks for something. Returns what comes with the answer.
///
/// # Errors
/// Why it is not granted.
pub(super) fn ask<Q>(
    bus: &Bus,
    (object, method): (Object<'_>, &str),
    question: &Q,
    responses: &Receiver<Response>,
    has_ended: &dyn Fn() -> bool,
    patience: Patience<'_>,
) -> Result<Results, String>
where
    Q: Serialize + DynamicType,
{
    let request: OwnedObjectPath = bus
        .call(object, method, question)
        .map_err(|error| format!("the desktop portal refuses ({method}): {error}"))?;
    let began = Instant::now();
    loop {
        match responses.recv_timeout(CHECK) {
            Ok(response) if response.path == request.as_str() => {
                return granted(method, response.answer);
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) if has_ended() => {
                return Err(format!(
                    "the desktop portal has ended the session before it answered ({method})"
                ));
            }
            Err(_) => {}
        }
        if (patience.is_over)() {
            return Err(format!(
                "the run has ended before the desktop portal answered ({method})"
            ));
        }
        if began.elapsed() > patience.longest {
            return Err(format!(
                "the desktop portal has not answered within {} s ({method}): has its dialog stayed open?",
                patience.longest.as_secs()
            ));
        }
    }
}

fn granted(method: &str, answer: Option<(u32, Results)>) -> Result<Results, String> {
    match answer {
        Some((0, results)) => Ok(results),
        Some((1, _)) => Err(
            "it was refused in the dialog of the desktop portal: start again and allow it"
                .to_owned(),
        ),
        Some((code, _)) => Err(format!(
            "the desktop portal ended the request ({method}, code {code})"
        )),
        None => Err(unreadable(method)),
    }
}

/// What it has answered makes no sense.
pub(super) fn unreadable(what: &str) -> String {
    format!("the desktop portal answers what can't be read ({what})")
}
