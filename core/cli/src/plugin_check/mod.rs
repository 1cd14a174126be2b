//! `flowpipe plugin check`: a plugin file is tried, in processes of its own.
//!
//! - [`checks`]: what is tried, one check a file. Each runs in a child process ([`within`]), so that a crash or a
//!   hang of one is told and does not hide the others.
//! - [`stages`]: the file is loaded, in a child too.
//! - [`child`]: starts such a process ([`process`]) and reads ([`hearing`]) what it tells ([`telling`]).
//!   [`judge`]: what comes of it.
//! - [`samples`], [`subject`]: what a stage is given, and how it is made.
//! - [`report`]: what the user sees.

mod checks;
mod child;
mod heap;
mod hearing;
mod judge;
mod process;
mod report;
pub(crate) mod samples;
mod stages;
mod subject;
mod telling;
mod within;

pub use checks::names;
pub use judge::judge;
pub use report::{Tried, print, print_json};
pub use stages::stages;
pub use subject::check_config;
pub use telling::Grade;
pub use within::run as run_within;
