//! Whether the current work is cancelled.

use flowpipe_abi as abi;

/// A cancellation token. Long work polls it and returns soon after it is cancelled. The result does not matter then.
#[derive(Clone, Copy)]
pub struct Cancel<'a> {
    source: Source<'a>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Host(&'a abi::Host, *const abi::Context),
    Function(&'a (dyn Fn() -> bool + Sync)),
}

// SAFETY: `cancelled` is tagged [any-thread, inside process], and the lifetime keeps a `Cancel`
// inside process.
unsafe impl Send for Cancel<'_> {}
// SAFETY: as above.
unsafe impl Sync for Cancel<'_> {}

impl<'a> Cancel<'a> {
    pub(crate) fn of_context(host: &'a abi::Host, context: *const abi::Context) -> Self {
        Self {
            source: Source::Host(host, context),
        }
    }

    /// A token that calls a function: for tests, and to run a solver without a host.
    #[must_use]
    pub fn by(function: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            source: Source::Function(function),
        }
    }

    /// A token that never cancels.
    #[must_use]
    pub fn never() -> Self {
        Self::by(&|| false)
    }

    /// Whether to return soon.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self.source {
            // SAFETY: host and context are valid inside process, and the lifetime ends there.
            Source::Host(host, context) => unsafe { (host.cancelled)(host, context) != 0 },
            Source::Function(function) => function(),
        }
    }
}
