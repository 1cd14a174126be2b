//! The compositor's globals, for those who look at them once.

use wayland_client::globals::GlobalListContents;
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, QueueHandle};

/// Ignores globals that come and go later.
pub(super) struct IgnoredChanges;

impl<S> Dispatch<WlRegistry, GlobalListContents, S> for IgnoredChanges
where
    S: Dispatch<WlRegistry, GlobalListContents>,
{
    fn event(
        _: &mut S,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<S>,
    ) {
    }
}
