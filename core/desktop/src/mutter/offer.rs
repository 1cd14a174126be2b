//! What Mutter offers.

use zbus::zvariant::OwnedObjectPath;

use super::lost;
use super::session::{REMOTE, below};
use crate::bus::Bus;
use crate::error::Result;

/// Whether the Mutter of the session that this program runs in gives sockets for emulated input. A session that is not
/// started does nothing, and ends with the connection.
///
/// # Errors
/// [`DesktopError`](crate::DesktopError) when it does not answer.
pub fn offers_libei() -> Result<bool> {
    let bus = Bus::connect(None)?;
    let described = || {
        let session: OwnedObjectPath = bus.call(REMOTE, "CreateSession", &())?;
        let described = below(REMOTE, &session, "org.freedesktop.DBus.Introspectable");
        bus.call(described, "Introspect", &())
    };
    let described: String = described().map_err(lost)?;
    Ok(described.contains("\"ConnectToEIS\""))
}
