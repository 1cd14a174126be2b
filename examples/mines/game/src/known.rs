//! What two numbers prove, as people see it: quick, and it leaves little to count.

use std::collections::BTreeSet;

use crate::field::{Cell, Field};

/// What is known without counting.
pub struct Known {
    /// Cells without mines.
    pub safe: BTreeSet<usize>,
    /// Cells with mines.
    pub mines: BTreeSet<usize>,
    /// The numbers beside cells of which neither is known.
    pub numbers: Vec<Number>,
}

/// An open cell, without what is known of the cells around.
pub struct Number {
    /// How many of the unknown cells have mines.
    pub lacking: usize,
    /// The unknown cells around.
    pub unknown: BTreeSet<usize>,
    row: usize,
    col: usize,
}

impl Known {
    /// Finds all that two numbers prove, again while there is more.
    ///
    /// # Errors
    /// When a number can't have as many mines around.
    pub fn of(field: &Field) -> Result<Self, String> {
        let mut known = Self {
            safe: BTreeSet::new(),
            mines: BTreeSet::new(),
            numbers: Vec::new(),
        };
        let is_covered = |cell: &usize| field.cells()[*cell].is_covered();
        for (cell, shown) in field.cells().iter().enumerate() {
            if let Cell::Open(number) = *shown {
                known.numbers.push(Number {
                    lacking: usize::from(number),
                    unknown: field.around(cell).filter(is_covered).collect(),
                    row: cell / field.cols(),
                    col: cell % field.cols(),
                });
            }
        }
        while known.learn()? {}
        Ok(known)
    }

    /// Looks at all pairs once. Whether there was anything new.
    fn learn(&mut self) -> Result<bool, String> {
        if let Some(number) = self.numbers.iter().find(|it| it.lacking > it.unknown.len()) {
            return Err(number.is_wrong("more"));
        }
        let (mut safe, mut mines) = (BTreeSet::<usize>::new(), BTreeSet::<usize>::new());
        for one in &self.numbers {
            if one.lacking == 0 {
                safe.extend(&one.unknown);
            } else if one.lacking == one.unknown.len() {
                mines.extend(&one.unknown);
            }
            for other in self.numbers.iter().filter(|other| one.is_near(other)) {
                // If the cells beside one alone have to be mines, the other has all of its mines beside both.
                let alone = one.unknown.difference(&other.unknown);
                if one.lacking == other.lacking + alone.clone().count() {
                    mines.extend(alone);
                    safe.extend(other.unknown.difference(&one.unknown));
                }
            }
        }
        for number in &mut self.numbers {
            let found = number.unknown.intersection(&mines).count();
            number.lacking = number
                .lacking
                .checked_sub(found)
                .ok_or_else(|| number.is_wrong("fewer"))?;
            number
                .unknown
                .retain(|cell| !safe.contains(cell) && !mines.contains(cell));
        }
        self.numbers
            .retain(|number| !number.unknown.is_empty() || number.lacking > 0);
        let is_new = !safe.is_empty() || !mines.is_empty();
        self.safe.extend(safe);
        self.mines.extend(mines);
        Ok(is_new)
    }
}

impl Number {
    fn is_wrong(&self, than: &str) -> String {
        let (row, col) = (self.row + 1, self.col + 1);
        format!(
            "the number in row {row}, column {col} claims {than} mines than can be around: a cell was misread"
        )
    }

    /// Whether cells can be around both.
    fn is_near(&self, other: &Self) -> bool {
        self.row.abs_diff(other.row) <= 2 && self.col.abs_diff(other.col) <= 2
    }
}
