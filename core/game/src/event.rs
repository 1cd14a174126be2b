//! What an input did to the board.

use flowpipe_puzzle::{Cell, Colour};
use serde::Serialize;

/// One thing that an input did, in the order in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A drag began at a terminal or on a drawn pipe.
    Pressed {
        /// The flow that is dragged from now on.
        colour: Colour,
        /// Where.
        cell: Cell,
    },
    /// The dragged pipe grew by one cell.
    Extended {
        /// The dragged flow.
        colour: Colour,
        /// The new end.
        cell: Cell,
    },
    /// The dragged pipe lost the cells beyond one of its own.
    Shortened {
        /// The dragged flow.
        colour: Colour,
        /// The new end.
        cell: Cell,
    },
    /// The dragged pipe reached its other terminal.
    Joined {
        /// The dragged flow.
        colour: Colour,
        /// The terminal reached.
        cell: Cell,
    },
    /// Another pipe was crossed and ends before the crossing for as long as the crossing stays.
    Cut {
        /// The flow that was cut.
        colour: Colour,
        /// The cell that it lost to the dragged pipe.
        cell: Cell,
    },
    /// The dragged pipe now crosses another one for good.
    Crossed {
        /// The flow that was crossed.
        colour: Colour,
        /// The cell that both hold.
        cell: Cell,
    },
    /// The drag went back from a crossing: a pipe that it had cut has cells again.
    Restored {
        /// The flow that was cut before.
        colour: Colour,
        /// Its end now.
        cell: Cell,
    },
    /// The input had no effect.
    Refused {
        /// The cell that was pressed or entered; `None` beside the board.
        cell: Option<Cell>,
        /// Why.
        reason: Reason,
    },
    /// The drag ended; its crossings are final.
    Released {
        /// The flow that was dragged.
        colour: Colour,
    },
}

/// Why an input had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A press where there is neither a terminal nor a pipe.
    NothingThere,
    /// A drag into a terminal that is not the flow's other end.
    TerminalInTheWay,
    /// A drag into a cell that the pipe's end has no passage to: behind a wall, over a corner, or
    /// further away because cells between were missed.
    NoPassage,
    /// A drag beyond the flow's other terminal.
    AlreadyJoined,
    /// What is drawn stays, in a game whose lines are permanent.
    Permanent,
}
