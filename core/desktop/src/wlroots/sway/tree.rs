//! Sway's tree of monitors, workspaces and windows.

use serde::Deserialize;

use super::parse;
use super::settling::Sizes;
use crate::own::OwnProcesses;
use crate::press_obstacle::PressObstacle;
use crate::rect::Rect;
use crate::window::{Hidden, Titled, WindowId};

/// The windows that are to be seen, the front one first, and those that are not.
#[derive(Debug)]
pub struct Tree {
    windows: Vec<Window>,
    hidden: Vec<HiddenWindow>,
}

/// A window that is not to be seen.
#[derive(Debug)]
struct HiddenWindow {
    title: String,
    process: Option<u32>,
    /// The name of its workspace.
    workspace: Option<String>,
    /// Whether a monitor shows the workspace.
    is_workspace_shown: bool,
}

/// What contains a node of the tree.
#[derive(Clone, Default)]
struct Ancestors {
    /// The workspace that the monitor shows.
    shown: Option<String>,
    /// The workspace.
    workspace: Option<String>,
}

/// The workspace of windows in the scratchpad.
const SCRATCHPAD: &str = "__i3_scratch";
/// Of `fullscreen_mode`.
const ON_ALL_MONITORS: u8 = 2;

/// A window that is to be seen.
#[derive(Clone, Debug)]
struct Window {
    id: WindowId,
    layer: Layer,
    /// The name of its workspace. `None`: it fills all monitors.
    workspace: Option<String>,
    title: String,
    process: Option<u32>,
    /// With its frame.
    outside: Rect,
    /// Without its frame and title.
    inside: Rect,
    sizes: Sizes,
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
    /// The size that a window has asked for.
    geometry: Option<Area>,
    /// Of a title above a window, which is not in `rect`.
    deco_rect: Area,
    #[serde(default)]
    focused: bool,
    /// Of windows alone.
    visible: Option<bool>,
    pid: Option<i64>,
    #[serde(rename = "type", default)]
    kind: String,
    /// Of monitors alone.
    current_workspace: Option<String>,
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
    /// Sway reports those behind a fullscreen window as not visible. Those that it shows with one lie over it: dialogs of
    /// that window.
    Floating,
    Fullscreen,
    Tiled,
}

impl Tree {
    /// Reads sway's answer.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) fn read(answer: &[u8]) -> serde_json::Result<Self> {
        let root: Node = parse(answer)?;
        let (mut windows, mut hidden) = (Vec::new(), Vec::new());
        let mut gathered = Gathered {
            windows: &mut windows,
            hidden: &mut hidden,
        };
        gather(root, Layer::Tiled, &Ancestors::default(), &mut gathered);
        // Later windows of a layer are above earlier ones.
        windows.reverse();
        windows.sort_by_key(|window| window.layer);
        Ok(Self { windows, hidden })
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

    /// Those with a title that are not to be seen.
    pub fn hidden(&self, own: &OwnProcesses) -> Vec<Hidden> {
        let titled = self.hidden.iter().filter(|it| !it.title.is_empty());
        let titled = titled.map(|window| Hidden {
            title: window.title.clone(),
            is_own: own.own(window.process, None),
            why: window.why(),
        });
        titled.collect()
    }

    /// Where a window's inside lies.
    pub fn place(&self, window: WindowId) -> Option<Rect> {
        self.find(window).map(|(_, window)| window.inside)
    }

    /// The sizes of a window.
    pub fn sizes(&self, window: WindowId) -> Option<Sizes> {
        self.find(window).map(|(_, window)| window.sizes)
    }

    /// Whether a window has the keyboard.
    pub fn has_keyboard(&self, window: WindowId) -> bool {
        self.find(window).is_some_and(|(_, it)| it.has_keyboard)
    }

    /// Whether a window is to be seen and no other lies over a rectangle.
    pub fn is_in_front(&self, window: WindowId, rect: Rect) -> bool {
        self.find(window).is_some_and(|(index, this)| {
            let mut before = self.windows[..index].iter();
            !before.any(|it| it.may_cover(this) && it.outside.intersection(rect).is_some())
        })
    }

    /// Why a press in a rectangle of a window may go to something else. `title`: a text that its title has to contain.
    pub fn press_obstacle(
        &self,
        window: WindowId,
        rect: Rect,
        title: Option<&str>,
    ) -> Option<PressObstacle> {
        let this = self.find(window).map(|(_, this)| this);
        let Some(this) = this.filter(|_| self.is_in_front(window, rect)) else {
            return Some(PressObstacle::Covered);
        };
        let lacks_keyboard = (!this.has_keyboard).then_some(PressObstacle::NoKeyboard);
        PressObstacle::of_title(&this.title, title).or(lacks_keyboard)
    }

