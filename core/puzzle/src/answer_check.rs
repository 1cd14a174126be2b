//! The one checker of solvers' answers: its solutions keep the rules, and what it says of their number agrees with them.

use std::collections::HashSet;

use thiserror::Error;

use crate::check::{Refusal, check};
use crate::message::{Count, Verdict};
use crate::puzzle::Puzzle;
use crate::solution::Solution;

/// What is wrong with an answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// A solution breaks the rules.
    #[error("a wrong solution: {}", list(.0))]
    Wrong(Vec<Refusal>),
    /// Two solutions are the same.
    #[error("the same solution twice")]
    Twice,
    /// Several solutions of a puzzle that is said to have one.
    #[error("{0} solutions, declared unique")]
    NotUnique(usize),
    /// The count has other characters than digits.
    #[error("a count of {0:?}, which is not a number")]
    NotANumber(String),
    /// The count does not agree with the solutions.
    #[error("a count of {digits} beside {given} solutions given, unique: {unique:?}")]
    Count {
        /// The count.
        digits: String,
        /// How many solutions are given.
        given: usize,
        /// Whether the solution is said to be the only one.
        unique: Option<bool>,
    },
}

/// Checks a solver's answer to a puzzle. Only solutions can be checked: that there is none is taken as it is.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_answer(puzzle: &Puzzle, answer: &Verdict) -> Result<(), AnswerError> {
    let Verdict::Solution {
        solution,
        unique,
        count,
        others,
    } = answer
    else {
        return Ok(());
    };
    check_solutions(puzzle, solution, others)?;
    check_count(*unique, count.as_ref(), 1 + others.len())
}

/// Each solution keeps the rules, and no two are the same.
fn check_solutions(
    puzzle: &Puzzle,
    first: &Solution,
    others: &[Solution],
) -> Result<(), AnswerError> {
    let mut seen = HashSet::new();
    for solution in std::iter::once(first).chain(others) {
        check(puzzle, solution).map_err(AnswerError::Wrong)?;
        if !others.is_empty() && !seen.insert(solution.clone().canonical()) {
            return Err(AnswerError::Twice);
        }
    }
    Ok(())
}

/// The count of solutions agrees with the given solutions.
fn check_count(
    unique: Option<bool>,
    count: Option<&Count>,
    given: usize,
) -> Result<(), AnswerError> {
    if unique == Some(true) && given > 1 {
        return Err(AnswerError::NotUnique(given));
    }
    let Some(count) = count else { return Ok(()) };
    let digits = || count.digits.clone();
    if !count.is_well_formed() {
        return Err(AnswerError::NotANumber(digits()));
    }
    // A count that overflows is larger than any list.
    let counted = count.digits.parse().unwrap_or(u64::MAX);
    let agrees = match unique {
        Some(true) => counted == 1 && !count.or_more,
        Some(false) => counted > 1,
        None => counted > 0,
    };
    if !agrees || counted < given as u64 {
        return Err(AnswerError::Count {
            digits: digits(),
            given,
            unique,
        });
    }
    Ok(())
}

/// The first few breaches, in a line.
fn list(breaches: &[Refusal]) -> String {
    const SHOWN: usize = 3;
    let shown = breaches.iter().take(SHOWN).map(ToString::to_string);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if breaches.len() > SHOWN {
        text += &format!("; and {} more", breaches.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn an_answer_fits_its_puzzle_and_itself() {
        let puzzle = text::read("AB\nAB").remove(0).puzzle.unwrap().0;
        let solution = |colours: [u8; 2]| {
            let flows = colours
                .iter()
                .zip([[0, 2], [1, 3]])
                .map(|(colour, cells)| serde_json::json!({ "colour": colour, "cells": cells }));
            let flows: Vec<_> = flows.collect();
            serde_json::from_value::<Solution>(serde_json::json!({ "flows": flows })).unwrap()
        };
        let good = solution([0, 1]);
        let check =
            |verdict: Verdict| check_answer(&puzzle, &verdict).map_err(|error| error.to_string());
        let error = |verdict: Verdict| check(verdict).unwrap_err();
        let one = |unique| Verdict::solution(good.clone(), unique);
        assert_eq!(check(one(Some(true))), Ok(()));
        assert_eq!(check(Verdict::unsolvable(None)), Ok(()));
        assert!(error(Verdict::solution(solution([1, 0]), None)).starts_with("a wrong solution: "));
        let twice = one(None).with_others(vec![good.clone()]);
        assert_eq!(error(twice), "the same solution twice");
        let count = |digits: &str| Some(Count::exactly(digits));
        assert_eq!(check(one(Some(true)).with_count(count("1"))), Ok(()));
        let none = error(one(None).with_count(count("0")));
        assert_eq!(none, "a count of 0 beside 1 solutions given, unique: None");
        let no_number = error(one(None).with_count(count("01")));
        assert_eq!(no_number, "a count of \"01\", which is not a number");
    }
}
