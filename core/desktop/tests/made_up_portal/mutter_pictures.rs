//! Pictures of Mutter's screen for a portal that is made up.

use std::collections::HashMap;

use zbus::blocking::{Connection, MessageIterator, connection::Builder};
use zbus::zvariant::{OwnedObjectPath, Value};

use crate::mutter::{CONNECTOR, Mutter};

const CAST: &str = "org.gnome.Mutter.ScreenCast";
/// The cursor mode in which the pointer's place is reported beside the pictures.
pub const CURSOR_METADATA: u32 = 2;

/// Has Mutter show its monitor, with the pointer in this cursor mode. Returns the connection, with which it ends, and
/// PipeWire's number of the pictures.
pub fn shown(mutter: &Mutter, cursor_mode: u32) -> (Connection, u32) {
    let address = mutter.bus();
    let bus = Builder::address(address.as_str()).unwrap().build().unwrap();
    let messages = MessageIterator::from(&bus);
    let rule = format!("type='signal',sender='{CAST}'");
    let dbus = "org.freedesktop.DBus";
    bus.call_method(
        Some(dbus),
        "/org/freedesktop/DBus",
        Some(dbus),
        "AddMatch",
        &rule,
    )
    .unwrap();
    let none: HashMap<&str, Value<'_>> = HashMap::new();
    let created = bus.call_method(
        Some(CAST),
        "/org/gnome/Mutter/ScreenCast",
        Some(CAST),
        "CreateSession",
        &none,
    );
    let session: OwnedObjectPath = created.unwrap().body().deserialize().unwrap();
    let interface = format!("{CAST}.Session");
    let call = |method: &str, body: &(&str, HashMap<&str, Value<'_>>)| {
        bus.call_method(Some(CAST), &session, Some(interface.as_str()), method, body)
    };
    let cursor = HashMap::from([("cursor-mode", Value::from(cursor_mode))]);
    call("RecordMonitor", &(CONNECTOR, cursor)).unwrap();
    bus.call_method(Some(CAST), &session, Some(interface.as_str()), "Start", &())
        .unwrap();
    let mut nodes = messages.map_while(Result::ok).filter_map(|message| {
        let member = message.header().member()?.to_string();
        (member == "PipeWireStreamAdded").then(|| message.body().deserialize().unwrap())
    });
    let node = nodes.next().unwrap();
    drop(nodes);
    (bus, node)
}
