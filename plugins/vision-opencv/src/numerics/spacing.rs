//! Even spacing: which of many places are at equal distances.

/// The number of places after each that it is compared with: others may lie between.
const NEIGHBOURS: usize = 4;
/// More of the places in a row are there than this share.
const THERE: f64 = 0.6;

/// Places at one distance.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// Those that are of it, by number from 0, with their index among all.
    pub members: Vec<(usize, usize)>,
}

impl Spacing {
    /// The most places that lie evenly, with as few as possible missing between. They are sorted; each is as far
    /// off as `share` of a step and `off`.
    #[must_use]
    pub fn find(places: &[f64], share: f64, off: f64) -> Option<Self> {
        let mut best: Option<(i64, Self)> = None;
        for (index, &first) in places.iter().enumerate() {
            for &second in places[index + 1..].iter().take(NEIGHBOURS) {
                let step = second - first;
                // Half a step on, nothing may be taken for either.
                if step * (0.4 - share) <= off {
                    continue;
                }
                let Some(spacing) = Self::of(places, first, step, share * step + off) else {
                    continue;
                };
                let score = spacing.score();
                if best.as_ref().is_none_or(|(most, _)| score > *most) {
                    best = Some((score, spacing));
                }
            }
        }
        best.map(|(_, spacing)| spacing)
    }

    /// Those that lie a whole number of steps from the first one.
    fn of(places: &[f64], first: f64, step: f64, off: f64) -> Option<Self> {
        let (mut start, mut step) = (first, step);
        let mut members: Vec<(i64, usize)> = Vec::new();
        // The step of two neighbours is not exact enough for those far away.
        for _ in 0..3 {
            members.clear();
            for (index, &place) in places.iter().enumerate() {
                let number = ((place - start) / step).round();
                if (place - start - number * step).abs() <= off {
                    members.push((number as i64, index));
                }
            }
            let (last_number, last) = *members.last()?;
            let (number, index) = *members.first()?;
            if last_number == number {
                return None;
            }
            step = (places[last] - places[index]) / (last_number - number) as f64;
            start = places[index] - number as f64 * step;
        }
        let least = members.first()?.0;
        Some(Self {
            members: members
                .into_iter()
                .map(|(number, index)| ((number - least) as usize, index))
                .collect(),
        })
        .filter(|spacing| spacing.places() as f64 > THERE * (spacing.parts() + 1) as f64)
    }

    /// Steps from the first place to the last.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.members.last().map_or(0, |(number, _)| *number)
    }

    /// How many of the places from the first to the last are there.
    #[must_use]
    pub fn places(&self) -> usize {
        let mut numbers: Vec<usize> = self.members.iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        numbers.len()
    }

    /// The places that are there less those that are not.
    fn score(&self) -> i64 {
        2 * self.places() as i64 - self.parts() as i64 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_places_are_found_among_others() {
        let places = [3.0, 10.0, 20.3, 29.8, 34.0, 50.1, 50.4, 60.0, 69.9, 90.0];
        let spacing = Spacing::find(&places, 0.06, 0.3).unwrap();
        assert_eq!(spacing.parts(), 8);
        assert_eq!(spacing.places(), 7);
        assert!(Spacing::find(&[], 0.06, 0.3).is_none());
        assert!(Spacing::find(&[5.0, 5.0], 0.06, 0.3).is_none());
    }
}
