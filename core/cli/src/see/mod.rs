//! What `flowpipe see` consists of: it runs pictures through vision, and prints what vision read.

mod messages;
pub mod overlay;
pub mod picture;
pub mod printer;
pub mod record;
pub mod text;
pub mod times;
pub mod vision_run;
