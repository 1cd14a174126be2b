//! Pictures of monitors, as compositors send them through PipeWire: whenever something has changed.

mod format;
mod library;
mod newest;
mod remote;
mod rows;
mod stream;

pub(crate) use newest::{Newest, Whole};
pub(crate) use remote::Remote;
pub(crate) use stream::Stream;
