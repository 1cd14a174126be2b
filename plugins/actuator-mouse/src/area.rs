//! Where the board is on the screen: nothing outside of it is ever touched.

use flowpipe_desktop::Rect;
use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::puzzle::place::reach;
use flowpipe_plugin::puzzle::{Board, Geometry, Point};

/// A board on the screen.
pub struct Area<'a> {
    board: &'a Board,
    geometry: &'a Geometry,
    frame: &'a FrameNote,
}

impl<'a> Area<'a> {
    pub fn new(board: &'a Board, geometry: &'a Geometry, frame: &'a FrameNote) -> Self {
        Self {
            board,
            geometry,
            frame,
        }
    }

    /// The board itself.
    pub fn board(&self) -> &'a Board {
        self.board
    }

    /// The screen pixel that a point in board units lies in.
    pub fn pixel(&self, point: Point) -> [i32; 2] {
        self.on_screen(self.geometry.to_frame(point))
            .map(|value| value.floor() as i32)
    }

    /// Whether pipes leave the board over its edges.
    pub fn warps(&self) -> bool {
        reach(self.board) > 0
    }

    /// The pixels that the pointer may be put on: those that lie wholly inside the board's rectangle;
    /// where pipes leave it, also those of a cell beyond, as far as they are inside of the board's
    /// window, which is `window`.
    pub fn bounds(&self, window: Option<Rect>) -> Rect {
        let board = around(&self.geometry.corners.map(|corner| self.on_screen(corner)));
        let Some(window) = window.filter(|_| self.warps()) else {
            return board;
        };
        let beyond = reach(self.board) as f64;
        let Geometry { rows, cols, .. } = *self.geometry;
        let (right, bottom) = (cols as f64 + beyond, rows as f64 + beyond);
        let corners = [
            [-beyond, -beyond],
            [right, -beyond],
            [right, bottom],
            [-beyond, bottom],
        ];
        let wider = around(&corners.map(|corner| self.on_screen(self.geometry.to_frame(corner))));
        wider.intersection(window).unwrap_or(board)
    }

    fn on_screen(&self, in_frame: Point) -> Point {
        let FrameNote { origin, scale, .. } = self.frame;
        [0, 1].map(|axis| origin[axis] + in_frame[axis] / scale)
    }
}

/// The pixels that lie wholly inside the rectangle around some corners.
fn around(corners: &[Point; 4]) -> Rect {
    let least = |axis: usize| {
        corners
            .iter()
            .fold(f64::INFINITY, |least, corner| least.min(corner[axis]))
            .ceil() as i32
    };
    let most = |axis: usize| {
        corners
            .iter()
            .fold(f64::NEG_INFINITY, |most, corner| most.max(corner[axis]))
            .floor() as i32
    };
    let (left, top) = (least(0), least(1));
    let length = |from: i32, to: i32| u32::try_from(i64::from(to) - i64::from(from)).unwrap_or(0);
    Rect {
        x: left,
        y: top,
        width: length(left, most(0)),
        height: length(top, most(1)),
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::board::Description;

    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    #[test]
    fn scale_and_origin_count() {
        let frame = FrameNote::of("test")
            .with_origin([100.0, 50.0])
            .with_scale(2.0);
        let geometry = Geometry::axis_aligned(20.0, 40.0, 101.0, 200.0, 4, 2);
        let board = Board::rectangle(4, 2).unwrap();
        let area = Area::new(&board, &geometry, &frame);
        assert_eq!(area.pixel([0.5, 0.5]), [122, 82]);
        let bounds = area.bounds(None);
        assert_eq!(bounds, rect(110, 70, 50, 100));
        assert!(bounds.contains([110, 70]) && bounds.contains([159, 169]));
        assert!(
            !bounds.contains([109, 70])
                && !bounds.contains([160, 100])
                && !bounds.contains([120, 170])
        );
        let window = rect(0, 0, 2000, 2000);
        assert_eq!(area.bounds(Some(window)), bounds, "no pipe leaves it");
    }

    #[test]
    fn a_cell_beyond_a_board_that_warps_may_be_touched_inside_of_its_window() {
        let board = Board::new(Description {
            rows: 3,
            cols: 3,
            warps: true,
            ..Description::default()
        })
        .unwrap();
        let geometry = Geometry::axis_aligned(40.0, 40.0, 30.0, 30.0, 3, 3);
        let frame = FrameNote::of("test");
        let area = Area::new(&board, &geometry, &frame);
        let bounds = |window| area.bounds(window);
        assert_eq!(bounds(None), rect(40, 40, 30, 30), "no window is known");
        let wide = rect(0, 0, 100, 100);
        assert_eq!(bounds(Some(wide)), rect(30, 30, 50, 50));
        let narrow = rect(35, 0, 40, 100);
        assert_eq!(bounds(Some(narrow)), rect(35, 30, 40, 50));
    }
}
