//! What the desktop reports about a window and the person before it.

use flowpipe_desktop::{Desktop, DesktopError, PressObstacle, Rect, WindowId};

use crate::guard::Watched;

/// Why a board can't be played now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardTrouble {
    /// In words.
    pub reason: String,
    /// Whether it is that the window has not the keyboard: to raise it helps.
    pub lacks_keyboard: bool,
}

impl BoardTrouble {
    /// Something else than the keyboard.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            lacks_keyboard: false,
        }
    }

    /// `wanted`: what the window's title has to contain.
    fn of_press(obstacle: &PressObstacle, wanted: &str) -> Self {
        match obstacle {
            PressObstacle::Covered => {
                Self::new("something covers the board: move it away, or raise the board's window")
            }
            PressObstacle::OtherTitle(title) => Self::new(format!(
                "the window has the title {title:?} now, without {wanted:?}: show the game there again, or search for a part \
                 of the title that stays"
            )),
            PressObstacle::NoKeyboard => Self {
                reason: "another window has the keyboard, and may get the presses: leave the keyboard to the board's window"
                    .to_owned(),
                lacks_keyboard: true,
            },
        }
    }
}

/// What is asked of the desktop.
pub trait Surroundings: Send {
    /// What the desktop is called.
    fn session_name(&self) -> String;
    /// Why a board can't be played now; `None`: it can.
    fn trouble(&self, watched: &Watched) -> Option<BoardTrouble>;
    /// Why no key may be pressed for a window now; `None`: it would get the key.
    fn keyboard_trouble(&self, window: WindowId) -> Option<String>;
    /// Where the part of a window's inside lies that pictures show, where the system reports it.
    fn shown_part(&self, window: WindowId) -> Option<Rect>;
    /// Brings the board's window to the front.
    fn raise(&self, watched: &Watched);
    /// The code of a key, by its name.
    ///
    /// # Errors
    /// On a system without codes of keys, and for an unknown key.
    fn key_code(&self, name: &str) -> Result<u8, DesktopError>;
    /// Where the pointer is, where the system reports it.
    fn pointer(&self) -> Option<[i32; 2]>;
    /// The rectangle around all monitors.
    fn screen(&self) -> Option<Rect>;
    /// Where each monitor is, where the system reports it at once.
    fn monitors(&self) -> Option<Vec<Rect>>;
}

impl Surroundings for Desktop {
    fn session_name(&self) -> String {
        Self::session_name(self)
    }

    fn trouble(&self, watched: &Watched) -> Option<BoardTrouble> {
        let Watched {
            window,
            origin,
            size,
            board,
            ref title,
        } = *watched;
        let shown = match self.shown_part(window) {
            Ok(shown) => shown,
            Err(error) => return Some(BoardTrouble::new(error.to_string())),
        };
        let Some(Rect {
            x,
            y,
            width,
            height,
        }) = shown
        else {
            return Some(BoardTrouble::new(
                "the window is gone, or not shown any more: open it again, or show it",
            ));
        };
        if [x, y] != origin {
            return Some(BoardTrouble::new(
                "the window has moved: leave it where it is while the mouse plays",
            ));
        }
        // Of a smaller one, the bounds may hold what lies behind it; a larger one shows the same elsewhere. One of which
        // a part lies beyond the screen's left or upper edge has moved, and still begins at that edge.
        if size.is_some_and(|size| size != [width, height]) {
            return Some(BoardTrouble::new(
                "the window has changed its size, or moved beyond the screen's edge: leave it as it is while the mouse plays",
            ));
        }
        let wanted = title.as_deref();
        match self.press_obstacle(window, board, wanted) {
            Ok(obstacle) => {
                obstacle.map(|it| BoardTrouble::of_press(&it, wanted.unwrap_or_default()))
            }
            Err(error) => Some(BoardTrouble::new(error.to_string())),
        }
    }

    fn keyboard_trouble(&self, window: WindowId) -> Option<String> {
        match self.has_keyboard(window) {
            Ok(true) => None,
            Ok(false) => Some(
                "no key is pressed: the window does not have the keyboard, click into it"
                    .to_owned(),
            ),
            Err(error) => Some(format!("no key is pressed: {error}")),
        }
    }

    fn shown_part(&self, window: WindowId) -> Option<Rect> {
        Self::shown_part(self, window).ok().flatten()
    }

    fn raise(&self, watched: &Watched) {
        // Where it can't be raised, it shows in `trouble`.
        let _ = Self::raise(self, watched.window);
    }

    fn key_code(&self, name: &str) -> Result<u8, DesktopError> {
        Self::key_code(self, name)
    }

    fn pointer(&self) -> Option<[i32; 2]> {
        Self::pointer(self).ok()
    }

    fn screen(&self) -> Option<Rect> {
        Self::screen(self).ok()
    }

    fn monitors(&self) -> Option<Vec<Rect>> {
        // Where a person chooses what is seen, the answer may take as long, and another choice is another session.
        if self.asks() {
            return None;
        }
        let monitors = Self::monitors(self).ok()?;
        Some(monitors.iter().map(|it| it.place).collect())
    }
}
