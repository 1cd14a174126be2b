//! Medians and percentiles.

/// The smallest value that at least this share of the values does not exceed. `None`: there are no values.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_from_one() {
        assert_eq!(quantile::<u8>(&[], 0.5), None);
        assert_eq!(quantile(&[7], 0.5), Some(7));
        let hundred: Vec<u32> = (1..=100).collect();
        let shares = [0.0, 0.5, 0.95, 1.0];
        assert_eq!(
            shares.map(|share| quantile(&hundred, share)),
            [1, 50, 95, 100].map(Some)
        );
    }
}
