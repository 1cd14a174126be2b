//! Answers of solvers: each solution keeps the rules of the puzzle that was asked.

use flowpipe_plugin::Message;
use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::answer_check::check_answer;
use flowpipe_plugin::puzzle::message::{SIGHTING, Sighting, Solved, Verdict};
use serde_json::value::RawValue;

use crate::accepted::AcceptedPuzzles;
use crate::{Judged, asked, sighting};

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
    check_answer(puzzle, answer).map_err(|error| error.to_string())?;
    Ok(match answer {
        Verdict::Solution { .. } => None,
        Verdict::Unsolvable { reason, .. } => Some(with_reason("no solution", reason)),
        Verdict::Unsupported { reason, .. } => Some(format!("not supported: {reason}")),
        Verdict::Unknown { reason, .. } => Some(format!("gave up: {reason}")),
    })
}

/// `text: reason`, if there is a reason.
fn with_reason(text: &str, reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(|| text.to_owned(), |reason| format!("{text}: {reason}"))
}
