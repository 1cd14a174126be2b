//! The practice game: Flow Free's rules of dragging, and how its board looks.
//!
//! The rules know neither windows nor mice. The owner of a pointer (a simulated one, a window's)
//! passes its positions to a [`Play`], which alone decides what they draw; a caller that needs a picture
//! hands a [`render::Scene`] to [`render::render`].
//!
//! # Layout
//! - [`play`]: a puzzle being played: press, move, release. [`event`]: what each input did.
//! - `line`: the cells that a straight drag enters.
//! - `pipes`: the drawn pipes, and which of them holds each cell.
//! - [`generate`]: puzzles of our own. [`random`]: the numbers behind what is drawn by chance.
//! - [`kind`]: games of other kinds, by name. [`cover`]: what covers a board before and after its
//!   game.
//! - `header`: the lines above the board. [`render`]: the board as pixels.
//! - [`session`]: board after board, time trials, how input arrives, the log.
//! - `window` and `terminal`: a session on a screen. Each is a feature of its own, and off unless
//!   asked for.

pub mod cover;
pub mod event;
pub mod generate;
mod header;
pub mod kind;
mod line;
mod pipes;
pub mod play;
pub mod render;
pub mod session;
#[cfg(feature = "terminal")]
pub mod terminal;
#[cfg(feature = "window")]
pub mod window;

pub use event::{Event, Reason};
pub use flowpipe_generate::random;
pub use kind::{KINDS, Kind, Look};
pub use play::{Play, ResumeError, Settings};
