//! Which window lies over which, and bringing one to the front.

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::shape::{self, ConnectionExt as _, SK};
use x11rb::protocol::xproto::{
    CLIENT_MESSAGE_EVENT, ClientMessageData, ClientMessageEvent, ConfigureWindowAux,
    ConnectionExt as _, EventMask, GetGeometryReply, InputFocus, MapState, StackMode, Window,
    WindowClass,
};

use super::clients::{self, TitleRequest, manager_supports, process};
use super::{Result, X11, lost, unless_gone};
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;

/// The sender that a message to the window manager declares: a tool of the user's, not a program that
/// wants to be noticed. Managers let no others take the front.
const FROM_A_TOOL: u32 = 2;

/// Whether the window is to be seen, and no other window that is to be seen lies over the rectangle.
pub(super) fn is_in_front(x11: &X11, window: Window, rect: Rect) -> Result<bool> {
    let above = above(x11, window)?;
    above.map_or(Ok(false), |above| {
        Ok(covering(x11, &above, rect, Obstructed::Pointer)?.is_empty())
    })
}

/// Why a press in the rectangle may go to something else. `title`: a text that the window's title has to contain.
pub(super) fn press_obstacle(
    x11: &X11,
    window: Window,
    rect: Rect,
    title: Option<&str>,
) -> Result<Option<PressObstacle>> {
    // Sent first, so that the answer comes with those to the other questions.
    let asked = title.map(|_| clients::ask_title(x11, window)).transpose()?;
    if !is_in_front(x11, window, rect)? {
        return Ok(Some(PressObstacle::Covered));
    }
    let now = asked.map(TitleRequest::answer).transpose()?.flatten();
    Ok(PressObstacle::of_title(&now.unwrap_or_default(), title))
}

/// The parts of the rectangle over which windows of other programs lie.
pub(super) fn others_over(x11: &X11, window: Window, rect: Rect) -> Result<Vec<Rect>> {
    let above = above(x11, window)?.unwrap_or_default();
    let over = covering(x11, &above, rect, Obstructed::View)?;
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let own = process(x11, window)?;
    let mut others = Vec::new();
    for (window, part) in over {
        let is_own = own.is_some() && process(x11, window)? == own;
        others.extend(part.intersection(rect).filter(|_| !is_own));
    }
    Ok(others)
}

/// The windows right in the root that lie over a window, from back to front. `None`: the window is not to be seen.
fn above(x11: &X11, window: Window) -> Result<Option<Vec<Window>>> {
    let attributes = x11.connection.get_window_attributes(window).map_err(lost)?;
    let tree = x11.connection.query_tree(x11.root).map_err(lost)?;
    let is_viewable = unless_gone(attributes.reply())?
        .is_some_and(|attributes| attributes.map_state == MapState::VIEWABLE);
    // From back to front.
    let stack = tree.reply().map_err(lost)?.children;
    if !is_viewable {
        return Ok(None);
    }
    let Some(outermost) = outermost(x11, window)? else {
        return Ok(None);
    };
    let at = stack.iter().position(|&other| other == outermost);
    Ok(at.map(|at| stack[at + 1..].to_vec()))
}

/// Brings a window to the front and gives it the keyboard: by asking the window manager, or where
/// there is none, by doing it.
pub(super) fn raise(x11: &X11, window: Window) -> Result<()> {
    let connection = &x11.connection;
    if manager_supports(x11, x11.atoms._NET_ACTIVE_WINDOW)? {
        let event = ClientMessageEvent {
            response_type: CLIENT_MESSAGE_EVENT,
            format: 32,
            sequence: 0,
            window,
            type_: x11.atoms._NET_ACTIVE_WINDOW,
            data: ClientMessageData::from([FROM_A_TOOL, x11rb::CURRENT_TIME, 0, 0, 0]),
        };
        let to = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        let sent = connection.send_event(false, x11.root, to, event);
        return unless_gone(sent.map_err(lost)?.check()).map(drop);
    }
    let Some(outermost) = outermost(x11, window)? else {
        return Ok(());
    };
    let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
    let raised = connection.configure_window(outermost, &above);
    unless_gone(raised.map_err(lost)?.check())?;
    let focused = connection.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME);
    // A window that is not to be seen can't have the keyboard: then it stays without.
    let _ = focused.map_err(lost)?.check();
    connection.flush().map_err(lost)
}

