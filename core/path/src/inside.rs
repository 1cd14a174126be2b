//! The checker of ways: exact, and independent of how they are found.
//!
//! It knows a corridor only by its cells and their width, builds the pieces itself, and takes floating
//! numbers for what they are, fractions with a power of two below. Nothing is rounded.

mod exact;
mod pieces;

use flowpipe_puzzle::geometry::Point;
use thiserror::Error;

use crate::corridor::Corridor;
use exact::{Scale, Span};
use pieces::Piece;

/// Why a path is not inside its corridor.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CorridorError {
    /// It has no points.
    #[error("the way has no points")]
    NoPoints,
    /// A coordinate or the slack is infinite or no number, or the slack is less than nothing.
    #[error("a coordinate or the slack is no finite number")]
    NotFinite,
    /// The first point is not in the first cell's inner polygon.
    #[error("the way does not begin in its first cell")]
    Start,
    /// The corridor is left, or its pieces are not passed in their order.
    #[error("the way leaves the corridor before point {}", .point + 1)]
    Leaves {
        /// Index of the point at the end of the segment that leaves.
        point: usize,
    },
    /// The last point is not where a way may end.
    #[error("the way ends elsewhere than it should")]
    End,
}

/// Checks a way against its corridor, widened by `slack` (in cells) to all sides: it must begin in the first
/// cell's inner polygon, go through the pieces in their order without leaving them, and end where
/// the corridor's leg sets. Points on the border are inside. The slack, too, is taken exactly; 0 is
/// for points that are exact, 2⁻⁴⁰ leaves room for rounding.
///
/// # Errors
/// The first thing that is wrong.
pub fn lies_inside(corridor: &Corridor, points: &[Point], slack: f64) -> Result<(), CorridorError> {
    if points.is_empty() {
        return Err(CorridorError::NoPoints);
    }
    let values = || points.iter().flatten().chain([&slack]);
    if !values().all(|value| value.is_finite()) || slack < 0.0 {
        return Err(CorridorError::NotFinite);
    }
    let scale = Scale::new(corridor, values());
    let pieces = pieces::of(corridor, &scale, slack);
    let exact: Vec<_> = points.iter().map(|&point| scale.point(point)).collect();
    if !pieces[0].contains(&exact[0]) {
        return Err(CorridorError::Start);
    }
    // For each piece the spans of the way that lie in it, as far as they can be reached from the start.
    let mut reached = connected(&pieces[0], points, &exact);
    reached.retain(|span| span.begins());
    for piece in &pieces[1..] {
        let spans = connected(piece, points, &exact);
        let next: Vec<Span> = spans
            .iter()
            .filter_map(|span| reached.iter().filter_map(|before| span.after(before)).min())
            .collect();
        if next.is_empty() {
            return Err(leaves(&reached));
        }
        reached = next;
    }
    let last = points.len() - 1;
    if !reached.iter().any(|span| span.ends(last)) {
        return Err(leaves(&reached));
    }
    if pieces::goal(corridor, &scale, slack).contains(&exact[last]) {
        Ok(())
    } else {
        Err(CorridorError::End)
    }
}

fn leaves(reached: &[Span]) -> CorridorError {
    let point = reached.iter().map(Span::last_point).max().unwrap_or(0);
    CorridorError::Leaves { point }
}

/// The longest spans of a way that lie in a piece.
fn connected(piece: &Piece, points: &[Point], exact: &[exact::Point]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    if let [only] = exact {
        spans.extend(piece.contains(only).then(Span::point));
    }
    for (segment, ends) in exact.windows(2).enumerate() {
        if piece.is_far_from(points[segment], points[segment + 1]) {
            continue;
        }
        let Some(span) = piece.clip(segment, &ends[0], &ends[1]) else {
            continue;
        };
        match spans.last_mut() {
            Some(before) if before.joins(&span) => before.extend(span),
            _ => spans.push(span),
        }
    }
    spans
}

#[cfg(test)]
mod tests;
