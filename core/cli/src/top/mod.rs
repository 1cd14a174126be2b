//! Watching a run from another process: what a run publishes, and what `flowpipe top` shows.
//!
//! # Layout
//! - [`protocol`]: the messages from a run to its viewers.
//! - [`sockets`]: where runs are found. [`publisher`] (with `last_messages` and `server`): the side of the run.
//!   [`client`]: the side of the viewer.
//! - [`history`]: the state of a run, from its messages. [`view`]: draws it.
//! - [`viewer`]: the terminal. [`json_lines`]: lines for scripts.

#[cfg(unix)]
pub mod client;
#[cfg(unix)]
pub mod history;
#[cfg(unix)]
pub mod json_lines;
#[cfg(unix)]
mod last_messages;
#[cfg(unix)]
pub mod protocol;
#[cfg(unix)]
pub mod publisher;
#[cfg(unix)]
mod server;
#[cfg(unix)]
pub mod sockets;
#[cfg(unix)]
pub mod view;
#[cfg(unix)]
pub mod viewer;

/// Without Unix sockets, a run publishes nothing.
#[cfg(not(unix))]
pub mod publisher {
    use flowpipe_config::pipeline::Pipeline;
    use flowpipe_engine::report::Report;
    use flowpipe_engine::run::{Options, RunHandle};

    use crate::machines::progress::OtherProgress;
    use crate::tally::Tally;

    /// Does nothing.
    pub struct Publisher;

    impl Publisher {
        pub fn prepare(_: &Pipeline, _: &Tally, _: &mut Options) -> Self {
            Self
        }

        pub fn open(&mut self, _: &RunHandle, _: OtherProgress) {}

        pub fn update(&self, _: &Tally) {}

        pub fn close(self, _: &Report) {}
    }
}
