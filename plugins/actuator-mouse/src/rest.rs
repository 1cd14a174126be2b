//! Where the pointer rests after gestures on systems whose pictures may contain it: beside what is to be read.

use flowpipe_desktop::Rect;

/// How far the pointer's picture reaches from its tip, in screen pixels. That of a large pointer is 48 pixels high.
const REACH: i32 = 56;

/// The nearest place from which the pointer covers nothing of the bounds, in the window. `None`: the bounds leave no room.
pub fn beside(bounds: Rect, window: Rect, now: [i32; 2]) -> Option<[i32; 2]> {
    let end = |from: i32, length: u32| from.saturating_add_unsigned(length);
    let before = [bounds.x, bounds.y].map(|edge| edge.saturating_sub(REACH));
    // To the left and above, some pointers reach too.
    let after = [end(bounds.x, bounds.width), end(bounds.y, bounds.height)]
        .map(|edge| edge.saturating_add(REACH / 2));
    let places = [
        [before[0], now[1]],
        [after[0], now[1]],
        [now[0], before[1]],
        [now[0], after[1]],
    ];
    let inside = places.into_iter().filter(|&place| window.contains(place));
    let distance = |place: &[i32; 2]| place[0].abs_diff(now[0]) + place[1].abs_diff(now[1]);
    inside.min_by_key(distance)
}

/// Where it rests before the first gestures, when it is not known where the window is: near the lower right corner of the
/// screen.
pub fn aside(screen: Rect) -> [i32; 2] {
    let near_end = |from: i32, length: u32| from.saturating_add_unsigned(length.saturating_sub(8));
    [
        near_end(screen.x, screen.width),
        near_end(screen.y, screen.height),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_beside_the_bounds_and_in_the_window() {
        let rect = |x, y, width, height| Rect {
            x,
            y,
            width,
            height,
        };
        let bounds = rect(100, 100, 400, 400);
        let at = |window: Rect, now: [i32; 2]| beside(bounds, window, now);
        let wide = rect(0, 0, 1000, 1000);
        assert_eq!(at(wide, [120, 300]), Some([44, 300]));
        assert_eq!(at(wide, [490, 300]), Some([528, 300]));
        assert_eq!(at(wide, [300, 490]), Some([300, 528]));
        assert_eq!(at(wide, [300, 110]), Some([300, 44]));
        // As wide as the window: only above and below there is room.
        assert_eq!(at(rect(100, 0, 400, 1000), [120, 300]), Some([120, 528]));
        assert_eq!(at(bounds, [120, 300]), None);
        // A monitor to the left of the first one.
        assert_eq!(aside(rect(-1920, 0, 3000, 1080)), [1072, 1072]);
        assert_eq!(aside(rect(-1920, -100, 1920, 1080)), [-8, 972]);
    }
}
