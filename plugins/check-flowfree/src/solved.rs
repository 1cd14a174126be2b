//! Answers of solvers: each solution keeps the rules of the puzzle that was asked.

use std::collections::HashSet;

use flowpipe_plugin::Message;
use flowpipe_plugin::puzzle::message::{Count, SIGHTING, Sighting, Solved, Verdict};
use flowpipe_plugin::puzzle::{Puzzle, Solution, check};
use serde_json::value::RawValue;

use crate::accepted::AcceptedPuzzles;
use crate::{Judged, asked, list, sighting};

pub fn judge(
    parent: Option<&Message<'_>>,
    message: &Message<'_>,
    accepted: &AcceptedPuzzles,
) -> Judged {
    let parent = asked(parent, SIGHTING);
    // A sighting that was accepted with this text need not be read again.
    if let Ok(solved) = serde_json::from_slice::<Solved<&RawValue>>(message.json())
        && let text = solved.sighting.get().as_bytes()
        && parent.is_none_or(|parent| parent.json() == text)
        && let Some(puzzle) = accepted.find(text)
    {
        return judge_answer(&puzzle, &solved.answer);
    }
    let solved: Solved = message.parse()?;
    // Where a frame shows no board that can be read, it may be answered for the board that was read before.
    let is_answered = |asked: Sighting| {
        asked == solved.sighting || asked.board().is_none() && asked.frame == solved.sighting.frame
    };
    // Equal texts need not be read: messages are canonical.
    if let Some(parent) = parent
        && !parent.parse::<Sighting>().is_ok_and(is_answered)
    {
        return Err("it answers another sighting than it received".to_owned());
    }
    sighting::check(&solved.sighting)?;
    let board = solved
        .sighting
        .board()
        .ok_or("an answer where there is no board")?;
    judge_answer(&board.puzzle, &solved.answer)
}

fn judge_answer(puzzle: &Puzzle, answer: &Verdict) -> Judged {
    match answer {
        Verdict::Solution {
            solution,
            unique,
            count,
            others,
            ..
        } => {
            check_solutions(puzzle, solution, others)?;
            check_count(*unique, count.as_ref(), 1 + others.len())?;
            Ok(None)
        }
        Verdict::Unsolvable { reason, .. } => Ok(Some(with_reason("no solution", reason))),
        Verdict::Unsupported { reason, .. } => Ok(Some(format!("not supported: {reason}"))),
        Verdict::Unknown { reason, .. } => Ok(Some(format!("gave up: {reason}"))),
    }
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
