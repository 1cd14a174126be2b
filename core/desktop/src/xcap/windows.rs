//! Windows, with their frames.

use xcap::Window;

use super::lost;
use crate::error::Result;
use crate::own::OwnProcesses;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

/// Those with a title, the front one first.
pub(super) fn titled() -> Result<Vec<Titled>> {
    let own = OwnProcesses::find();
    let mut windows: Vec<(i32, Titled)> = Window::all()
        .map_err(lost)?
        .iter()
        // Windows may go while they are asked.
        .filter_map(|window| Some((window.z().ok()?, described(window, &own)?)))
        .collect();
    windows.sort_by_key(|(z, _)| std::cmp::Reverse(*z));
    Ok(windows.into_iter().map(|(_, window)| window).collect())
}

fn described(window: &Window, own: &OwnProcesses) -> Option<Titled> {
    let title = window.title().ok().filter(|title| !title.is_empty())?;
    let id = window.id().ok()?;
    (!window.is_minimized().ok()?).then(|| Titled {
        window: WindowId(u64::from(id)),
        title,
        is_own: own.own(window.pid().ok(), None),
    })
}

pub(super) fn by_id(id: WindowId) -> Result<Option<Window>> {
    let mut windows = Window::all().map_err(lost)?.into_iter();
    Ok(windows.find(|window| window.id().is_ok_and(|it| WindowId(u64::from(it)) == id)))
}

/// `None`: it is gone, or minimised.
pub(super) fn place(window: &Window) -> Option<Rect> {
    if window.is_minimized().ok()? {
        return None;
    }
    Some(Rect {
        x: window.x().ok()?,
        y: window.y().ok()?,
        width: window.width().ok()?,
        height: window.height().ok()?,
    })
}
