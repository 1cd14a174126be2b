use proptest::prelude::*;

use super::*;

fn near(a: Point, b: Point, tolerance: f64) -> bool {
    (a[0] - b[0]).abs() < tolerance && (a[1] - b[1]).abs() < tolerance
}

#[test]
fn an_axis_aligned_board_is_scaled_and_moved() {
    let geometry = Geometry::axis_aligned(100.0, 50.0, 400.0, 200.0, 2, 4);
    assert!(near(geometry.to_frame([0.5, 0.5]), [150.0, 100.0], 1e-9));
    assert!(near(geometry.to_frame([4.0, 2.0]), [500.0, 250.0], 1e-9));
    assert!(near(
        geometry.to_board([150.0, 100.0]).unwrap(),
        [0.5, 0.5],
        1e-9
    ));
}

#[test]
fn corners_without_area_have_no_way_back() {
    for corners in [
        [[7.0, 7.0]; 4],
        [[0.0, 0.0], [100.0, 100.0], [200.0, 200.0], [300.0, 300.0]],
        [[0.1, 0.1], [1000.3, 1000.3], [1000.3, 1000.3], [0.1, 0.1]],
        [[f64::NAN, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
    ] {
        let geometry = Geometry {
            corners,
            rows: 3,
            cols: 3,
        };
        assert_eq!(geometry.to_board([1.0, 2.0]), None, "{corners:?}");
    }
}

proptest! {
    /// Corners are moved by up to a quarter of the board, so that they stay convex.
    #[test]
    fn to_board_undoes_to_frame_in_perspective(
        place in prop::array::uniform2(-2000.0..4000.0),
        size in prop::array::uniform2(40.0..3000.0),
        bend in prop::array::uniform8(-0.24..0.24),
        rows in 1..40_usize,
        cols in 1..40_usize,
        at in prop::array::uniform2(0.0..1.0),
    ) {
        let mut geometry = Geometry::axis_aligned(place[0], place[1], size[0], size[1], rows, cols);
        for (corner, bend) in geometry.corners.iter_mut().zip(bend.chunks(2)) {
            *corner = [corner[0] + bend[0] * size[0], corner[1] + bend[1] * size[1]];
        }
        let (cols, rows) = (cols as f64, rows as f64);
        let board_corners = [[0.0, 0.0], [cols, 0.0], [cols, rows], [0.0, rows]];
        for (corner, board) in geometry.corners.into_iter().zip(board_corners) {
            prop_assert!(near(geometry.to_frame(board), corner, 1e-6));
        }
        let point = [at[0] * cols, at[1] * rows];
        let back = geometry.to_board(geometry.to_frame(point));
        prop_assert!(back.is_some_and(|back| near(back, point, 1e-6)), "{point:?} {back:?}");
    }
}
