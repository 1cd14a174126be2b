//! What is different where GNOME is behind the portal.
//!
//! Mutter, its compositor, passes on what it is sent as it does without a portal: see [`crate::mutter::passing_on`].
//!
//! By the specification, places on a monitor are in the compositor's units. GNOME takes them for pixels of the monitor's
//! picture, and `xdg-desktop-portal` refuses those beyond its width and height in units. So where a monitor has more pixels
//! than units, the places to the right and below can't be reached, in whichever of the two they are sent. Where it has as
//! many, both are the same. Through libei GNOME takes units.

use crate::bus::Bus;
use crate::mutter::displays::{Display, displays};
use crate::rect::Rect;

/// Who answers where GNOME's compositor is.
const GNOME: &str = "org.gnome.Mutter.RemoteDesktop";

/// Whether GNOME's compositor is behind the portal of a bus.
pub(super) fn is_behind(bus: &Bus) -> bool {
    bus.has_owner(GNOME).unwrap_or(false)
}

/// Checks that GNOME's portal reaches a monitor by its methods, with places in the compositor's units.
///
/// # Errors
/// Why it does not.
pub(super) fn check(bus: &Bus, monitor: Rect) -> Result<(), String> {
    let displays = displays(bus).map_err(|error| {
        format!(
            "without libei, GNOME's portal reaches only a part of a scaled monitor, and GNOME does not report whether this \
             one is: {error}; set desktop = \"mutter\""
        )
    })?;
    reaches(monitor, &displays)
}

fn reaches(monitor: Rect, displays: &[Display]) -> Result<(), String> {
    let found = displays.iter().find(|it| it.monitor.place == monitor);
    match found.map(|it| it.pixels) {
        Some(pixels) if pixels == [monitor.width, monitor.height] => Ok(()),
        Some([width, height]) => Err(format!(
            "without libei, GNOME's portal reaches only a part of a scaled monitor: this one has {width} x {height} pixels, \
             and {} x {} logical pixels; set desktop = \"mutter\"",
            monitor.width, monitor.height
        )),
        None => Err(
            "GNOME reports no monitor at the place of the one that was chosen: set desktop = \"mutter\""
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Monitor;

    fn display(x: i32, [width, height]: [u32; 2], pixels: [u32; 2]) -> Display {
        Display {
            monitor: Monitor {
                name: "DP-1".to_owned(),
                place: Rect {
                    x,
                    y: 0,
                    width,
                    height,
                },
            },
            pixels,
        }
    }

    #[test]
    fn a_monitor_is_reached_that_has_as_many_pixels_as_units() {
        let left = display(0, [1024, 640], [1280, 800]);
        // Turned: as its picture is.
        let middle = display(1024, [800, 1280], [800, 1280]);
        let right = display(1824, [960, 600], [1920, 1200]);
        let displays = [left, middle, right];
        let reaches = |at: usize| reaches(displays[at].monitor.place, &displays);
        assert_eq!(reaches(1), Ok(()));
        for (at, words) in [
            (0, "1280 x 800 pixels, and 1024 x 640 logical pixels"),
            (2, "1920 x 1200 pixels, and 960 x 600 logical pixels"),
        ] {
            let error = reaches(at).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_monitor_that_gnome_has_not_is_not_reached() {
        let displays = [display(0, [1280, 800], [1280, 800])];
        for elsewhere in [
            display(5, [1280, 800], [1280, 800]),
            display(0, [1280, 801], [1280, 801]),
        ] {
            assert!(reaches(elsewhere.monitor.place, &displays).is_err());
        }
        assert!(reaches(displays[0].monitor.place, &[]).is_err());
    }
}
