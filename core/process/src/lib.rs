//! Child processes of the program and of plugins: commands, stages in processes of their own, checks of plugins.
//!
//! # Layout
//! - [`group`]: a process with all that it starts: watched, killed and reaped together.
//! - [`pipes`]: pipes that end with the process, whoever else holds their other ends.
//! - [`parent`]: in a child process, notices that the program is gone.
//! - `host_status`: in the process of a stage, whether the program is stopped.
//! - [`status`]: an exit status in words.

pub mod group;
pub mod host_status;
pub mod parent;
pub mod pipes;
pub mod status;
