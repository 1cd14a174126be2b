//! How a game behaves, besides the rules that all games share.

use std::time::Duration;

use flowpipe_puzzle::{Board, Point};

use super::{FLIP, FRAME, Input, PAUSE};
use crate::cover::Cover;
use crate::play::{Join, Settings};

/// How a game behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// How pointer events reach the board, unless the player chooses otherwise.
    pub input: Input,
    /// The time between two samples of the pointer, for games that sample it.
    pub frame: Duration,
    /// What joins a pipe to its other terminal.
    pub join: Join,
    /// Whether all that is drawn stays until a restart; nothing can be undone then.
    pub permanent: bool,
    /// What comes before the first board takes input.
    pub opening: &'static [Interlude],
    /// What comes between a win and the next board.
    pub after_win: &'static [Interlude],
    /// How long a board takes to flip over to the next; zero: the next one is there at once.
    pub flip: Duration,
}

/// A time in which the board takes no input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interlude {
    /// What covers the board.
    pub cover: Option<&'static Cover>,
    /// When it ends.
    pub until: Until,
}

/// When an [`Interlude`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// By itself, after this time.
    After(Duration),
    /// At a click anywhere on the board's side of the buttons.
    Click,
    /// At a click on the button of its cover.
    CoverButton,
    /// When the player asks for the next board.
    Next,
}

impl Manner {
    /// The practice game's own.
    pub const OWN: Self = Self {
        input: Input::Frames,
        frame: FRAME,
        join: Join::Beside,
        permanent: false,
        opening: &[],
        after_win: &[Interlude {
            cover: None,
            until: Until::After(PAUSE),
        }],
        flip: FLIP,
    };

    /// The rules of dragging, with a kind of input.
    pub(crate) fn settings(&self, input: Input) -> Settings {
        Settings {
            join: self.join,
            permanent: self.permanent,
            ..input.settings()
        }
    }
}

impl Default for Manner {
    /// [`Self::OWN`].
    fn default() -> Self {
        Self::OWN
    }
}

impl Interlude {
    /// When it ends by itself, from its beginning on. A time trial does not wait for nothing.
    pub(crate) fn lasts(&self, is_trial: bool) -> Option<Duration> {
        match self.until {
            Until::After(_) if is_trial && self.cover.is_none() => Some(Duration::ZERO),
            Until::After(time) => Some(time),
            Until::Click | Until::CoverButton | Until::Next => None,
        }
    }

    /// Whether a click at a point in board units ends it.
    pub(crate) fn ends_at(&self, board: &Board, at: Point) -> bool {
        match self.until {
            Until::Click => true,
            Until::CoverButton => self
                .cover
                .is_some_and(|cover| cover.has_button_at(board, at)),
            Until::After(_) | Until::Next => false,
        }
    }
}
