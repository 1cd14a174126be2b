//! Peaks of a histogram: columns or rows with many thin pixels.

/// A column or row with many thin pixels.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// Its middle, in pixels of the mask.
    pub at: f64,
    /// How many pixels it is wide.
    pub width: f64,
}

/// The runs above half of the highest count. The border's count is the highest; an inner line
/// crossed by a pipe in each of its cells keeps two thirds of it.
#[must_use]
pub fn peaks(counts: &[f64]) -> Vec<Peak> {
    let highest = counts.iter().copied().fold(0.0, f64::max);
    let level = 0.45 * highest;
    let mut peaks = Vec::new();
    let mut start = 0;
    while start < counts.len() {
        if counts[start] <= level {
            start += 1;
            continue;
        }
        let end = counts[start..]
            .iter()
            .position(|&count| count <= level)
            .map_or(counts.len(), |length| start + length);
        // Weighed with the neighbours below the level, for the middle to a fraction of a pixel.
        let (mut weight, mut moment) = (0.0, 0.0);
        for (index, &count) in counts
            .iter()
            .enumerate()
            .take((end + 1).min(counts.len()))
            .skip(start.saturating_sub(1))
        {
            weight += count;
            moment += count * (index as f64 + 0.5);
        }
        peaks.push(Peak {
            at: moment / weight,
            width: (end - start) as f64,
        });
        start = end;
    }
    peaks
}
