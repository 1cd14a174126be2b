//! Solutions that a solver finds one after another, as an answer to its [`Want`].

use flowpipe_puzzle::Solution;
use flowpipe_puzzle::message::{Count, Verdict};

use crate::solver::Want;

/// The solutions found so far. For solvers that find each solution once, in any order.
#[derive(Debug)]
pub struct Tally {
    want: Want,
    most: u64,
    number: u64,
    first: Option<Solution>,
    others: Vec<Solution>,
    /// Cells in all listed solutions.
    cells: usize,
}

impl Tally {
    /// The most cells of all listed solutions together, whatever the limit: 64 MB of them. Listing stops there as at a
    /// limit.
    pub const MOST_CELLS: usize = 1 << 23;

    /// An empty tally. The limit counts only when solutions are counted or listed; at least one is always searched for.
    #[must_use]
    pub fn new(want: Want, limit: Option<u64>) -> Self {
        let most = match want {
            Want::One => 1,
            Want::Unique => 2,
            Want::Count | Want::All => limit.unwrap_or(u64::MAX).max(1),
        };
        Self {
            want,
            most,
            number: 0,
            first: None,
            others: Vec::new(),
            cells: 0,
        }
    }

    /// Adds a solution; calls `solution` only if it is kept.
    pub fn add(&mut self, solution: impl FnOnce() -> Solution) {
        self.number += 1;
        if self.first.is_none() {
            self.first = Some(solution());
        } else if self.want == Want::All {
            let solution = solution();
            self.cells += solution
                .flows
                .iter()
                .map(|flow| flow.cells.len())
                .sum::<usize>();
            self.others.push(solution);
        }
    }

    /// Whether enough is known to answer.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.number >= self.most || self.cells >= Self::MOST_CELLS
    }

    /// The answer. `all`: there are no other solutions.
    #[must_use]
    pub fn verdict(self, all: bool) -> Verdict {
        let Some(solution) = self.first else {
            return if all {
                Verdict::unsolvable(None)
            } else {
                Verdict::unknown("gave up before a solution was found")
            };
        };
        let unique = match self.number {
            1 => all.then_some(true),
            _ => Some(false),
        };
        let count = match self.want {
            Want::One | Want::Unique => None,
            _ if all => Some(Count::exactly(self.number)),
            _ => Some(Count::at_least(self.number)),
        };
        Verdict::solution(solution, unique)
            .with_count(count)
            .with_others(self.others)
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Flow;

    use super::*;

    fn solution(cell: usize) -> Solution {
        Solution {
            flows: vec![Flow {
                colour: 0,
                cells: vec![cell, cell + 1],
            }],
        }
    }

    /// The answer when there are this many solutions.
    fn answer(want: Want, limit: Option<u64>, there: usize) -> Verdict {
        let mut tally = Tally::new(want, limit);
        for cell in 0..there {
            tally.add(|| solution(cell));
            if tally.is_enough() {
                return tally.verdict(false);
            }
        }
        tally.verdict(true)
    }

    #[test]
    fn each_question_has_its_answer() {
        let verdict = |unique, count, others| {
            Verdict::solution(solution(0), unique)
                .with_count(count)
                .with_others(others)
        };
        let none = Verdict::unsolvable(None);
        for want in [Want::One, Want::Unique, Want::Count, Want::All] {
            assert_eq!(answer(want, None, 0), none);
        }
        assert_eq!(answer(Want::One, None, 3), verdict(None, None, vec![]));
        assert_eq!(
            answer(Want::Unique, Some(1), 1),
            verdict(Some(true), None, vec![])
        );
        assert_eq!(
            answer(Want::Unique, None, 3),
            verdict(Some(false), None, vec![])
        );
        let three = Some(Count::exactly(3));
        assert_eq!(
            answer(Want::Count, None, 3),
            verdict(Some(false), three.clone(), vec![])
        );
        let others = vec![solution(1), solution(2)];
        assert_eq!(
            answer(Want::All, Some(9), 3),
            verdict(Some(false), three, others)
        );
        let stopped = Some(Count::at_least(2));
        assert_eq!(
            answer(Want::Count, Some(2), 3),
            verdict(Some(false), stopped.clone(), vec![])
        );
        assert_eq!(
            answer(Want::All, Some(2), 3),
            verdict(Some(false), stopped, vec![solution(1)])
        );
        let one = Some(Count::at_least(1));
        assert_eq!(answer(Want::Count, Some(0), 3), verdict(None, one, vec![]));
    }
}
