//! What is left to do on a partial board.

use std::collections::HashMap;

use crate::config::Heuristic;
use crate::goal::Covered;
use crate::partial::Partial;
use crate::problem::{APART, Problem};

/// A guess at how many cells must still be drawn. The goal is examined by the heuristics that need
/// one, and cells that it leaves empty are never wrong while they are empty.
pub fn estimate(
    heuristic: Heuristic,
    problem: &Problem<'_>,
    board: &Partial,
    goal: Option<&Covered>,
) -> u32 {
    match (heuristic, goal) {
        (Heuristic::Remaining, _) if problem.cover() => board.empty,
        (Heuristic::Remaining | Heuristic::Manhattan, _) => manhattan(problem, board),
        (Heuristic::Trapped, _) => trapped(problem, board),
        (Heuristic::Misplaced, Some(goal)) => misplaced(problem, board, goal),
        (Heuristic::MisplacedFirst, Some(goal)) => misplaced_first(problem, board, goal),
        // The config is refused then.
        (Heuristic::Misplaced | Heuristic::MisplacedFirst, None) => 0,
    }
}

/// The cells between the two ends of each colour. Of several pairs of a colour it is not known which
/// belong together: each end goes at least as far as the nearest other, and each path has two ends.
fn manhattan(problem: &Problem<'_>, board: &Partial) -> u32 {
    let of_colour = |colour: usize| {
        let gaps = board
            .loose(problem, colour)
            .map(|arm| gap(problem, board, arm));
        gaps.sum::<u32>().div_ceil(2)
    };
    (0..problem.colours.len()).map(of_colour).sum()
}

/// The cells between the tip of a loose arm and the nearest one of its colour, on an empty board.
pub fn gap(problem: &Problem<'_>, board: &Partial, arm: usize) -> u32 {
    let others = board
        .loose(problem, problem.colour_of[arm])
        .filter(|&other| other != arm);
    let nearest = others
        .map(|other| problem.distance(board.tip[arm], board.tip[other]))
        .min()
        .unwrap_or(APART);
    u32::from(nearest.saturating_sub(1))
}

/// The coloured nodes without an empty one beside them.
fn trapped(problem: &Problem<'_>, board: &Partial) -> u32 {
    let is_trapped = |&node: &usize| {
        let mut beside = problem.beside[node].iter();
        board.arm_at[node].is_some() && beside.all(|&other| board.arm_at[other].is_some())
    };
    count((0..problem.len()).filter(is_trapped))
}

/// The nodes that are not as in the goal.
fn misplaced(problem: &Problem<'_>, board: &Partial, goal: &Covered) -> u32 {
    let colour_at = |node: usize| {
        let arm = usize::from(board.arm_at[node]?);
        Some(problem.colours[problem.colour_of[arm]].colour)
    };
    count(
        (0..problem.len()).filter(|&node| colour_at(node) != goal[node].map(|(colour, _)| colour)),
    )
}

/// As the notebook's code has it: each square is looked up in the goal at the first square with the
/// same content in its row, in the first row that is wholly the same; empty squares and both ends of
/// each pipe are always wrong.
fn misplaced_first(problem: &Problem<'_>, board: &Partial, goal: &Covered) -> u32 {
    /// What a square shows: the arm, and whether it is its tip.
    type Content = Option<(u16, bool)>;
    let content = |node: usize| -> Content {
        let arm = board.arm_at[node]?;
        Some((arm, board.tip[usize::from(arm)] == node))
    };
    let mut first_row: HashMap<Vec<Content>, usize> = HashMap::new();
    let mut wrong = 0;
    for (index, row) in problem.rows.iter().enumerate() {
        let contents: Vec<Content> = row.iter().map(|&node| content(node)).collect();
        let looked_up = contents.clone();
        let first = *first_row.entry(contents).or_insert(index);
        for (place, &content) in looked_up.iter().enumerate() {
            wrong += u32::from(match content {
                None => goal[row[place]].is_some(),
                Some((_, true)) => true,
                Some((arm, false)) => {
                    let at = looked_up
                        .iter()
                        .position(|&other| other == content)
                        .unwrap_or(place);
                    let node = problem.rows[first].get(at).copied().unwrap_or(row[place]);
                    let colour = problem.colours[problem.colour_of[usize::from(arm)]].colour;
                    goal[node] != Some((colour, true))
                }
            });
        }
    }
    wrong
}

fn count(nodes: impl Iterator<Item = usize>) -> u32 {
    u32::try_from(nodes.count()).unwrap_or(u32::MAX)
}
