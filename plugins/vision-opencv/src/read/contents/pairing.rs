//! Pairs things that look alike.
//!
//! The nearest of each thing must have it as its own nearest, and be much nearer than the second nearest. So nothing
//! need be known of how things look, and ambiguous ones are detected.

use flowpipe_plugin::puzzle::{Cell, Colour, Terminal};

/// Things in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Each ascending, ascending by the first.
    pub pairs: Vec<(usize, usize)>,
    /// How clear the worst pair is: 0 at the margin, 1 for two equal things.
    pub clearness: f64,
}

impl Pairs {
    /// Pairs things by how far apart two of them look. `margin`: how far the partner may be, as a share
    /// of how far the second nearest is. `alike`: things that are nearer than this may be equal except for noise.
    /// `lone`: how far from another thing a thing would be, for there is none where there are but two.
    ///
    /// # Errors
    /// The first thing that has no clear partner.
    pub fn find(
        count: usize,
        margin: f64,
        alike: f64,
        apart: impl Fn(usize, usize) -> f64,
        lone: impl Fn(usize) -> f64,
    ) -> Result<Self, usize> {
        let mut nearest = vec![Nearest::default(); count];
        for a in 0..count {
            for b in a + 1..count {
                let distance = apart(a, b);
                nearest[a].take(b, distance);
                nearest[b].take(a, distance);
            }
        }
        let mut pairs = Vec::with_capacity(count / 2);
        let mut clearness: f64 = 1.0;
        for (index, near) in nearest.iter().enumerate() {
            let partner = near.partner.ok_or(index)?;
            let second = if count == 2 { lone(index) } else { near.second };
            // Of four equal things two may be nearer by chance.
            let ratio = if second > alike {
                near.first / second
            } else {
                1.0
            };
            if nearest[partner].partner != Some(index) || ratio > margin {
                return Err(index);
            }
            clearness = clearness.min(1.0 - ratio / margin);
            if index < partner {
                pairs.push((index, partner));
            }
        }
        Ok(Self { pairs, clearness })
    }

    /// The pairs as terminals, ascending: a colour for each, in their order.
    pub fn terminals(&self, cell: impl Fn(usize) -> Cell) -> Vec<Terminal> {
        let pairs = self.pairs.iter().enumerate();
        let mut terminals: Vec<Terminal> = pairs
            .flat_map(|(colour, &(a, b))| {
                [a, b].map(|index| Terminal {
                    cell: cell(index),
                    colour: colour as Colour,
                })
            })
            .collect();
        terminals.sort_unstable();
        terminals
    }
}

/// What is nearest to a thing.
#[derive(Clone, Copy)]
struct Nearest {
    partner: Option<usize>,
    first: f64,
    second: f64,
}

impl Default for Nearest {
    fn default() -> Self {
        Self {
            partner: None,
            first: f64::INFINITY,
            second: f64::INFINITY,
        }
    }
}

impl Nearest {
    fn take(&mut self, other: usize, distance: f64) {
        if distance < self.first {
            self.second = self.first;
            (self.partner, self.first) = (Some(other), distance);
        } else {
            self.second = self.second.min(distance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(places: &[f64]) -> Result<Vec<(usize, usize)>, usize> {
        let apart = |a: usize, b: usize| (places[a] - places[b]).abs();
        Pairs::find(places.len(), 0.5, 0.5, apart, |_| 10.0).map(|pairs| pairs.pairs)
    }

    #[test]
    fn the_nearest_are_pairs() {
        assert_eq!(pairs(&[0.0, 10.0, 1.0, 12.0]), Ok(vec![(0, 2), (1, 3)]));
        assert_eq!(pairs(&[3.0, 4.0]), Ok(vec![(0, 1)]));
        assert_eq!(pairs(&[]), Ok(vec![]));
    }

    #[test]
    fn what_is_ambiguous_is_no_pair() {
        // Three in a row, four at one place, a pair too far apart, and one alone.
        assert_eq!(pairs(&[0.0, 1.0, 2.0, 20.0]), Err(1));
        assert_eq!(pairs(&[5.0; 4]), Err(0));
        assert_eq!(pairs(&[5.0, 5.01, 5.2, 5.21]), Err(0));
        assert_eq!(pairs(&[0.0, 6.0]), Err(0));
        assert_eq!(pairs(&[0.0]), Err(0));
    }

    #[test]
    fn clearness_is_that_of_the_worst_pair() {
        let places: [f64; 4] = [0.0, 1.0, 11.0, 11.0];
        let apart = |a: usize, b: usize| (places[a] - places[b]).abs();
        let found = Pairs::find(4, 0.5, 0.5, apart, |_| 10.0).unwrap();
        // One of ten to the second nearest, where five are allowed.
        assert!((found.clearness - 0.8).abs() < 1e-9);
    }
}