    /// The parts of a rectangle over which windows of other programs lie.
    pub fn others_over(&self, window: WindowId, rect: Rect) -> Vec<Rect> {
        let Some((index, this)) = self.find(window) else {
            return Vec::new();
        };
        let above = self.windows[..index].iter().filter(|it| it.may_cover(this));
        let others = above.filter(|it| it.process.is_none() || it.process != this.process);
        let parts = others.filter_map(|other| other.outside.intersection(rect));
        parts.collect()
    }

    fn find(&self, window: WindowId) -> Option<(usize, &Window)> {
        let mut windows = self.windows.iter().enumerate();
        windows.find(|(_, it)| it.id == window)
    }
}

impl Window {
    /// Whether it lies over another one that comes later in the list, where both are.
    fn may_cover(&self, other: &Self) -> bool {
        // A floating window that reaches over from the workspace of another monitor is behind a fullscreen one.
        let is_behind = self.layer == Layer::Floating
            && other.layer == Layer::Fullscreen
            && other.workspace.is_some()
            && self.workspace != other.workspace;
        !is_behind
    }
}

impl HiddenWindow {
    /// Why it is not to be seen.
    fn why(&self) -> String {
        match &self.workspace {
            Some(name) if name == SCRATCHPAD => "in sway's scratchpad".to_owned(),
            Some(name) if !self.is_workspace_shown => {
                format!("on workspace {name:?}, which no monitor shows")
            }
            _ => "in a tab or a stack behind another window, or behind one that fills the screen"
                .to_owned(),
        }
    }
}

/// What was gathered.
struct Gathered<'a> {
    windows: &'a mut Vec<Window>,
    hidden: &'a mut Vec<HiddenWindow>,
}

