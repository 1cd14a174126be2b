//! Pictures of monitors, as compositors send them through PipeWire: whenever something has changed. Beside them comes
//! where the pointer is.

mod changes;
#[cfg(feature = "input")]
mod cursor;
mod cut;
mod dma_buf;
mod format;
mod library;
mod metadata;
mod newest;
mod pictures;
pub mod presence;
mod remote;
mod rows;
mod sender;
mod stream;
#[cfg(test)]
mod testing;
mod tracking;

#[cfg(feature = "input")]
pub(crate) use cursor::{Cursor, CursorReports, OtherReceiver};
pub(crate) use cut::Cut;
pub(crate) use newest::END_KNOWN_WITHIN;
#[cfg(feature = "portal")]
pub(crate) use newest::Newest;
#[cfg(feature = "input")]
pub(crate) use newest::PAUSED;
pub(crate) use newest::Whole;
pub(crate) use pictures::Pictures;
pub(crate) use remote::Remote;
