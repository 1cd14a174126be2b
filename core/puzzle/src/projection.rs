//! Projective maps of the plane: what a flat thing looks like in perspective.

/// A point of the plane, `[x, y]`.
pub type Point = [f64; 2];

/// Maps that shrink an area so much that it is nothing have no way back: see [`Projection::inverse`].
const FLAT: f64 = 1e-12;

/// A projective map of the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    rows: [f64; 9],
}

impl Projection {
    /// The one of a 3x3 matrix, by rows, of homogeneous coordinates. All multiples of one are the same map.
    #[must_use]
    pub const fn of_rows(rows: [f64; 9]) -> Self {
        Self { rows }
    }

    /// The one that takes the unit square to four corners, the origin and the end of the x axis first (Heckbert,
    /// "Fundamentals of texture mapping and image warping", 1989).
    #[must_use]
    pub fn of_unit_square([p0, p1, p2, p3]: [Point; 4]) -> Self {
        let sum = [p0[0] - p1[0] + p2[0] - p3[0], p0[1] - p1[1] + p2[1] - p3[1]];
        let (d1, d2) = (
            [p1[0] - p2[0], p1[1] - p2[1]],
            [p3[0] - p2[0], p3[1] - p2[1]],
        );
        let determinant = d1[0] * d2[1] - d2[0] * d1[1];
        let (g, h) = if sum == [0.0, 0.0] || determinant == 0.0 {
            (0.0, 0.0)
        } else {
            (
                (sum[0] * d2[1] - d2[0] * sum[1]) / determinant,
                (d1[0] * sum[1] - sum[0] * d1[1]) / determinant,
            )
        };
        Self::of_rows([
            p1[0] - p0[0] + g * p1[0],
            p3[0] - p0[0] + h * p3[0],
            p0[0],
            p1[1] - p0[1] + g * p1[1],
            p3[1] - p0[1] + h * p3[1],
            p0[1],
            g,
            h,
            1.0,
        ])
    }

    /// Its matrix, by rows.
    #[must_use]
    pub const fn rows(&self) -> [f64; 9] {
        self.rows
    }

    /// Where a point goes. Not finite for those that go to infinity.
    #[must_use]
    pub fn map(&self, [x, y]: Point) -> Point {
        let [u, v, w] = [0, 3, 6].map(|row| {
            let row = &self.rows[row..row + 3];
            row[0] * x + row[1] * y + row[2]
        });
        [u / w, v / w]
    }

    /// The way back. `None` of a map that makes everything flat: one that leaves less of an area than a part in
    /// 10^12 of the square of how far it stretches lengths, which is what rounding leaves of a line.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        let m = &self.rows;
        let cofactors = [
            m[4] * m[8] - m[5] * m[7],
            m[2] * m[7] - m[1] * m[8],
            m[1] * m[5] - m[2] * m[4],
            m[5] * m[6] - m[3] * m[8],
            m[0] * m[8] - m[2] * m[6],
            m[2] * m[3] - m[0] * m[5],
            m[3] * m[7] - m[4] * m[6],
            m[1] * m[6] - m[0] * m[7],
            m[0] * m[4] - m[1] * m[3],
        ];
        let determinant = m[0] * cofactors[0] + m[1] * cofactors[3] + m[2] * cofactors[6];
        let largest = |places: &[usize]| {
            let values = places.iter().map(|&place| m[place].abs());
            values.fold(0.0, f64::max)
        };
        let (stretch, depth) = (largest(&[0, 1, 3, 4]), largest(&[6, 7, 8]));
        (determinant.abs() > FLAT * stretch * stretch * depth)
            .then(|| Self::of_rows(cofactors.map(|value| value / determinant)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_flat_has_no_way_back() {
        // A square of one pixel seen from the side: a strip so many pixels thin, near the origin or far from it.
        for (thin, has_one) in [(1e-3, true), (1e-9, true), (1e-13, false), (0.0, false)] {
            let map = Projection::of_rows([1.0, 0.0, 0.0, 1.0, thin, 0.0, 0.0, 0.0, 1.0]);
            assert_eq!(map.inverse().is_some(), has_one, "{thin}");
        }
        for rows in [[0.0; 9], [1.0; 9], [f64::NAN; 9]] {
            assert_eq!(Projection::of_rows(rows).inverse(), None, "{rows:?}");
        }
        let line = [[0.1, 0.1], [1000.3, 1000.3], [1000.3, 1000.3], [0.1, 0.1]];
        assert_eq!(Projection::of_unit_square(line).inverse(), None);
    }

    proptest! {
        /// Whatever the matrix is multiplied by, and whatever the unit of lengths is.
        #[test]
        fn the_way_back_leads_back(
            turn in -3.0..3.0,
            shrink in 0.3..1.0,
            depth in prop::array::uniform2(-0.4..0.4),
            place in prop::array::uniform2(-0.3..0.3),
            unit in -5..5_i32,
            times in prop_oneof![-4.0..-0.1, 0.1..4.0_f64],
            at in prop::array::uniform2(-1.0..1.0),
        ) {
            let (sin, cos) = f64::sin_cos(turn);
            let unit = 10.0_f64.powi(unit);
            let rows = [
                unit * cos, -unit * shrink * sin, unit * place[0],
                unit * sin, unit * shrink * cos, unit * place[1],
                depth[0], depth[1], 1.0,
            ];
            let map = Projection::of_rows(rows.map(|value| value * times));
            let again = map.inverse().map(|back| back.map(map.map(at)));
            let off = again.map(|again| (again[0] - at[0]).hypot(again[1] - at[1]));
            prop_assert!(off.is_some_and(|off| off < 1e-6), "{again:?}");
        }
    }
}
