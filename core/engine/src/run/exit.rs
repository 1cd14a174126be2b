//! The result of a thread that ends.

use std::time::Duration;

use flowpipe_host::instance::Instance;

/// The result of a thread that ends.
#[derive(Default)]
pub(crate) struct WorkerExit {
    /// Empty for a race's thread, and for one that was abandoned.
    pub instances: Vec<Instance>,
    /// The instance of this place among them is to be restarted after this time.
    pub restart: Option<(usize, Duration)>,
    /// The stage pauses, and has more work.
    pub is_paused: bool,
}

impl WorkerExit {
    /// The stream has ended.
    pub(crate) fn finished(instance: Instance) -> Self {
        Self {
            instances: vec![instance],
            ..Self::default()
        }
    }

    pub(crate) fn paused(instance: Option<Instance>) -> Self {
        Self {
            instances: instance.into_iter().collect(),
            is_paused: true,
            ..Self::default()
        }
    }

    pub(crate) fn restart(instances: Vec<Instance>, which: usize, after: Duration) -> Self {
        Self {
            instances,
            restart: Some((which, after)),
            is_paused: false,
        }
    }
}
