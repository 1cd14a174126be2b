//! The windows of programs, and their titles.

use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, GetPropertyReply, GetWindowAttributesReply, MapState, Window,
};
use x11rb::rust_connection::RustConnection;

use super::{Result, X11, id, lost, unless_gone};
use crate::window::Titled;

/// How deep under the root a program's window may lie: managers put it into frames.
const DEPTH: usize = 4;

/// So much of a title is read, in units of four bytes.
const TITLE_WORDS: u32 = 256;

/// Windows with a title that are to be seen, the front one first.
pub(super) fn windows(x11: &X11) -> Result<Vec<Titled>> {
    let mut titled = Vec::new();
    if let Some(clients) = managed(x11)? {
        for (window, look) in clients.iter().zip(look_at(x11, &clients)?) {
            titled.extend(look.titled(*window));
        }
    } else {
        walk(x11, x11.root, DEPTH, &mut titled)?;
    }
    Ok(titled)
}

/// Whether a window manager runs that declares in a property of the root what it supports.
pub(super) fn manager_supports(x11: &X11, feature: u32) -> Result<bool> {
    let supported = list(x11, x11.root, x11.atoms._NET_SUPPORTED, AtomEnum::ATOM)?;
    Ok(supported.contains(&feature) && has_manager(x11)?)
}

/// The windows that the window manager manages, the front one first; `None`: there is no manager
/// that declares.
fn managed(x11: &X11) -> Result<Option<Vec<Window>>> {
    if !has_manager(x11)? {
        return Ok(None);
    }
    let (stacked, mapped) = (
        x11.atoms._NET_CLIENT_LIST_STACKING,
        x11.atoms._NET_CLIENT_LIST,
    );
    // The second is sorted by age, which is better than nothing.
    for property in [stacked, mapped] {
        if manager_supports(x11, property)? {
            let mut clients = list(x11, x11.root, property, AtomEnum::WINDOW)?;
            clients.reverse();
            return Ok(Some(clients));
        }
    }
    Ok(None)
}

/// Whether a window manager runs. One that has gone leaves its properties behind, but not its
/// window.
fn has_manager(x11: &X11) -> Result<bool> {
    let property = x11.atoms._NET_SUPPORTING_WM_CHECK;
    let Some(&window) = list(x11, x11.root, property, AtomEnum::WINDOW)?.first() else {
        return Ok(false);
    };
    Ok(list(x11, window, property, AtomEnum::WINDOW)?.first() == Some(&window))
}

/// A property that is a list of numbers; empty when there is none.
fn list(x11: &X11, window: Window, property: u32, kind: AtomEnum) -> Result<Vec<u32>> {
    let reply = x11
        .connection
        .get_property(false, window, property, kind, 0, 4096)
        .map_err(lost)?;
    let reply = unless_gone(reply.reply())?;
    Ok(reply.map_or_else(Vec::new, |reply| {
        reply.value32().into_iter().flatten().collect()
    }))
}

/// Without a manager: every window with a title, and under those without one, their children.
fn walk(x11: &X11, window: Window, depth: usize, titled: &mut Vec<Titled>) -> Result<()> {
    let tree = x11.connection.query_tree(window).map_err(lost)?;
    let Some(tree) = unless_gone(tree.reply())? else {
        return Ok(());
    };
    let mut children = tree.children;
    children.reverse();
    for (&child, look) in children.iter().zip(look_at(x11, &children)?) {
        if !look.is_viewable {
            continue;
        }
        match look.titled(child) {
            Some(found) => titled.push(found),
            None if depth > 1 => walk(x11, child, depth - 1, titled)?,
            None => {}
        }
    }
    Ok(())
}

/// What a window looks like from outside.
struct Outside {
    is_viewable: bool,
    title: Option<String>,
    is_own: bool,
}

impl Outside {
    fn titled(self, window: Window) -> Option<Titled> {
        let title = self.title.filter(|_| self.is_viewable)?;
        Some(Titled {
            window: id(window),
            title,
            is_own: self.is_own,
        })
    }
}

