//! What covers a board before its game or after it: banners, dialogs, pages.

use flowpipe_puzzle::{Board, Point};

/// A panel over the board. Its measures are shares of the board's, so that front ends of every size show it
/// at the same place in board units.
#[derive(Debug, PartialEq)]
pub struct Cover {
    /// Half of its width and height, in shares of half of the board's.
    pub half: Point,
    /// What it looks like; `None`: like the ground, as if the board were not there.
    pub panel: Option<Panel>,
}

/// What is on a panel.
#[derive(Debug, PartialEq, Eq)]
pub struct Panel {
    /// Written at the top, larger than the rest.
    pub title: &'static str,
    /// Written below it.
    pub lines: &'static [&'static str],
    /// Written on the button, if there is one.
    pub button: Option<&'static str>,
}

/// Middle of a panel's button and half of its sides, in shares of half of the panel's sides, from its middle.
pub(crate) const BUTTON: [Point; 2] = [[0.0, 0.55], [0.45, 0.25]];

impl Cover {
    /// Middle of the button and half of its sides, in board units, if there is one.
    #[must_use]
    pub fn button(&self, board: &Board) -> Option<[Point; 2]> {
        self.panel.as_ref()?.button?;
        let [middle, half] = self.place(board);
        let [at, share] = BUTTON;
        let scaled = |point: Point| [0, 1].map(|axis| point[axis] * half[axis]);
        let from = scaled(at);
        Some([[0, 1].map(|axis| middle[axis] + from[axis]), scaled(share)])
    }

    /// Middle and half of the sides, in board units.
    pub(crate) fn place(&self, board: &Board) -> [Point; 2] {
        let half = [board.cols(), board.rows()].map(|count| count as f64 / 2.0);
        [half, [half[0] * self.half[0], half[1] * self.half[1]]]
    }

    /// Whether a point in board units is on the button.
    pub(crate) fn has_button_at(&self, board: &Board, at: Point) -> bool {
        self.button(board).is_some_and(|[middle, half]| {
            (0..2).all(|axis| (at[axis] - middle[axis]).abs() <= half[axis])
        })
    }
}

/// A dialog after a win.
pub(crate) const SOLVED: Cover = Cover {
    half: [0.75, 0.5],
    panel: Some(Panel {
        title: "Solved!",
        lines: &["You drew all flows."],
        button: Some("next"),
    }),
};

/// A banner after a win.
pub(crate) const BANNER: Cover = Cover {
    half: [1.0, 0.25],
    panel: Some(Panel {
        title: "Solved!",
        lines: &[],
        button: None,
    }),
};

/// A dialog before the next board.
pub(crate) const ON_TO_THE_NEXT: Cover = Cover {
    half: [0.75, 0.5],
    panel: Some(Panel {
        title: "next level",
        lines: &["Are you ready?"],
        button: Some("OK"),
    }),
};

/// How to play.
pub(crate) const HELP: Cover = Cover {
    half: [1.05, 1.05],
    panel: Some(Panel {
        title: "how to play",
        lines: &[
            "Draw a pipe between two",
            "terminals of one colour.",
            "Cover the whole board.",
            "click to start",
        ],
        button: None,
    }),
};

/// The board is gone.
pub(crate) const BLANK: Cover = Cover {
    half: [1.1, 1.1],
    panel: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_are_on_their_panel() {
        let board = Board::rectangle(6, 4).expect("a board");
        for (cover, has_button) in [(&SOLVED, true), (&BANNER, false), (&BLANK, false)] {
            let [middle, half] = cover.place(&board);
            assert_eq!(middle, [2.0, 3.0]);
            let button = [middle[0], middle[1] + 0.55 * half[1]];
            assert_eq!(cover.has_button_at(&board, button), has_button);
            assert!(!cover.has_button_at(&board, middle));
            assert!(!cover.has_button_at(&board, [f64::MIN, button[1]]));
        }
    }
}
