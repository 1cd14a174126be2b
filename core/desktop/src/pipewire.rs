//! Pictures of monitors, as compositors send them through PipeWire: whenever something has changed. Beside them comes
//! where the pointer is.

#[cfg(feature = "input")]
mod cursor;
mod dma_buf;
mod format;
mod library;
mod metadata;
mod newest;
mod pictures;
mod remote;
mod rows;
mod stream;
#[cfg(test)]
mod testing;

#[cfg(feature = "input")]
pub(crate) use cursor::{Besides, Cursor, CursorReports};
#[cfg(feature = "portal")]
pub(crate) use newest::Newest;
#[cfg(feature = "input")]
pub(crate) use newest::PAUSED;
pub(crate) use newest::Whole;
pub(crate) use pictures::Pictures;
pub(crate) use remote::Remote;
