//! Pitches: the most frequent distances between neighbouring lines, in both directions.

use std::ops::Range;

use crate::find::lines::segment::Segment;

/// Distances from line to line that are looked into, the most frequent first.
const MOST_PITCHES: usize = 5;

/// Lines beside one that it is compared with.
const NEIGHBOURS: usize = 6;

/// A distance from one line to the next.
struct Vote {
    distance: f64,
    weight: f64,
    vertical: bool,
}

/// The distances that lines in both directions have most often from the lines beside them.
pub(super) fn pitches(vertical: &[Segment], horizontal: &[Segment], least: f64) -> Vec<f64> {
    let mut votes = Vec::new();
    for (runs, is_vertical) in [(vertical, true), (horizontal, false)] {
        for (index, run) in runs.iter().enumerate() {
            let mut seen = 0;
            for other in &runs[index + 1..] {
                let distance = other.at - run.at;
                let beside = run.beside(other);
                if distance < least {
                    continue;
                }
                // No line beside is as far away as the lines are long.
                if distance > 1.3 * run.length() || seen == NEIGHBOURS {
                    break;
                }
                if beside >= 0.8 * distance {
                    // The strokes of a text beside a line are short.
                    seen += usize::from(2.0 * beside >= run.length());
                    votes.push(Vote {
                        distance,
                        // Two sides of a letter are as far apart as two lines of a grid, but are no longer than that.
                        weight: (beside / distance).min(20.0) - 0.5,
                        vertical: is_vertical,
                    });
                }
            }
        }
    }
    votes.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    // All votes within a window about each one.
    let mut scored: Vec<(f64, Range<usize>)> = Vec::with_capacity(votes.len());
    let (mut first, mut last) = (0, 0);
    let mut sums = [0.0; 2];
    for vote in &votes {
        let reach = 0.015 * vote.distance + 0.75;
        while votes
            .get(last)
            .is_some_and(|other| other.distance <= vote.distance + reach)
        {
            sums[usize::from(votes[last].vertical)] += votes[last].weight;
            last += 1;
        }
        while votes[first].distance < vote.distance - reach {
            sums[usize::from(votes[first].vertical)] -= votes[first].weight;
            first += 1;
        }
        scored.push((sums[0].min(sums[1]), first..last));
    }
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut pitches: Vec<f64> = Vec::new();
    for (_, window) in scored {
        let window = &votes[window];
        let weight: f64 = window.iter().map(|vote| vote.weight).sum();
        let moment: f64 = window.iter().map(|vote| vote.weight * vote.distance).sum();
        let distance = moment / weight.max(1e-9);
        let near = |other: &f64| (other - distance).abs() <= 0.03 * distance + 1.0;
        if !pitches.iter().any(near) {
            pitches.push(distance);
            if pitches.len() == MOST_PITCHES {
                break;
            }
        }
    }
    pitches
}
