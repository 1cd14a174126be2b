//! Reads one picture after the other: where boards were at rest before is looked first.

pub mod hex_positions;
pub mod last_reading;
pub mod line_positions;
pub mod line_strength;
pub mod reader;
pub mod tracks;
