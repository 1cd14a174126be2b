//! Which window gets the keys.

use x11rb::protocol::xproto::{ConnectionExt as _, InputFocus, Window};

use super::{Result, X11, lost, unless_gone};

/// Windows lie in each other no deeper than this, as far as they are followed. No toolkit comes near it.
const DEPTH: usize = 64;

/// Whether keys that are pressed now go to the window or to one in it.
pub(super) fn has_keyboard(x11: &X11, window: Window) -> Result<bool> {
    let focus = x11.connection.get_input_focus().map_err(lost)?;
    let focus = focus.reply().map_err(lost)?.focus;
    // They stand for no window. The first one drops all keys, the second one means the root.
    let is_none = [InputFocus::NONE, InputFocus::POINTER_ROOT]
        .iter()
        .any(|&none| u32::from(none) == focus);
    if !is_none && with_ancestors(x11, focus)?.contains(&window) {
        return Ok(true);
    }
    // Keys of a window around it go to the one in it that is under the pointer.
    if is_none || with_ancestors(x11, window)?.contains(&focus) {
        return is_under_pointer(x11, window);
    }
    Ok(false)
}

/// A window, and all that it lies in. Nothing, if it is gone.
fn with_ancestors(x11: &X11, window: Window) -> Result<Vec<Window>> {
    let mut chain = Vec::new();
    let mut next = window;
    while chain.len() < DEPTH {
        let tree = x11.connection.query_tree(next).map_err(lost)?;
        let Some(tree) = unless_gone(tree.reply())? else {
            return Ok(Vec::new());
        };
        chain.push(next);
        if tree.parent == x11rb::NONE {
            break;
        }
        next = tree.parent;
    }
    Ok(chain)
}

/// Whether the pointer is over the window or over one in it, and no other window is in between.
fn is_under_pointer(x11: &X11, window: Window) -> Result<bool> {
    let mut at = x11.root;
    for _ in 0..DEPTH {
        if at == window {
            return Ok(true);
        }
        let pointer = x11.connection.query_pointer(at).map_err(lost)?;
        match unless_gone(pointer.reply())? {
            Some(pointer) if pointer.child != x11rb::NONE => at = pointer.child,
            _ => break,
        }
    }
    Ok(false)
}
