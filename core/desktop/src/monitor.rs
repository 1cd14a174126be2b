//! Monitors.

use crate::rect::Rect;

/// A monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// What the system calls it.
    pub name: String,
    /// Where it lies.
    pub place: Rect,
}
