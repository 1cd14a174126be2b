//! Reads one picture after the other, and remembers where boards were at rest.
//!
//! | Rule | Module |
//! |---|---|
//! | where is searched first: in place, turned there, anywhere | [`reader`] |
//! | which boards are remembered | [`tracks`] |
//! | whether a board of squares is where it was, and at rest | [`line_positions`] |
//! | whether a board of hexagons is where it was, and at rest | [`hex_positions`] |
//! | how strong the lines of a board are when it turns | [`line_strength`] |
//! | which pixels have changed since the last reading | [`last_reading`] |

pub mod hex_positions;
pub mod last_reading;
pub mod line_positions;
pub mod line_strength;
pub mod reader;
pub mod tracks;
