//! The stages of pipeline-name. As created, a target is any coloured spot; put what your game needs in its place.
//!
//! [`vision`] finds targets in a frame, [`planner`] decides what to do with them, [`targets`] is the message between.

mod planner;
mod targets;
mod vision;

flowpipe_plugin::export!(vision::Vision, planner::Planner);
