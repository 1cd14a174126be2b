//! Output files: what a program writes appears whole at its place, or not at all.
//!
//! [`write`] and [`OutputFile`] write a regular file beside its place and rename it once it is whole. So a program
//! that fails, or is killed, leaves what was there before, and readers of the old file keep it.
//! A file that grows for long ([`OutputFile::growing`]) has the name `NAME.partial` meanwhile, and keeps it after a
//! crash.
//!
//! Devices, pipes and what lies under `/proc` or `/dev` are written as they are. A symbolic link stays one: the file
//! that it leads to is replaced. The new file has the permissions of the old one, and one that must not be written to
//! is not replaced.

mod component;
mod file;
mod partial;
mod place;
mod regular;

pub use component::component;
pub use file::{OutputFile, remove_hidden, write};
pub use partial::{left_of, without_suffix};
pub use place::is_same;
pub use regular::open_regular;
