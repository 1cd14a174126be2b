//! Where the mines are: the exact chance of each covered cell.
//!
//! Every layout of the mines that fits the numbers is as likely as every other. So the chance of a cell is the share of
//! layouts with a mine there. Layouts are counted, not listed:
//!
//! 1. What two numbers prove is set aside ([`Known`]).
//! 2. Other covered cells beside the same numbers form a [`Group`]: only how many mines a group has matters, and `m` of
//!    `n` cells can be chosen in binomial(n, m) ways. Cells beside no number are *free*.
//! 3. The groups are visited one after the other. All that matters of those before is a [`State`]: how many mines each
//!    number still lacks. For each state the layouts are counted by their number of mines.
//! 4. Where no number is left open, a [`Component`] ends. The mines that it does not use are in the other components and
//!    below free cells, which can have them in so many ways.
//! 5. A second pass, from the end to the beginning, counts the completions of each state. Both passes together count
//!    the layouts for each number of mines of each group.
//!
//! Counts are `f64`. They are sums and products of counts, never differences: a count is 0 only if there is no such
//! layout. So what is safe and what is a mine is exact; other chances have relative errors of some 1e-13.

use std::collections::{BTreeMap, BTreeSet};

use crate::field::Field;
use crate::known::{Known, Number};

/// The most counts of a component, 32 MB. Fields of the game take less than a hundredth.
const MOST_COUNTS: usize = 4_000_000;

/// How many mines each open number lacks.
type State = Vec<usize>;

/// Counts of layouts, by their number of mines.
type Counts = Vec<f64>;

/// The chance of a mine below each covered cell, with flags or without: 0.0 and 1.0 only if it is certain. What flags
/// claim is not believed. `None`: the cell is open.
///
/// # Errors
/// When no layout fits, when there are too many states, and when it is cancelled.
pub fn chances(field: &Field, is_cancelled: &dyn Fn() -> bool) -> Result<Vec<Option<f64>>, String> {
    let known = Known::of(field)?;
    let mut chances = vec![None; field.cells().len()];
    known
        .safe
        .iter()
        .for_each(|&cell| chances[cell] = Some(0.0));
    known
        .mines
        .iter()
        .for_each(|&cell| chances[cell] = Some(1.0));
    let wrong = || {
        let mines = field.mines();
        format!(
            "no layout of {mines} mines fits the numbers: either a cell was misread, or there are not {mines} mines"
        )
    };
    let is_contradiction = !known.safe.is_disjoint(&known.mines);
    let mines = field
        .mines()
        .checked_sub(known.mines.len())
        .filter(|_| !is_contradiction)
        .ok_or_else(wrong)?;
    let unknown = |&cell: &usize| field.cells()[cell].is_covered() && chances[cell].is_none();
    let (groups, free) = groups((0..chances.len()).filter(unknown), &known.numbers);
    let mut components = components(groups, &known.numbers);
    for component in &mut components {
        component.count_forwards(mines, is_cancelled)?;
    }
    let totals: Vec<&Counts> = components.iter().map(Component::total).collect();
    let ways = binomials(free.len());
    // Of the layouts with k mines below the cells beside numbers: how many there are, the free cells included.
    let all = totals
        .iter()
        .fold(vec![1.0], |all, total| product(&all, total));
    let weights: Counts = (0..all.len())
        .map(|used| all[used] * rest(&ways, mines, used))
        .collect();
    if weights.iter().all(|&weight| weight == 0.0) {
        return Err(wrong());
    }
    // A free cell has its share of the mines that are left.
    let left = |used: usize| mines.saturating_sub(used);
    let by_mines = weights
        .iter()
        .enumerate()
        .map(|(used, &weight)| (left(used), weight));
    let chance = share(by_mines, free.len());
    free.iter().for_each(|&cell| chances[cell] = Some(chance));
    let outside: Vec<Counts> = (0..components.len())
        .map(|this| {
            let others = totals
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != this);
            let others = others.fold(vec![1.0], |all, (_, total)| product(&all, total));
            let most = totals[this].len();
            (0..most)
                .map(|used| completed(&others, &ways, mines, used))
                .collect()
        })
        .collect();
    for (component, outside) in components.iter().zip(outside) {
        for (group, chance) in component.chances(outside, is_cancelled)? {
            group
                .cells
                .iter()
                .for_each(|&cell| chances[cell] = Some(chance));
        }
    }
    Ok(chances)
}

/// Covered cells beside the same numbers.
struct Group {
    cells: Vec<usize>,
    /// Indices of the numbers.
    beside: Vec<usize>,
}

