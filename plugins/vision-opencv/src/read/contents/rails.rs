//! Rails: thin drawings near the corners of a cell, which make it a bridge.

use flowpipe_plugin::puzzle::{Cell, Point};

use crate::picture::cache::Measurement;
use crate::read::contents::cell_colours::CellColours;
use crate::read::contents::drawings::{CROSSED, Drawings, add, apart};

/// Which of the places where a bridge has rails show some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rails {
    /// None.
    None,
    /// Some, so that it is no bridge.
    Some,
    /// All.
    All,
}

/// What crosses a stretch of a cell.
#[derive(Clone, Copy)]
pub struct Rail {
    /// By how many levels it stands out from the end of the stretch at most.
    most: i32,
    /// And there from its beginning, which a rail may reach in small cells.
    begins: i32,
    /// How far the end of the stretch, which nothing should cross, is from the cell's background.
    beside: i32,
}

impl Measurement for Rail {
    type Value = Self;
}

impl Drawings<'_> {
    /// The rails in a cell.
    #[must_use]
    pub fn rails(&self, cell: Cell, look: &CellColours) -> Rails {
        let centre = self.places.centre(cell);
        let sides = self.places.corners();
        let (mut seen, mut narrow) = (0, 0);
        for side in 0..sides {
            for at_next in [false, true] {
                let place = f64::from(2 * side as u32 + u32::from(at_next));
                let rail = self.picture.recall::<Rail>(
                    || self.what(centre, place),
                    || self.rail(centre, self.places.beside(side, at_next), look),
                );
                // A rail has the cell's own background on both sides; the rim of a shape has not.
                let is_rail = rail.most >= self.level && rail.beside < self.level;
                seen += usize::from(is_rail);
                narrow += usize::from(is_rail && 2 * rail.begins >= self.level);
            }
            // Most cells have none at all, which is seen at a few.
            if side == 1 && seen == 0 {
                return Rails::None;
            }
        }
        // Where a rail reaches the beginning of its stretch it has an edge on one side only.
        let crossed = if self.places.rails_reach() {
            seen
        } else {
            narrow
        };
        match (seen, crossed) {
            (seen, crossed) if seen == 2 * sides && crossed >= sides => Rails::All,
            (_, crossed) if crossed < CROSSED && seen < 2 * sides => Rails::None,
            _ => Rails::Some,
        }
    }

    /// What crosses a stretch before its end.
    fn rail(&self, centre: Point, [from, to]: [Point; 2], look: &CellColours) -> Rail {
        let along = [0, 1].map(|axis| to[axis] - from[axis]);
        let length = along[0].hypot(along[1]).max(1.0);
        // Rails lead away from the side that the stretch goes along.
        let mut inwards = [-along[1] / length, along[0] / length];
        if inwards[0] * from[0] + inwards[1] * from[1] > 0.0 {
            inwards = inwards.map(|it| -it);
        }
        let steps = (length / (0.02 * self.places.span).max(0.7)).ceil();
        let mean = |share: f64| {
            // Pixels of their own, so that noise is less.
            let off = (0.01 * self.places.span).max(1.0);
            let mut sum = [0; 3];
            for off in [0.0, off, 2.0 * off] {
                let place = |axis: usize| {
                    centre[axis] + from[axis] + share * along[axis] + off * inwards[axis]
                };
                let colour = self.picture.at(place(0), place(1)).unwrap_or_default();
                add(&mut sum, colour);
            }
            sum.map(|sum| sum / 3)
        };
        let end = mean(1.0);
        let (beginning, points) = (mean(0.0), 0..steps as u32);
        let points = points.map(|step| mean(f64::from(step) / steps));
        let most = points.max_by_key(|mean| apart(*mean, end)).unwrap_or(end);
        Rail {
            most: apart(most, end),
            begins: apart(most, beginning),
            beside: apart(end, look.background.map(i32::from)),
        }
    }
}
