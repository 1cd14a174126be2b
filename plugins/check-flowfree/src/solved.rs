//! Answers of solvers: each solution keeps the rules of the puzzle that was asked.

use std::collections::HashSet;

use flowpipe_plugin::Message;
use flowpipe_plugin::puzzle::message::{Count, SIGHTING, Sighting, Solved, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, Solution, check};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Judged, asked, list, read};

pub fn judge(parent: Option<&Message<'_>>, message: &Message<'_>) -> Judged {
    let solved: Solved = read(message)?;
    if let Some(parent) = asked(parent, SIGHTING)
        && !answers(message, &solved, parent)
    {
        return Err("it answers another sighting than it received".to_owned());
    }
    let board = solved
        .sighting
        .board()
        .ok_or("an answer where there is no board")?;
    match &solved.answer {
        Verdict::Solution {
            solution,
            unique,
            count,
            others,
            ..
        } => {
            check_solutions(&board.puzzle, solution, others)?;
            check_count(*unique, count.as_ref(), 1 + others.len())?;
            Ok(None)
        }
        Verdict::Unsolvable { reason, .. } => Ok(Some(with_reason("no solution", reason))),
        Verdict::Unsupported { reason, .. } => Ok(Some(format!("not supported: {reason}"))),
        Verdict::Unknown { reason, .. } => Ok(Some(format!("gave up: {reason}"))),
    }
}

/// The sighting of an answer, as it is written.
#[derive(Deserialize)]
struct WrittenAnswer<'a> {
    #[serde(borrow)]
    sighting: &'a RawValue,
}

/// Whether an answer has the sighting that was asked. Equal texts need not be read: messages are canonical.
fn answers(message: &Message<'_>, solved: &Solved, parent: &Message<'_>) -> bool {
    let written = serde_json::from_slice::<WrittenAnswer<'_>>(message.json());
    if written.is_ok_and(|written| written.sighting.get().as_bytes() == parent.json()) {
        return true;
    }
    read::<Sighting>(parent).is_ok_and(|asked| asked == solved.sighting)
}

/// Each solution keeps the rules, and no two are the same.
fn check_solutions(puzzle: &Puzzle, first: &Solution, others: &[Solution]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for solution in std::iter::once(first).chain(others) {
        check(puzzle, solution)
            .map_err(|breaches| format!("a wrong solution: {}", list(&breaches)))?;
        if !others.is_empty() && !seen.insert(solution.clone().canonical()) {
            return Err("the same solution twice".to_owned());
        }
    }
    Ok(())
}

/// The count of solutions agrees with the given solutions.
fn check_count(unique: Option<bool>, count: Option<&Count>, given: usize) -> Result<(), String> {
    if unique == Some(true) && given > 1 {
        return Err(format!("{given} solutions, declared unique"));
    }
    let Some(count) = count else { return Ok(()) };
    if !count.is_well_formed() {
        return Err(format!(
            "a count of {:?}, which is not a number",
            count.digits
        ));
    }
    // A count that overflows is larger than any list.
    let counted = count.digits.parse().unwrap_or(u64::MAX);
    let agrees = match unique {
        Some(true) => counted == 1 && !count.or_more,
        Some(false) => counted > 1,
        None => counted > 0,
    };
    if !agrees || counted < given as u64 {
        return Err(format!(
            "a count of {} beside {given} solutions given, unique: {unique:?}",
            count.digits
        ));
    }
    Ok(())
}

/// `text: reason`, if there is a reason.
fn with_reason(text: &str, reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(|| text.to_owned(), |reason| format!("{text}: {reason}"))
}
