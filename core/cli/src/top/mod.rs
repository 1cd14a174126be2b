//! Looking at a run while it goes on: what a run offers to whoever asks, and what `flowpipe top` shows of it.
//!
//! # Layout
//! - [`wire`]: what goes from a run to whoever looks.
//! - [`folder`]: where runs are found. [`offer`] (with `slot` and `host`): the run's side. [`guest`]: the side of who looks.
//! - [`memory`]: what is known of a run from what it has told. [`view`]: that, as characters.
//! - [`watcher`]: the terminal.

#[cfg(unix)]
pub mod folder;
#[cfg(unix)]
pub mod guest;
#[cfg(unix)]
mod host;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod offer;
#[cfg(unix)]
mod slot;
#[cfg(unix)]
pub mod view;
#[cfg(unix)]
pub mod watcher;
#[cfg(unix)]
pub mod wire;

/// Where there are no Unix sockets, a run offers nothing.
#[cfg(not(unix))]
pub mod offer {
    use flowpipe_config::pipeline::Pipeline;
    use flowpipe_engine::report::Report;
    use flowpipe_engine::run::{Options, RunHandle};

    use crate::show::happenings::Tally;

    /// Nothing.
    pub struct Offer;

    impl Offer {
        pub fn prepare(_: &Pipeline, _: &mut Options) -> Self {
            Self
        }

        pub fn open(&mut self, _: &RunHandle) {}

        pub fn tell(&self, _: &Tally) {}

        pub fn close(self, _: &Report) {}
    }
}
