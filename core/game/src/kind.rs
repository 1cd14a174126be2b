//! Games of other kinds: what the practice game can look and behave like.

#[cfg(test)]
mod tests;

use std::time::Duration;

use flowpipe_puzzle::Board;

use crate::cover::{BANNER, BLANK, HELP, ON_TO_THE_NEXT, SOLVED};
use crate::play::Join;
use crate::render::{Style, Theme};
use crate::session::{Input, Interlude, Manner, Until};

/// A kind of game.
#[derive(Debug, PartialEq)]
pub struct Kind {
    /// What it is called, such as `edge-to-edge`.
    pub name: &'static str,
    /// What is different in it, as one line.
    pub summary: &'static str,
    /// How it looks.
    pub look: Look,
    /// How it behaves.
    pub manner: Manner,
}

/// How a game looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Where the board lies.
    pub style: Style,
    /// What it is dressed in, unless the player chooses otherwise.
    pub theme: Theme,
    /// The least time between two pictures.
    pub rest: Duration,
    /// How long a picture takes from the state that it shows to the screen.
    pub lag: Duration,
}

/// The practice game's own window, in pixels. The boards of other kinds fit into it.
const WINDOW: [u32; 2] = [600, 1067];

impl Look {
    /// The practice game's own. Its pictures come faster than most screens show them, and slowly enough to
    /// leave the processor to the player.
    pub const OWN: Self = Self {
        style: Style::Window,
        theme: Theme::Dark,
        rest: Duration::from_millis(8),
        lag: Duration::ZERO,
    };

    /// Width and height in pixels of the window that opens for a board.
    #[must_use]
    pub fn window(&self, board: &Board) -> (u32, u32) {
        let [width, height] = WINDOW;
        if !matches!(self.style, Style::EdgeToEdge { .. }) {
            return (width, height);
        }
        // No board has as many cells as a window has pixels.
        let [cols, rows] = [board.cols(), board.rows()].map(|count| count.max(1) as u32);
        let cell = (width / cols).min(height / rows).max(1);
        (cell * cols, cell * rows)
    }
}

impl Kind {
    /// The kind of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// The practice game as it is.
const OWN: Kind = Kind {
    name: "",
    summary: "",
    look: Look::OWN,
    manner: Manner::OWN,
};

/// Most other games go from board to board without an animation.
const NO_FLIP: Manner = Manner {
    flip: Duration::ZERO,
    ..Manner::OWN
};

const fn look(style: Style, theme: Theme) -> Look {
    Look {
        style,
        theme,
        ..Look::OWN
    }
}

const FOR_NEXT: Interlude = Interlude {
    cover: None,
    until: Until::Next,
};

/// Every kind but the practice game's own.
pub const KINDS: [Kind; 17] = [
    Kind {
        name: "edge-to-edge",
        summary: "the board fills the window, and its outline is the window's edge",
        look: look(Style::EdgeToEdge { is_cut: false }, Theme::Dark),
        ..OWN
    },
    Kind {
        name: "edge-to-edge-cut",
        summary: "the same, with the last line at the right and at the bottom cut off",
        look: look(Style::EdgeToEdge { is_cut: true }, Theme::Dark),
        ..OWN
    },
    Kind {
        name: "whole-cells",
        summary: "terminals and pipes fill their cells, terminals with a dark ring",
        look: look(Style::Window, Theme::Tiles),
        ..OWN
    },
    Kind {
        name: "flat-ends",
        summary: "pipes have flat ends at the centres of cells, and square corners",
        look: look(Style::Window, Theme::Flat),
        ..OWN
    },
    Kind {
        name: "digits",
        summary: "numbers for discs, and thin lines of one colour that cross them",
        look: look(Style::Window, Theme::Digits),
        ..OWN
    },
    Kind {
        name: "no-joining",
        summary: "a pipe is joined only by a drag into the cell of its terminal",
        manner: Manner {
            join: Join::Cell,
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "no-joining-centre",
        summary: "a pipe is joined only by a drag to the middle of its terminal",
        manner: Manner {
            join: Join::Centre,
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "click-to-start",
        summary: "the first click in the window draws nothing",
        manner: Manner {
            opening: &[Interlude {
                cover: None,
                until: Until::Click,
            }],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "popup",
        summary: "a dialog covers each solved board until its button is clicked",
        manner: Manner {
            after_win: &[Interlude {
                cover: Some(&SOLVED),
                until: Until::CoverButton,
            }],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "banner",
        summary: "a banner covers the middle of each solved board for two seconds",
        manner: Manner {
            after_win: &[Interlude {
                cover: Some(&BANNER),
                until: Until::After(Duration::from_secs(2)),
            }],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "vanishing",
        summary: "a solved board disappears at once, and the next one comes after a second",
        manner: Manner {
            after_win: &[Interlude {
                cover: Some(&BLANK),
                until: Until::After(Duration::from_secs(1)),
            }],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "permanent",
        summary: "pipes stay as they are drawn, also where they cross, until a restart",
        manner: Manner {
            permanent: true,
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "next-button",
        summary: "a solved board stays until the button for the next one is clicked",
        manner: Manner {
            after_win: &[FOR_NEXT],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "next-button-dialog",
        summary: "the same, and a dialog asks to confirm it",
        manner: Manner {
            after_win: &[
                FOR_NEXT,
                Interlude {
                    cover: Some(&ON_TO_THE_NEXT),
                    until: Until::CoverButton,
                },
            ],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "help",
        summary: "a page of help covers the first board until it is clicked",
        manner: Manner {
            opening: &[Interlude {
                cover: Some(&HELP),
                until: Until::Click,
            }],
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "144-hz",
        summary: "samples the pointer 144 times a second, with nothing between two samples",
        manner: Manner {
            input: Input::Samples,
            frame: Duration::from_nanos(1_000_000_000 / 144),
            ..NO_FLIP
        },
        ..OWN
    },
    Kind {
        name: "slow-rendering",
        summary: "15 pictures and samples of the pointer a second, shown 150 ms late",
        look: Look {
            rest: Duration::from_nanos(1_000_000_000 / 15),
            lag: Duration::from_millis(150),
            ..Look::OWN
        },
        manner: Manner {
            frame: Duration::from_nanos(1_000_000_000 / 15),
            ..NO_FLIP
        },
    },
];