/// The groups of unknown cells, and the free cells.
fn groups(cells: impl Iterator<Item = usize>, numbers: &[Number]) -> (Vec<Group>, Vec<usize>) {
    let mut groups = BTreeMap::<Vec<usize>, Vec<usize>>::new();
    for cell in cells {
        let beside = (0..numbers.len()).filter(|&number| numbers[number].unknown.contains(&cell));
        groups.entry(beside.collect()).or_default().push(cell);
    }
    let free = groups.remove(&Vec::new()).unwrap_or_default();
    let groups = groups
        .into_iter()
        .map(|(beside, cells)| Group { cells, beside });
    (groups.collect(), free)
}

/// Groups that are joined by numbers, in the order of the visit.
struct Component {
    steps: Vec<Step>,
    /// Before each step and after the last: the layouts of the groups before it, by state.
    forwards: Vec<BTreeMap<State, Counts>>,
}

/// One group of a visit.
struct Step {
    group: Group,
    /// Numbers that begin here.
    begin: Vec<usize>,
    /// Which numbers of the state the group is beside, with those that begin.
    touched: Vec<usize>,
    /// For each number of the state: how many cells of later groups are around. None: it ends here.
    later: Vec<usize>,
}

/// Puts groups in an order in which few numbers are open at a time, and splits them where none is.
fn components(mut groups: Vec<Group>, numbers: &[Number]) -> Vec<Component> {
    let mut later: Vec<usize> = numbers.iter().map(|number| number.unknown.len()).collect();
    let (mut components, mut open) = (Vec::new(), Vec::<usize>::new());
    while !groups.is_empty() {
        if open.is_empty() {
            components.push(Component {
                steps: Vec::new(),
                forwards: Vec::new(),
            });
        }
        // The group that leaves the fewest numbers open; while some are, one that is beside them.
        let cost = |group: &Group| {
            let (known, new): (Vec<usize>, Vec<usize>) =
                group.beside.iter().partition(|&it| open.contains(it));
            let size = group.cells.len();
            let ended = group.beside.iter().filter(|&&it| later[it] == size).count();
            (
                known.is_empty() && !open.is_empty(),
                new.len() as isize - ended as isize,
                new.len(),
            )
        };
        let Some(next) = (0..groups.len()).min_by_key(|&index| cost(&groups[index])) else {
            break;
        };
        let group = groups.remove(next);
        let known = open.len();
        for &number in &group.beside {
            later[number] -= group.cells.len();
            if !open.contains(&number) {
                open.push(number);
            }
        }
        let step = Step {
            begin: open[known..]
                .iter()
                .map(|&number| numbers[number].lacking)
                .collect(),
            touched: (0..open.len())
                .filter(|&place| group.beside.contains(&open[place]))
                .collect(),
            later: open.iter().map(|&number| later[number]).collect(),
            group,
        };
        open.retain(|&number| later[number] > 0);
        if let Some(component) = components.last_mut() {
            component.steps.push(step);
        }
    }
    components
}

impl Step {
    /// The state after the group, if it has so many mines. `None`: then no layout fits.
    fn after(&self, state: &[usize], mines: usize) -> Option<State> {
        let mut next: State = state.iter().chain(&self.begin).copied().collect();
        for &place in &self.touched {
            next[place] = next[place].checked_sub(mines)?;
        }
        let mut places = self.later.iter();
        if next
            .iter()
            .zip(&self.later)
            .any(|(&lacking, &later)| lacking > later)
        {
            return None;
        }
        next.retain(|_| places.next().is_some_and(|&later| later > 0));
        Some(next)
    }

    /// The states after the group, by its number of mines, with the ways to choose them.
    fn successors(&self, state: &[usize]) -> impl Iterator<Item = (usize, f64, State)> {
        let ways = binomials(self.group.cells.len());
        let after = move |(mines, ways)| Some((mines, ways, self.after(state, mines)?));
        ways.into_iter().enumerate().filter_map(after)
    }
}

impl Component {
    /// Counts the layouts of the groups before each step.
    fn count_forwards(
        &mut self,
        mines: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let mut size = 0;
        self.forwards = vec![BTreeMap::from([(Vec::new(), vec![1.0])])];
        for step in &self.steps {
            let mut after = BTreeMap::<State, Counts>::new();
            for (state, counts) in self.forwards.last().into_iter().flatten() {
                for (added, ways, next) in step.successors(state) {
                    size += counts.len();
                    let sum = after.entry(next).or_default();
                    sum.resize(sum.len().max((counts.len() + added).min(mines + 1)), 0.0);
                    for (sum, count) in sum.iter_mut().skip(added).zip(counts) {
                        *sum += count * ways;
                    }
                }
                check(size, is_cancelled)?;
            }
            self.forwards.push(after);
        }
        Ok(())
    }

