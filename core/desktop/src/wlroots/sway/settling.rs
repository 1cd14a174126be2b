//! When the size of a window is settled.
//!
//! On a scaled monitor, sway gives a window that has just opened another size than it has asked for, and reports that size
//! for about two seconds, while the program may have drawn itself for a later one already. What is seen then is not what
//! a press would meet.

use std::time::{Duration, Instant};

use crate::window::WindowId;

/// How long a window that has not the size that it has asked for must keep its size. A tiled one may never get it.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// The sizes of a window without its frame: width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The one that it has.
    pub actual: [u32; 2],
    /// The one that it has asked for. `None`: sway does not report it.
    pub natural: Option<[u32; 2]>,
}

/// Whether the window that was asked for last has settled. Once it has, it may get any size at once: a window that is
/// resized while its board is played would otherwise not be seen for so long.
#[derive(Default)]
pub enum Settling {
    /// None was asked for.
    #[default]
    Unknown,
    /// It has these sizes since then.
    Since(WindowId, Sizes, Instant),
    /// It has settled.
    Settled(WindowId),
}

impl Settling {
    /// Whether the size of a window is settled at this time.
    pub fn is_settled(&mut self, window: WindowId, sizes: Sizes, now: Instant) -> bool {
        let is_natural = sizes.natural.is_none_or(|natural| natural == sizes.actual);
        let is_settled = match *self {
            Self::Settled(known) if known == window => true,
            _ if is_natural => true,
            Self::Since(known, seen, since) if known == window && seen == sizes => {
                now.duration_since(since) >= SETTLED_AFTER
            }
            _ => {
                *self = Self::Since(window, sizes, now);
                false
            }
        };
        if is_settled {
            *self = Self::Settled(window);
        }
        is_settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATURAL: [u32; 2] = [600, 1067];
    const WINDOW: WindowId = WindowId(7);

    fn of(actual: [u32; 2]) -> Sizes {
        Sizes {
            actual,
            natural: Some(NATURAL),
        }
    }

    #[test]
    fn a_window_with_its_own_size_is_settled_at_once() {
        let mut settling = Settling::default();
        let now = Instant::now();
        assert!(settling.is_settled(WINDOW, of(NATURAL), now));
        let unknown = Sizes {
            actual: [300, 320],
            natural: None,
        };
        assert!(settling.is_settled(WINDOW, unknown, now));
    }

    #[test]
    fn another_size_is_settled_once_it_has_lasted() {
        let mut settling = Settling::default();
        let began = Instant::now();
        let mut is_settled = |window, actual, after_ms| {
            let now = began + Duration::from_millis(after_ms);
            settling.is_settled(window, of(actual), now)
        };
        // A window that has just opened, as sway has reported it.
        assert!(!is_settled(WINDOW, [300, 320], 0));
        assert!(!is_settled(WINDOW, [300, 320], 2_000));
        assert!(!is_settled(WINDOW, [600, 640], 2_010));
        assert!(!is_settled(WINDOW, [600, 640], 5_000));
        assert!(is_settled(WINDOW, [600, 640], 5_010));
        assert!(is_settled(WINDOW, [600, 640], 60_000));
        // Once it has settled, it may be resized.
        assert!(is_settled(WINDOW, [700, 640], 60_005));
        // Another one begins again.
        assert!(!is_settled(WindowId(8), [600, 640], 60_010));
    }
}
