//! Child processes of the program and of plugins: commands, stages in processes of their own, checks of plugins.
//!
//! # Layout
//! - [`supervised`]: the supervisor of a child process: starts it, notices its end, ends it within a grace period, reaps
//!   it.
//! - [`ancestors`]: the processes that this one descends from.
//! - `group`: a process with all that it starts: killed and reaped together.
//! - [`pipes`]: pipes that end with the process, whoever else holds their other ends.
//! - [`lines`]: the lines of a process's output, of bounded length. [`stderr_tail`]: the last ones of standard error.
//! - [`memory`]: the memory of a process.
//! - [`backoff`]: the delay before a restart.
//! - [`parent`]: in a child process, notices that the program is gone.
//! - [`host`]: in the process of a stage, which process the program is.
//! - `host_status`: in the process of a stage, whether the program is stopped.
//! - [`time_limit`]: work on a thread that may never end. [`patience`]: a limit on the time that another program takes.
//!   [`awake_clock`]: time without that in which this process stood still.
//! - [`status`]: an exit status in words. [`ending`]: that a command ended in place of an answer.

pub mod ancestors;
pub mod awake_clock;
pub mod backoff;
pub mod ending;
mod group;
pub mod host;
pub mod host_status;
pub mod lines;
pub mod memory;
pub mod parent;
pub mod patience;
pub mod pipes;
pub mod status;
pub mod stderr_tail;
pub mod supervised;
pub mod time_limit;
