//! Ways to drag a pipe: cell by cell, turn by turn, and provably in the fewest straight segments.
//!
//! A *way* is a list of points in board units: press at the first, straight on through all, release at
//! the last. What takes time when a pipe is dragged is the number of its segments, since a game has to
//! see the pointer where each of them ends; how long they are hardly matters.
//!
//! # Layout
//! - [`leg`]: a flow as the pieces that are dragged without letting go, unfolded where a board warps.
//! - [`corridor`]: where a pointer is safe on a leg.
//! - [`grid`]: ways through centres. [`corners`]: by a search over corners and centres. [`minlink`]: with the
//!   fewest segments that there are, exactly. `number`: the numbers that it decides by.
//! - [`inside`]: the exact checker of ways, independent of how they are found.
//! - [`every_cell`](mod@every_cell): a point in every cell, for games that fill in nothing.
//! - [`order`](mod@order): which flow is drawn when, and from which end.
//! - [`plan`](mod@plan): all of it, from flows to strokes. [`config`]: what users can set.
//!
//! # Example
//! ```
//! use flowpipe_path::{Config, Method, plan};
//! use flowpipe_puzzle::level;
//! use flowpipe_puzzle::message::Profile;
//!
//! // A staircase from the upper left to the lower right, and what is left of it.
//! let level = level::parse("3,0,1,2;0,1,4,5,8;3,6,7")?;
//! let flows = &level.solution.flows[..1];
//! let segments = |method| {
//!     let strokes = plan(&level.puzzle, flows, method, &Config::default(), Profile::Segments);
//!     strokes[0].points.len() - 1
//! };
//! assert_eq!(Method::ALL.map(segments), [3, 3, 1, 1]);
//! # Ok::<(), level::LevelError>(())
//! ```

pub mod config;
pub mod corners;
pub mod corridor;
pub mod every_cell;
pub mod grid;
pub mod inside;
pub mod leg;
pub mod minlink;
mod number;
pub mod order;
pub mod plan;

pub use config::{Config, Needs, Warps};
pub use corridor::{Corridor, Inner};
pub use inside::{CorridorError, lies_inside};
pub use leg::{End, Leg, legs};
pub use minlink::{Minlink, Way, count, fewest};
pub use plan::{Method, inner_of, plan};
