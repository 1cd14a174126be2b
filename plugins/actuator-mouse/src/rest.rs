//! Where the pointer rests after gestures on systems whose pictures may contain it: beside what is to be read.

use flowpipe_desktop::Rect;

/// How far the pointer's picture reaches from its tip, in screen pixels. That of a large pointer is 48 pixels high.
const REACH: i32 = 56;

/// How far from the edge of the window it rests, in screen pixels.
const MARGIN: i32 = 8;

/// A place at the nearest edge of the window, from which the pointer covers nothing of the bounds. `None`: the bounds leave
/// no room. Beside the bounds it could cover the next board, which may have another shape.
pub fn beside(bounds: Rect, window: Rect, now: [i32; 2]) -> Option<[i32; 2]> {
    let end = |from: i32, length: u32| from.saturating_add_unsigned(length);
    let sides = |rect: Rect| {
        [
            (rect.x, end(rect.x, rect.width)),
            (rect.y, end(rect.y, rect.height)),
        ]
    };
    let (inner, outer) = (sides(bounds), sides(window));
    let places = [0, 1].into_iter().flat_map(|axis| {
        let ((start, stop), (first, last)) = (inner[axis], outer[axis]);
        let at = |value| {
            let mut place = now;
            place[axis] = value;
            place
        };
        // Nearest to the bounds, and at the edge. To the left and above, some pointers reach too.
        let before = start.saturating_sub(REACH);
        let after = stop.saturating_add(REACH / 2);
        [
            (before, before.min(first.saturating_add(MARGIN))),
            (after, after.max(last.saturating_sub(MARGIN))),
        ]
        .map(|(near, at_edge)| (at(near), at(at_edge)))
    });
    let inside = places.filter(|(near, _)| window.contains(*near));
    let distance = |(near, _): &([i32; 2], _)| near[0].abs_diff(now[0]) + near[1].abs_diff(now[1]);
    inside.min_by_key(distance).map(|(_, place)| place)
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
        assert_eq!(at(wide, [120, 300]), Some([8, 300]));
        assert_eq!(at(wide, [490, 300]), Some([992, 300]));
        assert_eq!(at(wide, [300, 490]), Some([300, 992]));
        assert_eq!(at(wide, [300, 110]), Some([300, 8]));
        // No more room than the pointer needs.
        let narrow = rect(42, 42, 488, 488);
        assert_eq!(at(narrow, [300, 490]), Some([300, 528]));
        assert_eq!(at(narrow, [300, 110]), Some([300, 44]));
        // As wide as the window: only above and below there is room.
        assert_eq!(at(rect(100, 0, 400, 1000), [120, 300]), Some([120, 992]));
        assert_eq!(at(bounds, [120, 300]), None);
        // A monitor to the left of the first one.
        assert_eq!(aside(rect(-1920, 0, 3000, 1080)), [1072, 1072]);
        assert_eq!(aside(rect(-1920, -100, 1920, 1080)), [-8, 972]);
    }
}
