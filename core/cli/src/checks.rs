//! The checks of the plugins' messages: no message is trusted.
//!
//! The runtime does not know puzzles; the program passes these checks to it by schema id.

use std::collections::HashSet;
use std::sync::Arc;

use flowpipe_engine::check::{Judgement, Validator, Validators};
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{
    BoardResult, Count, FRAME, FrameNote, OUTCOME, Outcome, RESULT, Reading, SIGHTING, SOLVED,
    STROKES, SeenBoard, Sighting, Solved, Strokes, Verdict,
};
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Puzzle, Solution, check};
use serde::de::DeserializeOwned;

/// All checks, by schema id.
pub fn validators() -> Validators {
    let all: [(&str, Arc<dyn Validator>); 6] = [
        (FRAME, Arc::new(FrameCheck)),
        (SIGHTING, Arc::new(SightingCheck)),
        (SOLVED, Arc::new(SolvedCheck)),
        (STROKES, Arc::new(StrokesCheck)),
        (OUTCOME, Arc::new(OutcomeCheck)),
        (RESULT, Arc::new(ResultCheck)),
    ];
    all.into_iter()
        .map(|(schema, check)| (schema.to_owned(), check))
        .collect()
}

struct FrameCheck;
struct SightingCheck;
struct SolvedCheck;
struct StrokesCheck;
struct OutcomeCheck;
struct ResultCheck;

/// `Ok(None)`: accepted. `Ok(Some(why))`: accepted, but not a solution. `Err(why)`: refused.
type Judged = Result<Option<String>, String>;

fn judgement(judged: Judged) -> Judgement {
    match judged {
        Ok(None) => Judgement::Accept,
        Ok(Some(why)) => Judgement::Weak(why),
        Err(why) => Judgement::Refuse(why),
    }
}

/// The content of a message that has passed its check. `None`: it has another type.
pub fn read<T>(message: &Message) -> Option<Arc<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    message.read().ok()
}

fn parse<T>(message: &Message) -> Result<Arc<T>, String>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    message
        .read()
        .map_err(|error| format!("not a {}: {error}", message.schema()))
}

/// The message that a stage processed, if it has the schema of the role's input. Other stages may process other
/// messages.
fn parent<T>(parent: Option<&Message>, schema: &str) -> Option<Arc<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    parent
        .filter(|parent| parent.schema() == schema)
        .and_then(read)
}

/// The first few breaches, in a line.
fn list<T: std::fmt::Display>(breaches: &[T]) -> String {
    const SHOWN: usize = 3;
    let mut text = breaches
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    if breaches.len() > SHOWN {
        text += &format!("; and {} more", breaches.len() - SHOWN);
    }
    text
}

impl Validator for FrameCheck {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        judgement((|| {
            let note: Arc<FrameNote> = parse(message)?;
            if message.frame().is_none() {
                return Err("a frame without pixels".to_owned());
            }
            let finite = note.origin.iter().all(|value| value.is_finite());
            if !finite || !note.scale.is_finite() || note.scale <= 0.0 {
                return Err("a frame whose place on the screen makes no sense".to_owned());
            }
            Ok(None)
        })())
    }
}

impl Validator for SightingCheck {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        judgement((|| {
            let sighting: Arc<Sighting> = parse(message)?;
            check_reading(&sighting.reading)?;
            Ok(None)
        })())
    }
}

fn check_reading(reading: &Reading) -> Result<(), String> {
    let confidence = match reading {
        Reading::Board(seen) => {
            check_board(seen)?;
            seen.confidence
        }
        Reading::Refused { confidence, .. } => *confidence,
    };
    if !(0.0..=1.0).contains(&confidence) {
        return Err(format!("a confidence of {confidence}, it must be 0 to 1"));
    }
    Ok(())
}

/// Checks the parts of a board against each other.
fn check_board(seen: &SeenBoard) -> Result<(), String> {
    let board = seen.puzzle.board();
    let geometry = &seen.geometry;
    if (geometry.rows, geometry.cols) != (board.rows(), board.cols()) {
        return Err(format!(
            "a board of {} x {} whose place is given for {} x {} (rows x columns)",
            board.rows(),
            board.cols(),
            geometry.rows,
            geometry.cols
        ));
    }
    let centre = [board.cols() as f64 / 2.0, board.rows() as f64 / 2.0];
    let in_frame = geometry.to_frame(centre);
    let back = geometry.to_board(in_frame);
    if !back.is_some_and(|back| (0..2).all(|axis| (back[axis] - centre[axis]).abs() < 1e-3)) {
        return Err("a board whose corners in the frame span no area".to_owned());
    }
    Ok(())
}

impl Validator for SolvedCheck {
    fn judge(&self, before: Option<&Message>, message: &Message) -> Judgement {
        judgement((|| {
            let solved: Arc<Solved> = parse(message)?;
            let asked: Option<Arc<Sighting>> = parent(before, SIGHTING);
            if asked.is_some_and(|asked| *asked != solved.sighting) {
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
        })())
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
pub fn with_reason(text: &str, reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(|| text.to_owned(), |reason| format!("{text}: {reason}"))
}

impl Validator for StrokesCheck {
    fn judge(&self, before: Option<&Message>, message: &Message) -> Judgement {
        judgement((|| {
            let strokes: Arc<Strokes> = parse(message)?;
            if let Some(asked) = parent::<Solved>(before, SOLVED) {
                if asked.sighting != strokes.sighting {
                    return Err("strokes for another sighting than was asked for".to_owned());
                }
                if asked.solution() != Some(&strokes.solution) {
                    return Err("strokes for another solution than was asked for".to_owned());
                }
            }
            let board = strokes
                .sighting
                .board()
                .ok_or("strokes where there is no board")?;
            check_plan(&board.puzzle, &strokes)?;
            Ok(None)
        })())
    }
}

fn check_plan(puzzle: &Puzzle, strokes: &Strokes) -> Result<(), String> {
    check(puzzle, &strokes.solution)
        .map_err(|breaches| format!("strokes for a wrong solution: {}", list(&breaches)))?;
    check_strokes(puzzle, &strokes.solution, &strokes.strokes)
        .map_err(|breaches| format!("strokes that may not be played: {}", list(&breaches)))
}

impl Validator for OutcomeCheck {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        judgement(parse::<Outcome>(message).map(|_| None))
    }
}

impl Validator for ResultCheck {
    fn judge(&self, _: Option<&Message>, message: &Message) -> Judgement {
        judgement(parse::<BoardResult>(message).map(|_| None))
    }
}

#[cfg(test)]
mod tests;
