//! What `flowpipe see` shows to vision, and what it tells.

pub mod look;
pub mod overlay;
pub mod printer;
pub mod record;
pub mod seen;
pub mod text;
pub mod times;