/// Gathers the windows in a part of the tree, from back to front within a layer.
fn gather(node: Node, layer: Layer, ancestors: &Ancestors, to: &mut Gathered<'_>) {
    let mut ancestors = ancestors.clone();
    match node.kind.as_str() {
        "output" => ancestors.shown.clone_from(&node.current_workspace),
        "workspace" => ancestors.workspace.clone_from(&node.name),
        _ => {}
    }
    let layer = match node.fullscreen_mode {
        // Monitors and workspaces say so too, of what is in them.
        1.. if node.visible.is_some() => Layer::Fullscreen,
        _ => layer,
    };
    if node.visible == Some(true) {
        let (rect, title) = (Rect::from(node.rect), Rect::from(node.deco_rect));
        let inside = Rect::from(node.window_rect);
        let above = title.height;
        let natural = node.geometry.map(Rect::from);
        let sizes = Sizes {
            actual: [inside.width, inside.height],
            natural: natural.map(|it| [it.width, it.height]),
        };
        let window = Window {
            id: WindowId(node.id),
            layer,
            workspace: match node.fullscreen_mode {
                ON_ALL_MONITORS => None,
                _ => ancestors.workspace.clone(),
            },
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
            sizes,
            has_keyboard: node.focused,
        };
        to.windows.push(window);
    } else if node.visible == Some(false) {
        to.hidden.push(HiddenWindow {
            title: node.name.unwrap_or_default(),
            process: node.pid.and_then(|pid| u32::try_from(pid).ok()),
            is_workspace_shown: ancestors.workspace.is_some()
                && ancestors.workspace == ancestors.shown,
            workspace: ancestors.workspace.clone(),
        });
    }
    for child in node.nodes {
        gather(child, layer, &ancestors, to);
    }
    for child in node.floating_nodes {
        gather(child, Layer::Floating, &ancestors, to);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(kind: &str, name: &str, children: Value) -> Value {
        let area = json!({ "x": 0, "y": 0, "width": 9, "height": 9 });
        json!({
            "id": 1, "type": kind, "name": name, "rect": area, "window_rect": area, "deco_rect": area, "nodes": children,
        })
    }

    fn window(name: &str, is_visible: bool) -> Value {
        let mut window = node("con", name, json!([]));
        (window["visible"], window["pid"]) = (is_visible.into(), 4_000_000_000_u32.into());
        window
    }

    /// A workspace with floating windows.
    fn floating(name: &str, windows: Value) -> Value {
        let mut workspace = node("workspace", name, json!([]));
        workspace["floating_nodes"] = windows;
        workspace
    }

    #[test]
    fn a_floating_window_that_is_shown_with_a_fullscreen_one_covers_it() {
        let mut game = window("game", true);
        (game["id"], game["fullscreen_mode"]) = (json!(2), json!(1));
        let dialog = window("dialog", true);
        let is_covered = |workspaces: Value| {
            let root = node("root", "root", workspaces);
            let tree = Tree::read(root.to_string().as_bytes()).unwrap();
            let place = tree.place(WindowId(2)).unwrap();
            !tree.is_in_front(WindowId(2), place)
        };
        assert!(!is_covered(json!([floating("1", json!([game]))])));
        for both in [json!([game, dialog]), json!([dialog, game])] {
            assert!(is_covered(json!([floating("1", both)])));
        }
        let mut tiled = node("workspace", "1", json!([game]));
        tiled["floating_nodes"] = json!([dialog]);
        assert!(is_covered(json!([tiled])));
        // Sway hides what belongs to another program.
        let behind = json!([window("behind", false), game]);
        assert!(!is_covered(json!([floating("1", behind)])));
        // It reaches over from another monitor, where sway does not hide it.
        let beside = floating("2", json!([dialog]));
        let game_alone = floating("1", json!([game]));
        assert!(!is_covered(json!([game_alone, beside])));
        game["fullscreen_mode"] = json!(ON_ALL_MONITORS);
        let game_alone = floating("1", json!([game]));
        assert!(is_covered(json!([game_alone, beside])));
    }

    /// What covers it comes first: it is to be moved away, whichever window has the keyboard.
    #[test]
    fn a_window_without_the_keyboard_or_with_another_title_gets_no_press() {
        let obstacle = |windows: Value| {
            let root = node("root", "root", json!([floating("1", windows)]));
            let tree = Tree::read(root.to_string().as_bytes()).unwrap();
            let place = tree.place(WindowId(2)).unwrap();
            tree.press_obstacle(WindowId(2), place, Some("Game"))
        };
        let (mut game, mut other) = (window("game", true), window("other", true));
        game["id"] = json!(2);
        other["focused"] = json!(true);
        assert_eq!(obstacle(json!([game, other])), Some(PressObstacle::Covered));
        let behind = json!([other, game]);
        assert_eq!(obstacle(behind), Some(PressObstacle::NoKeyboard));
        (game["focused"], other["focused"]) = (json!(true), json!(false));
        assert_eq!(obstacle(json!([other, game])), None);
        game["name"] = json!("a game, 12:01");
        assert_eq!(obstacle(json!([other, game])), None);
        game["name"] = json!("mail");
        let other_title = PressObstacle::OtherTitle("mail".to_owned());
        assert_eq!(obstacle(json!([other, game])), Some(other_title));
        assert_eq!(obstacle(json!([game, other])), Some(PressObstacle::Covered));
    }

    #[test]
    fn hidden_windows_are_listed_with_the_reason() {
        let shown = json!([window("front", true), window("behind", false)]);
        let mut output = node(
            "output",
            "DP-1",
            json!([
                node("workspace", "1", shown),
                node("workspace", "2", json!([window("elsewhere", false)])),
            ]),
        );
        output["current_workspace"] = "1".into();
        let scratch = node("workspace", SCRATCHPAD, json!([window("put away", false)]));
        let root = json!([node("output", "__i3", json!([scratch])), output]);
        let tree = Tree::read(node("root", "root", root).to_string().as_bytes()).unwrap();
        let own = OwnProcesses::find();
        let titles: Vec<_> = tree.titled(&own).into_iter().map(|it| it.title).collect();
        assert_eq!(titles, ["front"]);
        let hidden = tree.hidden(&own).into_iter();
        let hidden: Vec<_> = hidden
            .map(|it| format!("{}: {}", it.title, it.why))
            .collect();
        assert_eq!(
            hidden,
            [
                "put away: in sway's scratchpad",
                "behind: in a tab or a stack behind another window, or behind one that fills the screen",
                "elsewhere: on workspace \"2\", which no monitor shows",
            ]
        );
    }

    #[test]
    fn a_title_that_is_not_utf_8_hides_no_window() {
        let windows = json!([window("caf?", true), window("game", true)]);
        let mut answer = node("root", "root", windows).to_string().into_bytes();
        for byte in answer.iter_mut().filter(|byte| **byte == b'?') {
            // As Latin-1 has it.
            *byte = 0xE9;
        }
        let titled = Tree::read(&answer).unwrap().titled(&OwnProcesses::find());
        let titles: Vec<_> = titled.into_iter().map(|it| it.title).collect();
        assert_eq!(titles, ["game", "caf\u{fffd}"]);
    }

    #[test]
    fn the_size_that_a_window_has_asked_for_is_read() {
        let sizes = |window: &Value| {
            let root = node("root", "root", json!([window]));
            let tree = Tree::read(root.to_string().as_bytes()).unwrap();
            tree.sizes(WindowId(1)).unwrap()
        };
        let mut game = window("game", true);
        let actual = [9, 9];
        let natural = None;
        assert_eq!(sizes(&game), Sizes { actual, natural });
        game["geometry"] = json!({ "x": 0, "y": 0, "width": 600, "height": 1067 });
        let natural = Some([600, 1067]);
        assert_eq!(sizes(&game), Sizes { actual, natural });
    }
}
