//! The state that two threads share while the mouse is held: the one that plays and the one that
//! watches ([`crate::watch`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowpipe_desktop::{Rect, WindowId};

/// Shared by the two threads.
#[derive(Default)]
pub struct Guard {
    state: Mutex<State>,
    /// Whether to release the button at once: checked before every move.
    troubled: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Where the pointer was put last.
    put: Option<[i32; 2]>,
    /// The pointer is on its way.
    acting: bool,
    board: Option<Watched>,
    trouble: Option<Trouble>,
}

/// A board that is being played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its window.
    pub window: WindowId,
    /// Where the part of the window's inside that was captured began.
    pub origin: [i32; 2],
    /// How wide and high that part was, where it is known.
    pub size: Option<[u32; 2]>,
    /// Where the board is on the screen, with what of a cell around it may be touched too.
    pub board: Rect,
    /// The text by which the window was found, where it is known: its title contains it.
    pub title: Option<String>,
}

/// Why to let go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A person stops the run.
    Stop(String),
    /// The board can't be played now; looking again may help.
    Board(String),
}

impl Guard {
    /// The pointer begins to move, over a board where there is one to watch.
    pub fn begin(&self, board: Option<Watched>) {
        let mut state = self.state();
        state.acting = true;
        state.board = board;
        if !matches!(state.trouble, Some(Trouble::Stop(_))) {
            state.trouble = None;
            self.troubled.store(false, Ordering::Release);
        }
    }

    /// The pointer stays where it was put.
    pub fn end(&self, put: Option<[i32; 2]>) {
        let mut state = self.state();
        state.acting = false;
        state.board = None;
        state.put = put.or(state.put);
    }

    /// Where the pointer was put last, if it is not on its way.
    pub fn resting(&self) -> Option<[i32; 2]> {
        let state = self.state();
        state.put.filter(|_| !state.acting)
    }

    /// The board that is being played.
    pub fn board(&self) -> Option<Watched> {
        self.state().board.clone()
    }

    /// Requests to let go. The first reason counts, and a person's before all others.
    pub fn warn(&self, trouble: Trouble) {
        let mut state = self.state();
        let first = match (&state.trouble, &trouble) {
            (None, _) | (Some(Trouble::Board(_)), Trouble::Stop(_)) => true,
            (Some(_), _) => false,
        };
        if first {
            state.trouble = Some(trouble);
        }
        self.troubled.store(true, Ordering::Release);
    }

    /// Why to let go, if there is a reason.
    pub fn trouble(&self) -> Option<Trouble> {
        if !self.troubled.load(Ordering::Acquire) {
            return None;
        }
        self.state().trouble.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here can be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_comes_first_and_stays() {
        let guard = Guard::default();
        let covered = Trouble::Board("covered".to_owned());
        let stop = Trouble::Stop("hotkey".to_owned());
        guard.begin(None);
        assert_eq!(guard.trouble(), None);
        guard.warn(covered.clone());
        guard.warn(Trouble::Board("gone".to_owned()));
        assert_eq!(guard.trouble(), Some(covered));
        guard.warn(stop.clone());
        guard.warn(Trouble::Board("gone".to_owned()));
        assert_eq!(guard.trouble(), Some(stop.clone()));
        guard.begin(None);
        assert_eq!(guard.trouble(), Some(stop), "the next board is not played");
    }

    #[test]
    fn a_board_s_trouble_ends_with_it() {
        let guard = Guard::default();
        guard.warn(Trouble::Board("covered".to_owned()));
        guard.begin(None);
        assert_eq!(guard.trouble(), None);
        assert_eq!(guard.resting(), None, "on its way");
        guard.end(Some([3, 4]));
        assert_eq!(guard.resting(), Some([3, 4]));
    }
}
