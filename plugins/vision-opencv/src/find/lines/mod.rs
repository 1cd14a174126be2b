//! Detects straight thin lines in a picture, vertical and horizontal ones.

mod assembly;
mod contrast;
pub mod criteria;
pub mod detector;
pub mod segment;
