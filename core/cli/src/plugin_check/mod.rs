//! What `flowpipe plugin check` consists of: it tests a plugin file in child processes.
//!
//! - [`checks`]: one check a file. Each runs in a child process ([`worker`]), so that a crash or a hang is reported and
//!   does not prevent the others.
//! - [`mod@stages`]: loads the file, in a child too.
//! - [`child`]: starts such a process and reads its lines ([`protocol`]). [`mod@judge`]: the result of each check.
//! - [`samples`], [`neutral_samples`], [`subject`]: the input of a stage, and how it is created. [`tried`]: what the input
//!   is called.
//! - [`report`]: prints the results.

mod checks;
mod child;
mod heap;
mod judge;
mod neutral_samples;
mod protocol;
mod report;
pub(crate) mod samples;
mod stages;
mod subject;
mod tried;
mod worker;

pub use judge::judge;
pub use protocol::Grade;
pub use report::{StageResult, print, print_json};
pub use stages::stages;
pub use subject::{answer_timeout, check_config};
pub use worker::run as run_worker;