/// The ancestor of a window that lies right in the root: the frame that its manager put it into, or
/// itself. `None`: the window is gone.
fn outermost(x11: &X11, mut window: Window) -> Result<Option<Window>> {
    loop {
        let tree = x11.connection.query_tree(window).map_err(lost)?;
        match unless_gone(tree.reply())? {
            None => return Ok(None),
            Some(tree) if tree.parent == x11.root => return Ok(Some(window)),
            // The root itself has no parent.
            Some(tree) if tree.parent == x11rb::NONE => return Ok(None),
            Some(tree) => window = tree.parent,
        }
    }
}

/// What a window obstructs that lies over another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Obstructed {
    /// The view: it is drawn.
    View,
    /// The pointer: it gets the clicks, also where nothing of it is drawn.
    Pointer,
}

/// Those of these windows, which lie right in the root, that cover some of the rectangle, and where they lie.
fn covering(
    x11: &X11,
    windows: &[Window],
    rect: Rect,
    obstructed: Obstructed,
) -> Result<Vec<(Window, Rect)>> {
    let asked: Result<Vec<_>> = windows
        .iter()
        .map(|&window| {
            let attributes = x11.connection.get_window_attributes(window).map_err(lost)?;
            let geometry = x11.connection.get_geometry(window).map_err(lost)?;
            Ok((window, attributes, geometry))
        })
        .collect();
    let mut over = Vec::new();
    for (window, attributes, geometry) in asked? {
        let attributes = unless_gone(attributes.reply())?;
        let geometry = unless_gone(geometry.reply())?;
        let (Some(attributes), Some(geometry)) = (attributes, geometry) else {
            continue;
        };
        let is_seen = attributes.map_state == MapState::VIEWABLE
            && (attributes.class == WindowClass::INPUT_OUTPUT || obstructed == Obstructed::Pointer);
        if is_seen && outside(&geometry).intersection(rect).is_some() {
            over.push((window, geometry));
        }
    }
    let mut covering = Vec::new();
    for (window, geometry) in over {
        if shape_covers(x11, window, &geometry, rect)? {
            covering.push((window, outside(&geometry)));
        }
    }
    Ok(covering)
}

/// A window with its border.
fn outside(geometry: &GetGeometryReply) -> Rect {
    let border = 2 * u32::from(geometry.border_width);
    Rect {
        x: i32::from(geometry.x),
        y: i32::from(geometry.y),
        width: u32::from(geometry.width) + border,
        height: u32::from(geometry.height) + border,
    }
}

/// Whether a window whose rectangle overlaps does so with its shape too. One that no pointer can
/// meet covers nothing: such are the overlays of compositing managers.
fn shape_covers(
    x11: &X11,
    window: Window,
    geometry: &GetGeometryReply,
    rect: Rect,
) -> Result<bool> {
    let known = x11
        .connection
        .extension_information(shape::X11_EXTENSION_NAME);
    if known.map_err(lost)?.is_none() {
        return Ok(true);
    }
    let seen = x11.connection.shape_get_rectangles(window, SK::BOUNDING);
    let met = x11.connection.shape_get_rectangles(window, SK::INPUT);
    let (seen, met) = (seen.map_err(lost)?, met.map_err(lost)?);
    let (Some(seen), Some(met)) = (unless_gone(seen.reply())?, unless_gone(met.reply())?) else {
        return Ok(false);
    };
    // Shapes begin where the window's inside does.
    let inside = i32::from(geometry.border_width);
    let [left, top] = [geometry.x, geometry.y].map(|at| i32::from(at) + inside);
    let overlaps = |part: &x11rb::protocol::xproto::Rectangle| {
        let part = Rect {
            x: left + i32::from(part.x),
            y: top + i32::from(part.y),
            width: u32::from(part.width),
            height: u32::from(part.height),
        };
        part.intersection(rect).is_some()
    };
    Ok(!met.rectangles.is_empty() && seen.rectangles.iter().any(overlaps))
}
