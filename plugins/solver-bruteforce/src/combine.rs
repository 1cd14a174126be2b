//! Combinations of paths, one for each pair of terminals.

use flowpipe_plugin::puzzle::{Flow, Puzzle, Solution};
use flowpipe_plugin::{Result, Tally, Watch};

use crate::mask::Mask;
use crate::paths::{Path, Start};

/// One path of the current combination.
struct Chosen {
    /// Where it begins: an index among the starts.
    start: usize,
    /// Which of that start's paths comes next.
    next: usize,
    /// What all paths before it take.
    before: Mask,
}

/// Goes through the combinations until the tally has enough. How many paths were tried on top of
/// others, and whether these were all that there are.
///
/// Each pairing comes up once: the next path always begins at the first terminal that none of the
/// paths so far takes.
///
/// # Errors
/// When cancelled.
pub fn combine(
    puzzle: &Puzzle,
    starts: &[Start],
    tally: &mut Tally,
    watch: &mut Watch<'_>,
) -> Result<(u64, bool)> {
    let free_start = |from: usize, taken: &Mask| {
        (from..starts.len()).find(|&index| !taken.has(starts[index].node))
    };
    let whole = Mask::first(puzzle.board().graph().len());
    let mut tried = 0;
    let mut stack = vec![Chosen {
        start: 0,
        next: 0,
        before: Mask::default(),
    }];
    while let Some(top) = stack.last_mut() {
        let Some(path) = starts[top.start].paths.get(top.next) else {
            stack.pop();
            continue;
        };
        watch.work(1)?;
        tried += 1;
        top.next += 1;
        if path.mask.meets(&top.before) {
            continue;
        }
        let taken = top.before.union(&path.mask);
        if let Some(start) = free_start(top.start + 1, &taken) {
            stack.push(Chosen {
                start,
                next: 0,
                before: taken,
            });
        } else if taken == whole || !puzzle.rules().cover {
            tally.add(|| solution(puzzle, starts, &stack));
            if tally.is_enough() {
                return Ok((tried, false));
            }
        }
    }
    Ok((tried, true))
}

/// The current combination as flows.
fn solution(puzzle: &Puzzle, starts: &[Start], stack: &[Chosen]) -> Solution {
    let graph = puzzle.board().graph();
    let flow = |chosen: &Chosen| {
        let start = &starts[chosen.start];
        let path: &Path = &start.paths[chosen.next - 1];
        Flow {
            colour: start.colour,
            cells: path
                .nodes
                .iter()
                .map(|&node| graph.cell_of(usize::from(node)))
                .collect(),
        }
    };
    Solution {
        flows: stack.iter().map(flow).collect(),
    }
    .canonical()
}
