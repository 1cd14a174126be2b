//! Sends a plugin's `tracing` events to the host's log.

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::host::Host;

static LIBRARY_HOST: OnceLock<Host> = OnceLock::new();

thread_local! {
    static STAGE_HOST: Cell<Option<Host>> = const { Cell::new(None) };
}

/// Installs the subscriber for this library. `host` is used on threads that run no stage.
pub(crate) fn install(host: Host) {
    let _ = LIBRARY_HOST.set(host);
    // An error means that the plugin has its own subscriber, which stays.
    let _ = tracing::subscriber::set_global_default(ToHost);
}

/// Until the result is dropped, this thread logs under the given stage's name.
pub(crate) fn enter(host: Host) -> Entered {
    Entered(STAGE_HOST.replace(Some(host)))
}

pub(crate) struct Entered(Option<Host>);

impl Drop for Entered {
    fn drop(&mut self) {
        STAGE_HOST.set(self.0);
    }
}

struct ToHost;

impl Subscriber for ToHost {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::DEBUG
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::DEBUG)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        // Spans do not cross the ABI; any number serves.
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        // The thread-local is gone at the end of a thread.
        let stage = STAGE_HOST.try_with(Cell::get).ok().flatten();
        let Some(host) = stage.or_else(|| LIBRARY_HOST.get().copied()) else {
            return;
        };
        let mut text = Text(String::new());
        event.record(&mut text);
        host.log(*event.metadata().level(), &text.0);
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let separator = if self.0.is_empty() { "" } else { " " };
        // Writing to a String can't fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{separator}{value:?}")
        } else {
            write!(self.0, "{separator}{}={value:?}", field.name())
        };
    }
}
