//! The contrast of each sample with both sides of it.

use crate::find::lines::criteria::LineCriteria;
use crate::picture::polarity::Polarity;

/// How far each pixel of a row stands out from both sides of it.
pub(super) fn across(row: &[u8], criteria: &LineCriteria, off: &mut Vec<u8>) {
    let aside = criteria.aside;
    off.clear();
    off.resize(row.len(), 0);
    if row.len() <= 2 * aside {
        return;
    }
    let inner = &mut off[aside..row.len() - aside];
    let (before, middle, after) = (row, &row[aside..], &row[2 * aside..]);
    stand_out(before, middle, after, criteria.polarity, inner);
    for x in 0..aside {
        off[x] = one(row[x + aside], row[x], row[x + aside], criteria.polarity);
        let last = row.len() - 1 - x;
        off[last] = one(
            row[last - aside],
            row[last],
            row[last - aside],
            criteria.polarity,
        );
    }
}

pub(super) fn down(above: &[u8], row: &[u8], below: &[u8], polarity: Polarity, off: &mut Vec<u8>) {
    off.clear();
    off.resize(row.len(), 0);
    stand_out(above, row, below, polarity, off);
}

/// Written so that many pixels are done at once.
fn stand_out(before: &[u8], middle: &[u8], after: &[u8], polarity: Polarity, off: &mut [u8]) {
    let sides = before.iter().zip(after);
    match polarity {
        Polarity::Bright => {
            for ((off, &value), (&a, &b)) in off.iter_mut().zip(middle).zip(sides) {
                *off = value.saturating_sub(a.max(b));
            }
        }
        Polarity::Dark => {
            for ((off, &value), (&a, &b)) in off.iter_mut().zip(middle).zip(sides) {
                *off = a.min(b).saturating_sub(value);
            }
        }
    }
}

fn one(before: u8, value: u8, after: u8, polarity: Polarity) -> u8 {
    let mut off = [0];
    stand_out(&[before], &[value], &[after], polarity, &mut off);
    off[0]
}

/// Calls for each sample that stands out by a level; most do not.
pub(super) fn each_on(off: &[u8], level: u8, mut on: impl FnMut(usize, u8)) {
    let level = level.max(1);
    for (index, block) in off.chunks(16).enumerate() {
        if block.iter().fold(0, |most: u8, &value| most.max(value)) < level {
            continue;
        }
        for (place, &value) in block.iter().enumerate() {
            if value >= level {
                on(index * 16 + place, value);
            }
        }
    }
}