    /// The layouts of all groups.
    fn total(&self) -> &Counts {
        static NONE: Counts = Counts::new();
        self.forwards
            .last()
            .and_then(|last| last.values().next())
            .unwrap_or(&NONE)
    }

    /// The chance of a mine for the cells of each group. `outside`: in how many ways the rest of the field can be laid
    /// out, by the number of mines here.
    fn chances(
        &self,
        outside: Counts,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<(&Group, f64)>, String> {
        let mut chances = Vec::new();
        // By the state after a step and the mines until then: in how many ways all that follows can be laid out.
        let mut backwards = BTreeMap::from([(Vec::new(), outside)]);
        for (step, forwards) in self.steps.iter().zip(&self.forwards).rev() {
            let size = step.group.cells.len();
            let mut weights = vec![0.0; size + 1];
            let mut before = BTreeMap::new();
            for (state, counts) in forwards {
                let mut completions = vec![0.0; counts.len()];
                for (added, ways, next) in step.successors(state) {
                    let Some(after) = backwards.get(&next) else {
                        continue;
                    };
                    for (place, after) in after.iter().skip(added).enumerate().take(counts.len()) {
                        completions[place] += ways * after;
                        weights[added] += counts[place] * ways * after;
                    }
                }
                before.insert(state.clone(), completions);
                check(0, is_cancelled)?;
            }
            backwards = before;
            chances.push((&step.group, share(weights.into_iter().enumerate(), size)));
        }
        Ok(chances)
    }
}

/// # Errors
/// When there is too much to count, or when it is cancelled.
fn check(counts: usize, is_cancelled: &dyn Fn() -> bool) -> Result<(), String> {
    if counts > MOST_COUNTS {
        return Err(format!(
            "the numbers are too entangled: more than {MOST_COUNTS} counts"
        ));
    }
    if is_cancelled() {
        return Err("cancelled".to_owned());
    }
    Ok(())
}

/// The chance of a mine in a cell of a group, from the weights of its numbers of mines.
fn share(weights: impl Iterator<Item = (usize, f64)>, size: usize) -> f64 {
    let (mut all, mut mine, mut none) = (0.0, 0.0, 0.0);
    for (mines, weight) in weights {
        let part = mines as f64 / size.max(1) as f64;
        all += weight;
        mine += weight * part;
        none += weight * (1.0 - part);
    }
    if none == 0.0 {
        1.0
    } else {
        // What is not certain stays so when it is rounded.
        (mine / all).min(1.0_f64.next_down())
    }
}

/// In how many ways the free cells can have the mines that are left.
fn rest(ways: &[f64], mines: usize, used: usize) -> f64 {
    mines
        .checked_sub(used)
        .and_then(|left| ways.get(left))
        .copied()
        .unwrap_or(0.0)
}

/// In how many ways the other components and the free cells can have the mines that one component leaves.
fn completed(others: &[f64], ways: &[f64], mines: usize, used: usize) -> f64 {
    let parts = others
        .iter()
        .enumerate()
        .map(|(more, count)| count * rest(ways, mines, used + more));
    parts.sum()
}

/// The counts of two parts together.
fn product(left: &[f64], right: &[f64]) -> Counts {
    let mut product = vec![0.0; (left.len() + right.len()).saturating_sub(1)];
    for (at, left) in left.iter().enumerate() {
        for (place, right) in product[at..].iter_mut().zip(right) {
            *place += left * right;
        }
    }
    product
}

/// In how many ways 0, 1 … n of n cells can be chosen.
fn binomials(n: usize) -> Counts {
    let mut row = vec![1.0];
    for k in 0..n {
        row.push(row[k] * (n - k) as f64 / (k + 1) as f64);
    }
    row
}

/// The cells of a certain chance.
#[must_use]
pub fn certain(chances: &[Option<f64>], chance: f64) -> BTreeSet<usize> {
    let cells = chances.iter().enumerate();
    cells
        .filter(|&(_, &it)| it == Some(chance))
        .map(|(cell, _)| cell)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::field::Cell;

    fn chances_of(field: &Field) -> Result<Vec<Option<f64>>, String> {
        chances(field, &|| false)
    }

    /// The share of layouts with a mine in each cell, by trying all of them.
    fn by_brute_force(field: &Field) -> Option<Vec<f64>> {
        let count = field.cells().len();
        let fits = |layout: &u32| {
            let is_mine = |cell: usize| layout >> cell & 1 == 1;
            (0..count).all(|cell| match field.cells()[cell] {
                Cell::Open(number) => {
                    let around = field.around(cell).filter(|&it| is_mine(it)).count();
                    !is_mine(cell) && around == usize::from(number)
                }
                _ => true,
            })
        };
        let layouts =
            (0..1_u32 << count).filter(|layout| layout.count_ones() as usize == field.mines());
        let fitting: Vec<u32> = layouts.filter(fits).collect();
        let with = |cell: usize| {
            fitting
                .iter()
                .filter(|layout| *layout >> cell & 1 == 1)
                .count()
        };
        (!fitting.is_empty()).then(|| {
            (0..count)
                .map(|cell| with(cell) as f64 / fitting.len() as f64)
                .collect()
        })
    }

    /// A field of up to 16 cells: mines, and which of the other cells are open.
    fn fields() -> impl Strategy<Value = (usize, Vec<bool>, Vec<bool>)> {
        (1_usize..=4, 1_usize..=4).prop_flat_map(|(rows, cols)| {
            let flags = |chance| prop::collection::vec(prop::bool::weighted(chance), rows * cols);
            (Just(cols), flags(0.25), flags(0.4))
        })
    }

    /// The field that a player sees.
    fn seen(cols: usize, mines: &[bool], open: &[bool]) -> Option<Field> {
        let count = mines.iter().filter(|&&mine| mine).count();
        let covered = Field::new(cols, count, vec![Cell::Covered; mines.len()]).ok()?;
        let number = |cell: usize| covered.around(cell).filter(|&it| mines[it]).count() as u8;
        let shown = |cell: usize| match open[cell] && !mines[cell] {
            true => Cell::Open(number(cell)),
            false => Cell::Covered,
        };
        Field::new(cols, count, (0..mines.len()).map(shown).collect()).ok()
    }

    proptest! {
        #[test]
        fn the_chances_are_those_of_all_layouts((cols, mines, open) in fields()) {
            let Some(field) = seen(cols, &mines, &open) else { return Ok(()) };
            let expected = by_brute_force(&field).expect("the layout itself fits");
            for (cell, chance) in chances_of(&field).unwrap().into_iter().enumerate() {
                prop_assert_eq!(chance.is_some(), field.cells()[cell].is_covered());
                let (chance, expected) = (chance.unwrap_or(0.0), expected[cell]);
                prop_assert!((chance - expected).abs() < 1e-9, "cell {}: {} is {}", cell, chance, expected);
                // What is certain, exactly.
                prop_assert_eq!(chance == 0.0, expected == 0.0);
                prop_assert_eq!(chance == 1.0, expected == 1.0);
            }
        }

        #[test]
        fn a_field_without_a_layout_is_an_error(
            cols in 1_usize..=4, mines in 0_usize..6, numbers in prop::collection::vec(-6_i8..=4, 1..16)
        ) {
            let cell = |&number: &i8| u8::try_from(number).map_or(Cell::Covered, Cell::Open);
            let cells: Vec<Cell> = numbers[..numbers.len() / cols * cols].iter().map(cell).collect();
            let Ok(field) = Field::new(cols, mines, cells) else { return Ok(()) };
            prop_assert_eq!(chances_of(&field).is_ok(), by_brute_force(&field).is_some());
        }
    }

    #[test]
    fn the_number_of_mines_counts() {
        // Two mines: both beside the ones, or one between them and one at the end.
        let field = Field::parse(1, "#1##").unwrap();
        assert_eq!(
            chances_of(&field).unwrap(),
            [Some(0.5), None, Some(0.5), Some(0.0)]
        );
        let field = Field::parse(2, "#1##").unwrap();
        assert_eq!(
            chances_of(&field).unwrap(),
            [Some(0.5), None, Some(0.5), Some(1.0)]
        );
    }

    #[test]
    fn flags_prove_nothing() {
        let field = Field::parse(1, "F1##").unwrap();
        assert_eq!(chances_of(&field).unwrap()[0], Some(0.5));
    }

    #[test]
    fn the_largest_field_can_be_counted() {
        let mut cells = vec![Cell::Covered; 1000];
        let chance =
            |cells: &[Cell]| chances_of(&Field::new(40, 500, cells.to_vec()).unwrap()).unwrap();
        assert!(
            chance(&cells)
                .iter()
                .all(|it| (it.unwrap() - 0.5).abs() < 1e-9)
        );
        cells[0] = Cell::Open(3);
        let chances = chance(&cells);
        assert_eq!(
            (chances[1], chances[40], chances[41]),
            (Some(1.0), Some(1.0), Some(1.0))
        );
        assert!((chances[999].unwrap() - 497.0 / 996.0).abs() < 1e-9);
    }

    #[test]
    fn work_can_be_cancelled() {
        let field = Field::parse(3, "#2##\n####\n#2##").unwrap();
        assert_eq!(chances(&field, &|| true).unwrap_err(), "cancelled");
    }
}
