//! Messages as sentences.

use flowpipe_message::{GestureOutcome, Gestures, Metric, Metrics};
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
        (Some(reason), false) if result.unknown => {
            format!("board {} unknown: {reason}", result.number)
        }
        (Some(reason), false) => format!("board {} given up: {reason}", result.number),
        (None, false) => format!("board {} given up", result.number),
    }
}

/// What a stage reports of its work: its notes, and the numbers of what it counted and measured.
pub fn metrics(metrics: &Metrics) -> String {
    /// More than these are only counted.
    const MOST: usize = 4;
    let unit = |unit: &Option<String>| match unit {
        Some(unit) => format!(" {unit}"),
        None => String::new(),
    };
    let parts = metrics
        .metrics
        .iter()
        .take(MOST)
        .map(|metric| match metric {
            Metric::Counter { name, add } => format!("{name} +{add}"),
            Metric::Gauge {
                name,
                value,
                unit: of,
            } => format!("{name} {}{}", number(*value), unit(of)),
            Metric::Distribution {
                name,
                values,
                unit: of,
            } => match values[..] {
                [value] => format!("{name} {}{}", number(value), unit(of)),
                _ => format!("{name}: {}", counted(values.len(), "sample")),
            },
            Metric::Note { text, .. } => text.clone(),
        });
    let mut parts: Vec<String> = parts.collect();
    let more = metrics.metrics.len().saturating_sub(MOST);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    match parts.is_empty() {
        true => "no metrics".to_owned(),
        false => parts.join(", "),
    }
}

/// What a pointer and keys are to do: the names of the first gestures.
pub fn gestures(gestures: &Gestures) -> String {
    /// More than these are only counted.
    const MOST: usize = 4;
    /// The most characters of a name.
    const LONGEST: usize = 60;
    let all = &gestures.gestures;
    let planned = format!("{} planned", counted(all.len(), "gesture"));
    let names = all.iter().take(MOST);
    let mut names: Vec<String> = names.map(|it| shortened(&it.name, LONGEST)).collect();
    let more = all.len().saturating_sub(MOST);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.is_empty() {
        true => planned,
        false => format!("{planned}: {}", names.join("; ")),
    }
}

/// What became of gestures; `planned`: how many they were, where that is known.
pub fn gesture_outcome(outcome: &GestureOutcome, planned: Option<usize>) -> String {
    /// The most characters of a reason.
    const LONGEST: usize = 300;
    let played = match planned {
        Some(planned) if planned != outcome.played => {
            format!(
                "{} of {} played",
                outcome.played,
                counted(planned, "gesture")
            )
        }
        _ => format!("{} played", counted(outcome.played, "gesture")),
    };
    match &outcome.refused {
        Some(reason) => format!("{played}; refused: {}", shortened(reason, LONGEST)),
        None => played,
    }
}

/// At most so many characters of a text, and a mark where there are more.
fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A number of at most some ten characters.
fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e9).contains(&size) {
        return format!("{value:.3e}");
    }
    let rounded = format!("{value:.3}");
    let rounded = rounded.trim_end_matches('0').trim_end_matches('.');
    rounded.to_owned()
}

#[cfg(test)]
mod tests {
    use flowpipe_message::{FrameNote, Gesture, Rectangle};

    use super::*;

    #[test]
    fn metrics_are_short() {
        let of = |all: &[Metric]| metrics(&Metrics::new(all.to_vec()));
        let all = [
            Metric::note("field 7 is won"),
            Metric::counter("fields won", 1),
            Metric::gauge("mines left", 10.0),
            Metric::distribution("time", vec![0.1 + 0.2]).with_unit("ms"),
            Metric::gauge("speed", -1e300).with_unit("px"),
            Metric::distribution("clicks", vec![1.0, 2.0]),
        ];
        assert_eq!(
            of(&all),
            "field 7 is won, fields won +1, mines left 10, time 0.3 ms, 2 more"
        );
        assert_eq!(of(&all[4..]), "speed -1.000e300 px, clicks: 2 samples");
        assert_eq!(of(&[]), "no metrics");
        assert_eq!(
            [0.0, -0.5, 1e-9, 1_000.0].map(number),
            ["0", "-0.5", "1.000e-9", "1000"]
        );
    }

    #[test]
    fn gestures_are_short() {
        let frame = || FrameNote::of("a");
        let of = |names: &[&str]| {
            let all = names.iter().map(|&name| Gesture::new(name, Vec::new()));
            let bounds = Rectangle::new(0.0, 0.0, 1.0, 1.0);
            gestures(&Gestures::new("planner", frame(), bounds, all.collect()))
        };
        assert_eq!(of(&[]), "0 gestures planned");
        assert_eq!(of(&["open 1, 2"]), "1 gesture planned: open 1, 2");
        assert_eq!(
            of(&["a", "b", "c", "d", "e", "f"]),
            "6 gestures planned: a; b; c; d; 2 more"
        );
        let long = "ü".repeat(61);
        let expected = format!("1 gesture planned: {}…", "ü".repeat(60));
        assert_eq!(of(&[&long]), expected);
        let outcome = |played| GestureOutcome::new("mouse", frame(), played);
        assert_eq!(gesture_outcome(&outcome(3), Some(3)), "3 gestures played");
        assert_eq!(
            gesture_outcome(&outcome(0).with_refused("no"), Some(1)),
            "0 of 1 gesture played; refused: no"
        );
        let reason = gesture_outcome(&outcome(1).with_refused("x".repeat(9_999)), None);
        assert_eq!(
            reason,
            format!("1 gesture played; refused: {}…", "x".repeat(300))
        );
    }
}
