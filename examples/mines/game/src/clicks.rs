//! Few clicks that open what is safe.
//!
//! The search is greedy: again and again it takes what saves the most clicks. A chord opens several cells, and costs its
//! click and those for missing flags. If it costs as much as to open the cells one by one, it is preferred, since flags
//! serve later chords.
//!
//! A cell without mines around opens its neighbours by itself, and theirs. Such a cascade makes clicks superfluous, and a
//! click on a cell that it has opened would be a chord. So the clicks of one call open what no cascade can, and then at
//! most one cell that may begin one; the next field shows what is left.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::{Cell, Field};

/// A click on a cell, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Click {
    /// With the left button on a covered cell: opens it.
    Open(usize),
    /// With the left button on a number with as many flags around: opens its other neighbours.
    Chord(usize),
    /// With the right button on a covered cell: sets a flag, or removes it.
    Flag(usize),
}

/// The clicks that open the cells that are known to be safe, or some of them, in this order.
#[must_use]
pub fn clicks(field: &Field, safe: &BTreeSet<usize>, mines: &BTreeSet<usize>) -> Vec<Click> {
    let is_flag = |cell: &usize| field.cells()[*cell] == Cell::Flag;
    let wrong: Vec<Click> = safe
        .iter()
        .copied()
        .filter(is_flag)
        .map(Click::Flag)
        .collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let is_mine = |cell: usize| mines.contains(&cell);
    let may_be_zero = |(cell, shown): (usize, &Cell)| {
        shown.is_covered() && !is_mine(cell) && !field.around(cell).any(is_mine)
    };
    let mut batch = Batch {
        field,
        mines,
        wanted: safe.clone(),
        flags: (0..field.cells().len()).filter(is_flag).collect(),
        may_be_zero: field.cells().iter().enumerate().map(may_be_zero).collect(),
        clicks: Vec::new(),
    };
    while batch
        .add(|batch, opener| !batch.may_cascade(opener) && !batch.may_be_opened_by_others(opener))
    {
    }
    batch.add(Batch::may_cascade);
    if batch.clicks.is_empty() {
        while batch.add(|_, _| true) {}
    }
    // Flags come first. Should the release of a button get lost on its way, the next cell under it is one that is safe.
    batch
        .clicks
        .sort_by_key(|click| !matches!(click, Click::Flag(_)));
    batch.clicks
}

struct Batch<'a> {
    field: &'a Field,
    mines: &'a BTreeSet<usize>,
    /// What is safe and not open.
    wanted: BTreeSet<usize>,
    flags: BTreeSet<usize>,
    /// Whether a cell is covered and may have no mines around.
    may_be_zero: Vec<bool>,
    clicks: Vec<Click>,
}

/// A click that opens cells.
struct Opener {
    /// The flags that have to be set before.
    flags: Vec<usize>,
    click: Click,
    opened: Vec<usize>,
}

impl Batch<'_> {
    /// Adds the best of certain openers. Whether there was one.
    fn add(&mut self, is_allowed: impl Fn(&Self, &Opener) -> bool) -> bool {
        let singles = self.wanted.iter().map(|&cell| Opener {
            flags: Vec::new(),
            click: Click::Open(cell),
            opened: vec![cell],
        });
        let chords = (0..self.field.cells().len()).filter_map(|cell| self.chord(cell));
        let allowed = chords
            .chain(singles)
            .filter(|opener| is_allowed(self, opener));
        // The first of the best, so that chords are preferred.
        let Some(best) = allowed.min_by_key(|opener| Reverse(opener.saved())) else {
            return false;
        };
        self.wanted.retain(|cell| !best.opened.contains(cell));
        self.flags.extend(&best.flags);
        self.clicks.extend(best.flags.into_iter().map(Click::Flag));
        self.clicks.push(best.click);
        true
    }

    /// The chord of a number, if all of its mines are known and it opens something.
    fn chord(&self, cell: usize) -> Option<Opener> {
        let Cell::Open(number) = self.field.cells()[cell] else {
            return None;
        };
        let around = |cells: &BTreeSet<usize>| {
            self.field
                .around(cell)
                .filter(|it| cells.contains(it))
                .collect()
        };
        let (opened, mines, flags): (Vec<_>, Vec<_>, Vec<_>) = (
            around(&self.wanted),
            around(self.mines),
            around(&self.flags),
        );
        let is_known = number > 0
            && mines.len() == usize::from(number)
            && flags.iter().all(|flag| mines.contains(flag));
        (is_known && !opened.is_empty()).then(|| Opener {
            flags: mines
                .into_iter()
                .filter(|mine| !flags.contains(mine))
                .collect(),
            click: Click::Chord(cell),
            opened,
        })
    }

    /// Whether it may open more than its own cells.
    fn may_cascade(&self, opener: &Opener) -> bool {
        opener.opened.iter().any(|&cell| self.may_be_zero[cell])
    }

    /// Whether a cascade of other cells may open all that it opens.
    fn may_be_opened_by_others(&self, opener: &Opener) -> bool {
        let mut opened = opener.opened.iter();
        opened.all(|&cell| self.field.around(cell).any(|other| self.may_be_zero[other]))
    }
}

impl Opener {
    /// How many clicks it saves, compared with one for each cell.
    fn saved(&self) -> isize {
        self.opened.len() as isize - 1 - self.flags.len() as isize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clicks_on(rows: &str, safe: &[usize], mines: &[usize]) -> Vec<Click> {
        let field = Field::parse(mines.len(), rows).unwrap();
        clicks(
            &field,
            &safe.iter().copied().collect(),
            &mines.iter().copied().collect(),
        )
    }

    #[test]
    fn a_chord_where_it_saves_clicks() {
        // One flag and one click open three cells.
        let rows = "###\n#1#\n###";
        let chord = clicks_on(rows, &[0, 1, 2, 3, 5, 6, 7], &[8]);
        assert_eq!(chord, [Click::Flag(8), Click::Chord(4)]);
        let rows = "FFF\nF5#\n#F#";
        assert_eq!(
            clicks_on(rows, &[5, 6, 8], &[0, 1, 2, 3, 7]),
            [Click::Chord(4)]
        );
    }

    #[test]
    fn single_cells_where_flags_cost_more() {
        let rows = "###\n#6#\n###";
        let single = clicks_on(rows, &[0, 8], &[1, 2, 3, 5, 6, 7]);
        assert_eq!(single, [Click::Open(0), Click::Open(8)]);
    }

    #[test]
    fn no_chord_beside_a_flag_that_is_not_a_known_mine() {
        let rows = "F##\n#2#\n#FF";
        assert_eq!(clicks_on(rows, &[3], &[7, 8]), [Click::Open(3)]);
    }

    #[test]
    fn wrong_flags_are_removed_first() {
        assert_eq!(clicks_on("F#1", &[0], &[1]), [Click::Flag(0)]);
    }

    #[test]
    fn what_a_cascade_may_open_waits() {
        // Each of the safe cells may have no mine around: the first opens more, perhaps all.
        assert_eq!(clicks_on("0####\n11###\n##1##", &[3, 4, 9], &[]).len(), 1);
        // Beside a known mine none begins.
        assert_eq!(clicks_on("#1##", &[2], &[0]).len(), 1);
    }
}