type PropertyRequest<'c, R> = Cookie<'c, RustConnection, R>;

/// The question for the title of a window, sent but not answered yet.
pub(super) struct TitleRequest<'c> {
    new: PropertyRequest<'c, GetPropertyReply>,
    old: PropertyRequest<'c, GetPropertyReply>,
}

/// Asks for the title of a window.
pub(super) fn ask_title(x11: &X11, window: Window) -> Result<TitleRequest<'_>> {
    Ok(TitleRequest {
        new: ask_property(x11, window, x11.atoms._NET_WM_NAME)?,
        old: ask_property(x11, window, AtomEnum::WM_NAME.into())?,
    })
}

impl TitleRequest<'_> {
    /// Waits for the answer; `None`: the window has no title, or is gone.
    pub(super) fn answer(self) -> Result<Option<String>> {
        let new = unless_gone(self.new.reply())?.as_ref().and_then(text);
        let old = unless_gone(self.old.reply())?.as_ref().and_then(text);
        Ok(new.or(old))
    }
}

fn ask_property(
    x11: &X11,
    window: Window,
    property: u32,
) -> Result<PropertyRequest<'_, GetPropertyReply>> {
    let asked = x11
        .connection
        .get_property(false, window, property, AtomEnum::ANY, 0, TITLE_WORDS);
    asked.map_err(lost)
}

/// Examines windows, in one round trip.
fn look_at(x11: &X11, windows: &[Window]) -> Result<Vec<Outside>> {
    type Question<'c> = (
        PropertyRequest<'c, GetWindowAttributesReply>,
        TitleRequest<'c>,
        [PropertyRequest<'c, GetPropertyReply>; 2],
    );
    let asked: Result<Vec<Question<'_>>> = windows
        .iter()
        .map(|&window| {
            Ok((
                x11.connection.get_window_attributes(window).map_err(lost)?,
                ask_title(x11, window)?,
                [
                    ask_property(x11, window, x11.atoms._NET_WM_PID)?,
                    ask_property(x11, window, AtomEnum::WM_CLIENT_MACHINE.into())?,
                ],
            ))
        })
        .collect();
    asked?
        .into_iter()
        .map(|(attributes, title, [process, machine])| {
            let attributes = unless_gone(attributes.reply())?;
            let title = title.answer()?;
            let process = unless_gone(process.reply())?.as_ref().and_then(number);
            let machine = unless_gone(machine.reply())?.as_ref().and_then(text);
            Ok(Outside {
                is_viewable: attributes.is_some_and(|it| it.map_state == MapState::VIEWABLE),
                title,
                is_own: x11.own.own(process, machine.as_deref()),
            })
        })
        .collect()
}

/// The process that a window, or one in it, declares; `None`: none does, or it is gone.
pub(super) fn process(x11: &X11, window: Window) -> Result<Option<u32>> {
    let mut level = vec![window];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for window in level {
            if let Some(&process) =
                list(x11, window, x11.atoms._NET_WM_PID, AtomEnum::CARDINAL)?.first()
            {
                return Ok(Some(process));
            }
            let tree = x11.connection.query_tree(window).map_err(lost)?;
            below.extend(unless_gone(tree.reply())?.map_or_else(Vec::new, |it| it.children));
        }
        level = below;
    }
    Ok(None)
}

/// A property as a number; `None`: there is none.
fn number(property: &GetPropertyReply) -> Option<u32> {
    property.value32()?.next()
}

/// A property as text; `None`: there is none, or it is empty.
fn text(property: &GetPropertyReply) -> Option<String> {
    let bytes = &property.value;
    if bytes.is_empty() {
        return None;
    }
    Some(if property.type_ == u32::from(AtomEnum::STRING) {
        // Latin-1, as X11 has it; but many programs write UTF-8 and call it a string.
        match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
        }
    } else {
        String::from_utf8_lossy(bytes).into_owned()
    })
}
