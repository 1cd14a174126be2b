//! Where a monitor lies that the portal does not place.
//!
//! KDE's portal before Plasma 6 gives no position, and the size in pixels instead of the compositor's units. It takes the
//! mouse's places in those units all the same, from the corner of the monitor that it has shown last, to whichever program.
//! So this is known where there is one monitor alone: the compositor says how large it is.

use super::source::{ChosenSource, SourceKind};
use crate::rect::Rect;
use crate::wlroots::{Output, outputs_of_session};

/// A monitor, as the compositor describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompositorMonitor {
    pub name: String,
    pub place: Rect,
    /// How many pixels it has to the right and down, before it is turned.
    pub pixels: [u32; 2],
}

impl From<Output> for CompositorMonitor {
    fn from(output: Output) -> Self {
        Self {
            name: output.monitor.name,
            place: output.monitor.place,
            pixels: output.pixels,
        }
    }
}

/// Places what was chosen, if the portal has not, and it is the compositor's only monitor.
pub(super) fn placed(source: ChosenSource) -> ChosenSource {
    placed_among(source, || {
        // Without an answer, it stays without a place.
        let outputs = outputs_of_session().unwrap_or_default().into_iter();
        outputs.map(CompositorMonitor::from).collect()
    })
}

/// `monitors`: asks the compositor.
fn placed_among(
    mut source: ChosenSource,
    monitors: impl FnOnce() -> Vec<CompositorMonitor>,
) -> ChosenSource {
    if source.kind != SourceKind::Monitor || source.position.is_some() {
        return source;
    }
    let monitors = monitors();
    let [only] = monitors.as_slice() else {
        return source;
    };
    let Rect {
        x,
        y,
        width,
        height,
    } = only.place;
    let units = [width, height];
    if source.size == Some(only.pixels) || source.size == Some(units) {
        source.position = Some([x, y]);
        source.size = Some(units);
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(size: Option<[u32; 2]>) -> ChosenSource {
        ChosenSource {
            node: 7,
            kind: SourceKind::Monitor,
            position: None,
            size,
            mapping_id: None,
        }
    }

    fn monitor() -> CompositorMonitor {
        CompositorMonitor {
            name: "DP-1".to_owned(),
            place: Rect {
                x: 40,
                y: 0,
                width: 1024,
                height: 640,
            },
            pixels: [1280, 800],
        }
    }

    #[test]
    fn a_size_in_pixels_becomes_one_in_units() {
        for size in [[1280, 800], [1024, 640]] {
            let placed = placed_among(source(Some(size)), || vec![monitor()]);
            assert_eq!(placed.position, Some([40, 0]), "{size:?}");
            assert_eq!(placed.size, Some([1024, 640]), "{size:?}");
        }
        for size in [None, Some([1280, 640]), Some([640, 400])] {
            assert_eq!(placed_among(source(size), || vec![monitor()]), source(size));
        }
    }

    #[test]
    fn one_of_several_monitors_is_not_known() {
        let source = source(Some([1280, 800]));
        for count in [0, 2] {
            let monitors = || (0..count).map(|_| monitor()).collect();
            assert_eq!(placed_among(source.clone(), monitors), source);
        }
    }

    #[test]
    fn what_the_portal_places_stays_there() {
        let there = ChosenSource {
            position: Some([5, 6]),
            ..source(Some([1280, 800]))
        };
        let window = ChosenSource {
            kind: SourceKind::Window,
            ..source(Some([1280, 800]))
        };
        for source in [there, window] {
            assert_eq!(placed_among(source.clone(), || vec![monitor()]), source);
        }
    }
}
