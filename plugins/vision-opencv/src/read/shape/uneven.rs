//! Lines that the scaling of a picture left uneven: each as one of another width and brightness.
//!
//! Where a picture is made smaller by a fraction, as compositors do at fractional scales, what is left of a line of two
//! or three pixels depends on how it falls between the new pixels: of equal lines one may have three times the light of
//! another. All of a line across the grid falls alike. So its parts are compared with each other: a wall, or what
//! covers a part of a line, differs from the rest of it, for a line that is a wall all over would divide the board.

use std::collections::HashMap;

use crate::numerics::quantile::quantile;
use crate::read::shape::line_model::colour_of;
use crate::read::shape::sides::{GridLine, Sides};
use crate::read::shape::stretch::{LineWidths, Stretch};
use crate::read::shape::thickness::{NARROW, ThinLine};

/// What is taken for a line's own look: the quantile in the order of its parts. Most of a line may be walls.
const OWN: f64 = 0.2;
/// Of a line without walls, all parts have at least this share of that.
const EVEN: f64 = 0.7;
/// The least number of parts that are seen of a line, and their least share: bright tints hide some.
const FEWEST: usize = 8;
const SEEN: f64 = 0.5;
/// Scaling makes a line wider by a pixel at most.
const WIDER: f64 = 1.1;
/// Lines are uneven where strong ones have this many times the light of faint ones. Of lines that are drawn with soft
/// edges, it is less.
const UNEVEN: f64 = 1.6;
/// Which of the lines are strong and faint, in the order of their light.
const STRONG: f64 = 0.9;
const FAINT: f64 = 0.1;

/// How thin lines look by the line across the grid that they are on, of those that have more light than most. Empty
/// where the lines of a picture are even.
pub fn lines(thin: &ThinLine, sides: &Sides) -> HashMap<GridLine, ThinLine> {
    if thin.widths.whole >= NARROW {
        return HashMap::new();
    }
    let mut parts: HashMap<GridLine, Vec<Stretch>> = HashMap::new();
    for side in sides.all.iter().filter(|side| side.other.is_some()) {
        if let Some(line) = side.line {
            // A board may have no cells along a part of a line.
            let drawn = side.looks.into_iter().filter(|part| thin.shows(part));
            parts.entry(line).or_default().extend(drawn);
        }
    }
    let full = with_whole_pixels(thin, parts.values());
    let own = parts.into_iter();
    let own = own.filter_map(|(line, parts)| Some((line, own_look(&full, &parts)?)));
    let mut own: HashMap<GridLine, ThinLine> = own.collect();
    let light = |share: f64| quantile(own.values().map(|line| line.thickness), share);
    if light(STRONG) < UNEVEN * light(FAINT) {
        return HashMap::new();
    }
    own.retain(|_, line| line.mass > thin.mass && line.widths.whole <= thin.widths.whole + WIDER);
    own
}

/// How a line looks that has whole pixels to itself, as strong ones have.
fn with_whole_pixels<'a>(
    thin: &ThinLine,
    lines: impl Iterator<Item = &'a Vec<Stretch>>,
) -> ThinLine {
    let middle = lines.filter_map(|parts| {
        let mut parts = parts.clone();
        let middle = parts.len() / 2;
        parts.sort_by(|a, b| a.contrast.total_cmp(&b.contrast));
        parts.get(middle).copied()
    });
    let middle: Vec<Stretch> = middle.collect();
    let contrast = quantile(middle.iter().map(|part| part.contrast), STRONG);
    let strong = middle.into_iter().filter(|part| part.contrast >= contrast);
    ThinLine {
        contrast,
        colour: colour_of(&strong.collect::<Vec<_>>()),
        ..*thin
    }
}

/// How a line looks where it is thin, by its parts. `None` where that is not known.
fn own_look(full: &ThinLine, parts: &[Stretch]) -> Option<ThinLine> {
    let seen = || parts.iter().filter(|part| !full.has_no_room(part));
    let count = seen().count();
    if count < FEWEST || (count as f64) < SEEN * parts.len() as f64 {
        return None;
    }
    let thickness = |part: &Stretch| part.thickness(full.colour);
    let own = quantile(seen().map(thickness), OWN);
    let width = |of: fn(&LineWidths) -> f64| quantile(seen().map(|part| of(&part.widths)), 0.5);
    let widths = LineWidths {
        whole: width(|widths| widths.whole),
        core: width(|widths| widths.core),
    };
    let is_even = seen().all(|part| thickness(part) >= EVEN * own);
    is_even.then_some(ThinLine {
        thickness: own,
        mass: own * full.contrast,
        widths,
        ..*full
    })
}
