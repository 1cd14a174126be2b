//! Quantiles and the median.

/// The value at a share of the order, 0 of none.
#[must_use]
pub fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let index = (share * values.len() as f64) as usize;
    let index = index.min(values.len() - 1);
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// The middle one, or the mean of the two middle ones. `None` of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    let lower = values.len().checked_sub(1)? / 2;
    Some(f64::midpoint(values[lower], values[upper]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_order() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        let shares = [0.0, 0.5, 0.75, 1.0];
        let found = shares.map(|share| quantile(values.into_iter(), share));
        assert_eq!(found, [1.0, 3.0, 4.0, 5.0]);
        assert_eq!(quantile(std::iter::empty(), 0.5), 0.0);
    }
}
