//! Sessions: what Mutter does for this program until it ends them, or a person does.

use std::collections::HashMap;
use std::ops::ControlFlow;
#[cfg(feature = "input")]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use flowpipe_process::patience::Patience;
use zbus::message::Message;
use zbus::names::BusName;
use zbus::zvariant::{OwnedObjectPath, Value};

use crate::bus::{BUS, Bus, LIMIT, Object};
#[cfg(feature = "input")]
use crate::libei::NoSocket;

/// Pictures of monitors, and with control places on them.
pub(super) struct MutterSession {
    /// At the end of the connection, Mutter ends the session.
    #[cfg_attr(not(feature = "input"), expect(dead_code, reason = "it is kept"))]
    bus: Bus,
    /// One for each monitor that it was asked for.
    streams: Vec<OwnedObjectPath>,
    /// Of the control.
    #[cfg(feature = "input")]
    remote: Option<OwnedObjectPath>,
    has_ended: Arc<AtomicBool>,
    nodes: Receiver<Node>,
}

/// Where pictures come from.
struct Node {
    stream: OwnedObjectPath,
    number: u32,
}

const CAST: Object<'_> = Object::main(
    "org.gnome.Mutter.ScreenCast",
    "/org/gnome/Mutter/ScreenCast",
);
const CAST_SESSION: &str = "org.gnome.Mutter.ScreenCast.Session";
pub(super) const REMOTE: Object<'_> = Object::main(
    "org.gnome.Mutter.RemoteDesktop",
    "/org/gnome/Mutter/RemoteDesktop",
);
#[cfg(feature = "input")]
const REMOTE_SESSION: &str = "org.gnome.Mutter.RemoteDesktop.Session";
/// What is heard on the bus.
const RULE: &str = "type='signal',path_namespace='/org/gnome/Mutter'";
/// The pointer is not in the pictures.
const HIDDEN_CURSOR: u32 = 0;
/// It is not in the pictures, and its place comes beside them.
#[cfg(feature = "input")]
const CURSOR_METADATA: u32 = 2;
impl MutterSession {
    /// Begins to send pictures of a monitor, of which this is the connector.
    pub(super) fn capture(bus: Bus, connector: &str) -> zbus::Result<Self> {
        let session: OwnedObjectPath = bus.call(CAST, "CreateSession", &properties([]))?;
        let cast = below(CAST, &session, CAST_SESSION);
        let streams = vec![record(&bus, cast, connector, HIDDEN_CURSOR)?];
        let signals = Signals::watch(&bus, [session.clone()].into(), streams.clone())?;
        bus.call::<_, ()>(cast, "Start", &())?;
        Ok(Self {
            bus,
            streams,
            #[cfg(feature = "input")]
            remote: None,
            has_ended: signals.has_ended,
            nodes: signals.nodes,
        })
    }

