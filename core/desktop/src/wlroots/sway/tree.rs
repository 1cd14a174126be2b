//! Sway's tree of monitors, workspaces and windows.

use serde::Deserialize;

use crate::own::OwnProcesses;
use crate::rect::Rect;
use crate::window::{Titled, WindowId};

/// The windows that are to be seen, the front one first.
#[derive(Debug)]
pub struct Tree {
    windows: Vec<Window>,
}

/// A window that is to be seen.
#[derive(Clone, Debug)]
struct Window {
    id: WindowId,
    title: String,
    process: Option<u32>,
    /// With its frame.
    outside: Rect,
    /// Without its frame and title.
    inside: Rect,
    has_keyboard: bool,
}

/// One thing in the tree, as sway writes it: a window, or what has windows in it.
#[derive(Deserialize)]
struct Node {
    id: u64,
    name: Option<String>,
    rect: Area,
    /// Of a window without its frame and title, from the corner of `rect`.
    window_rect: Area,
    /// Of a title above a window, which is not in `rect`.
    deco_rect: Area,
    #[serde(default)]
    focused: bool,
    /// Of windows alone.
    visible: Option<bool>,
    pid: Option<i64>,
    #[serde(default)]
    fullscreen_mode: u8,
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    floating_nodes: Vec<Node>,
}

#[derive(Clone, Copy, Deserialize)]
struct Area {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
}

impl From<Area> for Rect {
    fn from(area: Area) -> Self {
        let length = |length: i32| u32::try_from(length).unwrap_or(0);
        Self {
            x: area.x,
            y: area.y,
            width: length(area.width),
            height: length(area.height),
        }
    }
}

/// Above what a window is, from the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Fullscreen,
    Floating,
    Tiled,
}

impl Tree {
    /// Reads sway's answer.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) fn read(answer: &[u8]) -> serde_json::Result<Self> {
        let root: Node = serde_json::from_slice(answer)?;
        let mut windows = Vec::new();
        gather(root, Layer::Tiled, &mut windows);
        // Later windows of a layer are above earlier ones.
        windows.reverse();
        windows.sort_by_key(|(layer, _)| *layer);
        let windows = windows.into_iter().map(|(_, window)| window).collect();
        Ok(Self { windows })
    }

    /// Those with a title, the front one first.
    pub fn titled(&self, own: &OwnProcesses) -> Vec<Titled> {
        let titled = self.windows.iter().filter(|it| !it.title.is_empty());
        let titled = titled.map(|window| Titled {
            window: window.id,
            title: window.title.clone(),
            is_own: own.own(window.process, None),
        });
        titled.collect()
    }

    /// Where a window's inside lies.
    pub fn place(&self, window: WindowId) -> Option<Rect> {
        self.find(window).map(|(_, window)| window.inside)
    }

    /// Whether a window has the keyboard.
    pub fn has_keyboard(&self, window: WindowId) -> bool {
        self.find(window).is_some_and(|(_, it)| it.has_keyboard)
    }

    /// Whether a window is to be seen and no other lies over a rectangle.
    pub fn is_in_front(&self, window: WindowId, rect: Rect) -> bool {
        self.find(window).is_some_and(|(index, _)| {
            let mut above = self.windows[..index].iter();
            !above.any(|other| other.outside.intersection(rect).is_some())
        })
    }

    /// The parts of a rectangle over which windows of other programs lie.
    pub fn others_over(&self, window: WindowId, rect: Rect) -> Vec<Rect> {
        let Some((index, this)) = self.find(window) else {
            return Vec::new();
        };
        let above = self.windows[..index].iter();
        let others = above.filter(|it| it.process.is_none() || it.process != this.process);
        let parts = others.filter_map(|other| other.outside.intersection(rect));
        parts.collect()
    }

    fn find(&self, window: WindowId) -> Option<(usize, &Window)> {
        let mut windows = self.windows.iter().enumerate();
        windows.find(|(_, it)| it.id == window)
    }
}

/// Gathers the windows in a part of the tree, from back to front within a layer.
fn gather(node: Node, layer: Layer, windows: &mut Vec<(Layer, Window)>) {
    let layer = match node.fullscreen_mode {
        // Monitors and workspaces say so too, of what is in them.
        1.. if node.visible.is_some() => Layer::Fullscreen,
        _ => layer,
    };
    if node.visible == Some(true) {
        let (rect, title) = (Rect::from(node.rect), Rect::from(node.deco_rect));
        let inside = Rect::from(node.window_rect);
        let above = title.height;
        let window = Window {
            id: WindowId(node.id),
            title: node.name.unwrap_or_default(),
            process: node.pid.and_then(|pid| u32::try_from(pid).ok()),
            outside: Rect {
                y: rect.y.saturating_sub_unsigned(above),
                height: rect.height.saturating_add(above),
                ..rect
            },
            inside: Rect {
                x: rect.x.saturating_add(inside.x),
                y: rect.y.saturating_add(inside.y),
                ..inside
            },
            has_keyboard: node.focused,
        };
        windows.push((layer, window));
    }
    for child in node.nodes {
        gather(child, layer, windows);
    }
    for child in node.floating_nodes {
        gather(child, layer.min(Layer::Floating), windows);
    }
}
