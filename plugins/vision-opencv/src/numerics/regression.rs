//! Linear regression: least squares.

/// Of evenly spaced values the one at 0 and the step, from places, values and weights. `None` of values at one place.
#[must_use]
pub fn line(points: impl Iterator<Item = (f64, f64, f64)> + Clone) -> Option<(f64, f64)> {
    let weight: f64 = points.clone().map(|(_, _, weight)| weight).sum();
    let mean = |value: &dyn Fn(f64, f64) -> f64| {
        let weighted = points.clone().map(|(x, y, weight)| weight * value(x, y));
        weighted.sum::<f64>() / weight
    };
    let (middle, height) = (mean(&|x, _| x), mean(&|_, y| y));
    let covariance = mean(&|x, y| (x - middle) * (y - height));
    let variance = mean(&|x, _| (x - middle).powi(2));
    let step = covariance / variance;
    (variance > 0.0 && step.is_finite()).then_some((height - step * middle, step))
}

/// The weights of the terms of a sum that come closest to what it should be, by the normal equations. `None`
/// where there are too few different sums.
#[must_use]
pub fn least_squares<const N: usize>(
    sums: impl Iterator<Item = ([f64; N], f64)>,
) -> Option<[f64; N]> {
    let mut matrix = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (terms, value) in sums {
        for row in 0..N {
            for column in 0..N {
                matrix[row][column] += terms[row] * terms[column];
            }
            right[row] += terms[row] * value;
        }
    }
    // Gauss, with the largest pivot of each column.
    for column in 0..N {
        let pivot = (column..N)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < 1e-9 {
            return None;
        }
        for row in 0..N {
            if row != column {
                let factor = matrix[row][column] / matrix[column][column];
                let pivot = matrix[column];
                for (value, pivot) in matrix[row].iter_mut().zip(pivot) {
                    *value -= factor * pivot;
                }
                right[row] -= factor * right[column];
            }
        }
    }
    let solved: [f64; N] = std::array::from_fn(|row| right[row] / matrix[row][row]);
    solved
        .iter()
        .all(|value| value.is_finite())
        .then_some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_values_count_more() {
        let even = [(0.0, 5.0, 1.0), (1.0, 8.0, 2.0), (4.0, 17.0, 1.0)];
        assert_eq!(line(even.into_iter()), Some((5.0, 3.0)));
        let stray = [(0.0, 5.0, 1e6), (1.0, 8.0, 1e6), (2.0, 99.0, 1e-6)];
        let (start, step) = line(stray.into_iter()).unwrap();
        assert!((start - 5.0).abs() < 1e-3 && (step - 3.0).abs() < 1e-3);
        assert_eq!(line([(2.0, 1.0, 1.0), (2.0, 3.0, 1.0)].into_iter()), None);
        assert_eq!(line(std::iter::empty()), None);
    }

    #[test]
    fn least_squares_find_a_line() {
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)];
        let found = least_squares(points.into_iter().map(|(x, y)| ([1.0, x], y))).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] - 2.0).abs() < 1e-9);
        assert_eq!(least_squares([([1.0, 2.0], 1.0); 3].into_iter()), None);
    }
}
