//! Evenly spaced values: where the first one lies, and how far the next one is.

/// The value at 0 and the step by least squares, of places, values and weights. `None` of values at one place.
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
}