    /// Takes control of the pointer, with places on monitors, of which these are the connectors, and reports of where it is.
    #[cfg(feature = "input")]
    pub(super) fn control<'a>(
        bus: Bus,
        connectors: impl Iterator<Item = &'a str>,
    ) -> zbus::Result<Self> {
        let remote: OwnedObjectPath = bus.call(REMOTE, "CreateSession", &())?;
        let control = below(REMOTE, &remote, REMOTE_SESSION);
        let id = bus.property(control, "SessionId")?;
        let id = Value::from(id);
        let session: OwnedObjectPath = bus.call(
            CAST,
            "CreateSession",
            &properties([("remote-desktop-session-id", id)]),
        )?;
        let cast = below(CAST, &session, CAST_SESSION);
        let streams: zbus::Result<Vec<OwnedObjectPath>> = connectors
            .map(|it| record(&bus, cast, it, CURSOR_METADATA))
            .collect();
        let streams = streams?;
        let sessions = [remote.clone(), session.clone()];
        let signals = Signals::watch(&bus, sessions.into(), streams.clone())?;
        bus.call::<_, ()>(control, "Start", &())?;
        Ok(Self {
            bus,
            streams,
            remote: Some(remote),
            has_ended: signals.has_ended,
            nodes: signals.nodes,
        })
    }

    /// Waits, once, until PipeWire knows where the pictures of each monitor come from. `None`: it takes too long, or the
    /// session has ended.
    pub(super) fn nodes(&self) -> Option<Vec<u32>> {
        let mut patience = Patience::new(LIMIT);
        let mut nodes = HashMap::new();
        loop {
            let found = self.streams.iter().map(|it| nodes.get(it).copied());
            if let Some(all) = found.collect() {
                return Some(all);
            }
            match patience.wait(|step| self.nodes.recv_timeout(step))? {
                Ok(node) => _ = nodes.insert(node.stream, node.number),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Whether a person, or the compositor, has ended it.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    #[cfg(feature = "input")]
    pub(super) fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The object that moves and presses.
    #[cfg(feature = "input")]
    pub(super) fn remote(&self) -> Option<Object<'_>> {
        let path = self.remote.as_ref()?;
        Some(below(REMOTE, path, REMOTE_SESSION))
    }

    /// A socket for emulated input on the monitors that it was asked for.
    ///
    /// # Errors
    /// Why there is none.
    #[cfg(feature = "input")]
    pub(super) fn connect_to_eis(&self) -> std::result::Result<OwnedFd, NoSocket> {
        const POINTER_AND_KEYBOARD: u32 = 3;
        let failed = |error: zbus::Error| NoSocket::of(&error, "Mutter");
        let gone = || zbus::Error::Failure("its session has ended".to_owned());
        let remote = self.remote().ok_or_else(|| failed(gone()))?;
        let types = Value::from(POINTER_AND_KEYBOARD);
        let question = &properties([("device-types", types)]);
        let socket: zbus::zvariant::OwnedFd = self
            .bus
            .call(remote, "ConnectToEIS", question)
            .map_err(failed)?;
        Ok(socket.into())
    }

    /// What names places on the monitors that it was asked for, in their order.
    #[cfg(feature = "input")]
    pub(super) fn streams(&self) -> &[OwnedObjectPath] {
        &self.streams
    }
}

/// What is heard of a session.
struct Signals {
    has_ended: Arc<AtomicBool>,
    nodes: Receiver<Node>,
}

impl Signals {
    /// Listens until the connection ends.
    fn watch(
        bus: &Bus,
        sessions: Vec<OwnedObjectPath>,
        streams: Vec<OwnedObjectPath>,
    ) -> zbus::Result<Self> {
        let (sender, nodes) = channel();
        let has_ended = bus.listen("mutter-signals", &[RULE], || {
            // Another program may send the same. Mutter has all of its names on one connection.
            let owner: String = bus.call(BUS, "GetNameOwner", &BusName::try_from(CAST.service)?)?;
            Ok(
                move |signal: &Message| match what(signal, &owner, &sessions, &streams) {
                    Some(Signal::Node(node)) => {
                        report(&sender, node);
                        ControlFlow::Continue(())
                    }
                    Some(Signal::Closed) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                },
            )
        })?;
        Ok(Self { has_ended, nodes })
    }
}

enum Signal {
    Node(Node),
    Closed,
}

/// What a signal says of a session. `None`: nothing, or it is of others.
fn what(
    message: &Message,
    owner: &str,
    sessions: &[OwnedObjectPath],
    streams: &[OwnedObjectPath],
) -> Option<Signal> {
    let header = message.header();
    if header.sender()?.as_str() != owner {
        return None;
    }
    let of = |paths: &[OwnedObjectPath]| {
        let path = header.path()?;
        paths
            .iter()
            .find(|it| it.as_str() == path.as_str())
            .cloned()
    };
    match header.member()?.as_str() {
        "PipeWireStreamAdded" => Some(Signal::Node(Node {
            stream: of(streams)?,
            number: message.body().deserialize().ok()?,
        })),
        "Closed" => of(sessions).map(|_| Signal::Closed),
        _ => None,
    }
}

fn report(nodes: &Sender<Node>, node: Node) {
    // Nobody waits for it any more.
    let _ = nodes.send(node);
}

/// Has pictures of a monitor prepared. Returns what they are called.
fn record(
    bus: &Bus,
    cast: Object<'_>,
    connector: &str,
    cursor: u32,
) -> zbus::Result<OwnedObjectPath> {
    let cursor = ("cursor-mode", Value::from(cursor));
    bus.call(cast, "RecordMonitor", &(connector, properties([cursor])))
}

fn properties<const COUNT: usize>(
    properties: [(&'static str, Value<'static>); COUNT],
) -> HashMap<&'static str, Value<'static>> {
    HashMap::from(properties)
}

/// An object that a service has created.
pub(super) fn below<'a>(
    service: Object<'a>,
    path: &'a OwnedObjectPath,
    interface: &'a str,
) -> Object<'a> {
    Object {
        path: path.as_str(),
        interface,
        ..service
    }
}
