//! Messages as sentences.

use flowpipe_puzzle::message::{
    BoardResult, BoardState, Outcome, Reading, Sighting, Solved, Stroke, Strokes, Verdict,
};
use flowpipe_puzzle::{Lattice, Puzzle};
use flowpipe_terminal::counted;

/// What vision made of a frame.
pub fn sighting(sighting: &Sighting) -> String {
    match &sighting.reading {
        Reading::Board(board) => format!("{}, {}", puzzle(&board.puzzle), state(board.state)),
        Reading::Refused { step, reason, .. } => format!("no board ({step}: {reason})"),
    }
}

/// A puzzle's size, kind and number of flows.
pub fn puzzle(puzzle: &Puzzle) -> String {
    let flows = puzzle.flow_count();
    let plural = if flows == 1 { "" } else { "s" };
    format!("{}, {flows} flow{plural}", size(puzzle))
}

/// A puzzle's size and kind: columns by rows.
pub fn size(puzzle: &Puzzle) -> String {
    let board = puzzle.board();
    let description = board.description();
    let kinds = [
        (description.lattice == Lattice::Hex, "hexes"),
        (!description.bridges.is_empty(), "bridges"),
        (description.warps, "warps"),
        (!description.walls.is_empty(), "walls"),
        (!description.holes.is_empty(), "holes"),
    ];
    let mut text = format!("{} × {}", board.cols(), board.rows());
    for (_, kind) in kinds.iter().filter(|(has, _)| *has) {
        text.push(' ');
        text.push_str(kind);
    }
    text
}

/// How far a board is played.
pub fn state(state: BoardState) -> &'static str {
    match state {
        BoardState::Empty => "nothing drawn",
        BoardState::Partial => "partly drawn",
        BoardState::Solved => "solved",
        BoardState::Moving => "moving",
    }
}

/// A solver's answer.
pub fn solved(solved: &Solved) -> String {
    let answer = match &solved.answer {
        Verdict::Solution { unique, .. } => match unique {
            Some(true) => "the only solution".to_owned(),
            Some(false) => "a solution, not the only one".to_owned(),
            None => "a solution".to_owned(),
        },
        other => refusal(other).unwrap_or_default(),
    };
    match solved.effort.nodes {
        Some(nodes) => format!("{answer} ({}: {})", solved.solver, counted(nodes, "step")),
        None => format!("{answer} ({})", solved.solver),
    }
}

/// Why there is no solution.
pub fn refusal(answer: &Verdict) -> Option<String> {
    match answer {
        Verdict::Solution { .. } => None,
        Verdict::Unsolvable { reason: None, .. } => Some("no solution".to_owned()),
        Verdict::Unsolvable {
            reason: Some(reason),
            ..
        } => Some(format!("no solution: {reason}")),
        Verdict::Unsupported { reason, .. } => Some(format!("not taken: {reason}")),
        Verdict::Unknown { reason, .. } => Some(format!("given up: {reason}")),
    }
}

/// What the mouse is to do.
pub fn strokes(strokes: &Strokes) -> String {
    let segments: usize = strokes.strokes.iter().map(Stroke::segments).sum();
    let count = strokes.strokes.len();
    format!(
        "{}, {}",
        counted(count, "stroke"),
        counted(segments, "segment")
    )
}

/// What became of strokes.
pub fn outcome(outcome: &Outcome) -> String {
    if let Some(reason) = &outcome.refused {
        return format!("not played: {reason}");
    }
    let strokes = counted(outcome.strokes.len(), "stroke");
    match outcome.solved {
        Some(true) => format!("{strokes} played, the board is solved"),
        Some(false) => format!("{strokes} played, the board is not solved"),
        None => format!("{strokes} played"),
    }
}

/// What became of a board.
pub fn result(result: &BoardResult) -> String {
    match (&result.reason, result.solved) {
        (_, true) => format!("board {} solved", result.number),
        (Some(reason), false) => format!("board {} given up: {reason}", result.number),
        (None, false) => format!("board {} given up", result.number),
    }
}
