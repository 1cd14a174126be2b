//! Where a window's inside lies.

use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply, GetWindowAttributesReply,
    MapState, TranslateCoordinatesReply, Window,
};
use x11rb::rust_connection::RustConnection;

use super::{Result, X11, lost, unless_gone};
use crate::rect::Rect;

/// The question, sent but not answered yet.
pub(super) struct PlaceRequest<'c> {
    attributes: Cookie<'c, RustConnection, GetWindowAttributesReply>,
    geometry: Cookie<'c, RustConnection, GetGeometryReply>,
    corner: Cookie<'c, RustConnection, TranslateCoordinatesReply>,
    state: Cookie<'c, RustConnection, GetPropertyReply>,
}

/// Asks.
pub(super) fn ask(x11: &X11, window: Window) -> Result<PlaceRequest<'_>> {
    let (connection, state) = (&x11.connection, x11.atoms._NET_WM_STATE);
    Ok(PlaceRequest {
        attributes: connection.get_window_attributes(window).map_err(lost)?,
        geometry: connection.get_geometry(window).map_err(lost)?,
        corner: connection
            .translate_coordinates(window, x11.root, 0, 0)
            .map_err(lost)?,
        state: connection
            .get_property(false, window, state, AtomEnum::ATOM, 0, 64)
            .map_err(lost)?,
    })
}

impl PlaceRequest<'_> {
    /// Waits for the answer; `None`: the window is gone, or not visible.
    pub(super) fn answer(self, x11: &X11) -> Result<Option<Rect>> {
        let attributes = unless_gone(self.attributes.reply())?;
        let geometry = unless_gone(self.geometry.reply())?;
        let corner = unless_gone(self.corner.reply())?;
        let state = unless_gone(self.state.reply())?;
        let (Some(attributes), Some(geometry), Some(corner), Some(state)) =
            (attributes, geometry, corner, state)
        else {
            return Ok(None);
        };
        // Some managers leave minimised windows mapped, and only mark them as hidden.
        let mut states = state.value32().into_iter().flatten();
        if attributes.map_state != MapState::VIEWABLE
            || states.any(|state| state == x11.atoms._NET_WM_STATE_HIDDEN)
        {
            return Ok(None);
        }
        Ok(Some(Rect {
            x: i32::from(corner.dst_x),
            y: i32::from(corner.dst_y),
            width: u32::from(geometry.width),
            height: u32::from(geometry.height),
        }))
    }
}
