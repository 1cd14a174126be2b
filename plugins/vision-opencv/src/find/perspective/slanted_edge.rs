//! Slanted edges: straight lines through the ends of vertical lines, as the horizontal borders of a turned board are.

use flowpipe_plugin::puzzle::Point;

use crate::find::lines::segment::Segment;

/// Borders that are looked into, those with the most ends first.
const MOST_ASLANT: usize = 24;
/// The fewest ends that determine one.
const FEWEST: usize = 4;

/// What may be a horizontal border seen slanted: through the ends of two lines.
#[derive(Clone, Copy, Debug)]
pub struct SlantedEdge {
    /// Which of the two it is.
    pub border: HorizontalEdge,
    /// A place across the picture, and its height there.
    at: Point,
    /// How much lower it is from pixel to pixel.
    pub slope: f64,
}

/// Those that the most lines end at.
#[must_use]
pub fn slanted_edges(lines: &[Segment], blur: f64) -> Vec<SlantedEdge> {
    let mut all: Vec<(usize, SlantedEdge)> = Vec::new();
    for (index, first) in lines.iter().enumerate() {
        for second in &lines[index + 1..] {
            for border in [HorizontalEdge::Upper, HorizontalEdge::Lower] {
                let Some(slope) = border.slope(first, second, blur) else {
                    continue;
                };
                let at = [first.at, border.end(first)];
                let edge = SlantedEdge { border, at, slope };
                let ends_on_it =
                    |run: &&Segment| (border.end(run) - edge.height(run.at)).abs() <= blur;
                let count = lines.iter().filter(ends_on_it).count();
                if count >= FEWEST {
                    all.push((count, edge));
                }
            }
        }
    }
    all.sort_by_key(|(count, _)| usize::MAX - count);
    let mut distinct: Vec<SlantedEdge> = Vec::new();
    for (_, edge) in all {
        if distinct.len() == MOST_ASLANT {
            break;
        }
        if !distinct.iter().any(|other| edge.is_near(other, blur)) {
            distinct.push(edge);
        }
    }
    distinct
}

impl SlantedEdge {
    /// Its height at a place across the picture.
    #[must_use]
    pub fn height(&self, x: f64) -> f64 {
        self.at[1] + self.slope * (x - self.at[0])
    }

    fn is_near(&self, other: &Self, blur: f64) -> bool {
        let off = |x: f64| (self.height(x) - other.height(x)).abs() <= blur / 2.0;
        self.border == other.border && off(self.at[0]) && off(other.at[0])
    }
}

/// The two horizontal borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HorizontalEdge {
    /// Above.
    Upper,
    /// Below.
    Lower,
}

impl HorizontalEdge {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Upper => Self::Lower,
            Self::Lower => Self::Upper,
        }
    }

    /// The way out, in heights.
    #[must_use]
    pub fn outwards(self) -> f64 {
        match self {
            Self::Upper => -1.0,
            Self::Lower => 1.0,
        }
    }

    /// The height of a line's end at this border.
    #[must_use]
    pub fn end(self, run: &Segment) -> f64 {
        match self {
            Self::Upper => run.from,
            Self::Lower => run.to,
        }
    }

    /// How much lower the border is from pixel to pixel, if two lines end at it. `None` for one that is hardly
    /// slanted, or too much so.
    fn slope(self, first: &Segment, second: &Segment, blur: f64) -> Option<f64> {
        let rise = self.end(second) - self.end(first);
        let (across, longer) = (second.at - first.at, first.length().max(second.length()));
        let fits =
            rise.abs() > blur && rise.abs() <= 2.0 * across.abs() && across.abs() <= 2.0 * longer;
        fits.then_some(rise / across)
    }
}
