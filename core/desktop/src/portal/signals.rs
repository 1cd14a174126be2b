//! What the portal says by signals: the person's answers, and that a session has ended.

use std::io::PipeReader;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use zbus::message::Message;
use zbus::names::BusName;

use super::SERVICE;
use super::request::Results;
use crate::bus::{BUS, Bus};

/// What is heard on the bus.
const RULES: [&str; 2] = [
    "type='signal',sender='org.freedesktop.portal.Desktop',path_namespace='/org/freedesktop/portal/desktop'",
    "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.portal.Desktop'",
];

/// What is heard of a session.
pub(super) struct PortalSignals {
    pub has_ended: Arc<AtomicBool>,
    /// Hangs up when it has ended, and when this process has.
    #[cfg_attr(
        not(feature = "input"),
        expect(dead_code, reason = "the mouse alone shares it")
    )]
    pub end: PipeReader,
    pub responses: Receiver<Response>,
}

/// The answer to a request.
pub(super) struct Response {
    /// Of the request.
    pub path: String,
    /// 0: it was granted. 1: a person refused. `None`: it can't be read.
    pub answer: Option<(u32, Results)>,
}

impl PortalSignals {
    /// Listens until the connection ends. `session`: the path that the session has, or will have.
    pub(super) fn watch(bus: &Bus, session: String) -> zbus::Result<Self> {
        let (sender, responses) = channel();
        let (end, held) = std::io::pipe()?;
        let has_ended = bus.listen("portal-signals", &RULES, || {
            // Another program may send the same to this one alone.
            let owner: String = bus.call(BUS, "GetNameOwner", &BusName::try_from(SERVICE)?)?;
            Ok(move |signal: &Message| {
                // It is closed with this thread.
                let _ = &held;
                match what(signal, &owner, &session) {
                    Some(PortalSignal::Response(response)) => {
                        report(&sender, response);
                        ControlFlow::Continue(())
                    }
                    Some(PortalSignal::End) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            })
        })?;
        Ok(Self {
            has_ended,
            end,
            responses,
        })
    }
}

enum PortalSignal {
    Response(Response),
    /// The portal, or a person, has ended the session; or the portal itself has ended.
    End,
}

/// What a signal says. `None`: nothing, or it is of others.
fn what(message: &Message, owner: &str, session: &str) -> Option<PortalSignal> {
    let header = message.header();
    let sender = header.sender()?.as_str();
    let path = header.path()?.as_str();
    match header.member()?.as_str() {
        "Response" if sender == owner => Some(PortalSignal::Response(Response {
            path: path.to_owned(),
            answer: message.body().deserialize().ok(),
        })),
        "Closed" if sender == owner && path == session => Some(PortalSignal::End),
        "NameOwnerChanged" if sender == BUS.service => {
            let (name, old, _): (String, String, String) = message.body().deserialize().ok()?;
            (name == SERVICE && old == owner).then_some(PortalSignal::End)
        }
        _ => None,
    }
}

fn report(responses: &Sender<Response>, response: Response) {
    // Nobody waits for it any more.
    let _ = responses.send(response);
}
