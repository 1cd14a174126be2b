//! Boards of every kind: each answer is held against the rules, and against what is known of the board.

use flowpipe_engine::trial::{End, Tried};
use flowpipe_host::problem::ProblemKind;
use flowpipe_puzzle::message::{Reading, SIGHTING, SOLVED, Sighting, Solved, Verdict};

use crate::plugin_check::checks::cancel;
use crate::plugin_check::samples::{self, Sample};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// So many wrong answers are shown with their boards.
const SHOWN: usize = 3;

/// How many boards there were, by what came of them.
#[derive(Default)]
struct Counts {
    answered: usize,
    passed_over: usize,
    late: usize,
    wrong: usize,
}

pub fn check(subject: &Subject, tell: &Teller) {
    let Some(takes) = subject.takes() else {
        return ticks(subject, tell);
    };
    let boards = samples::boards();
    let messages = boards.iter().map(|board| (board, board.message(takes)));
    let messages: Vec<_> = messages
        .filter_map(|(board, message)| Some((board, message?)))
        .collect();
    if messages.is_empty() {
        return tell.skip(format!("there are no samples of {takes}"));
    }
    tell.doing("making it");
    let mut trial = match subject.make() {
        Ok(trial) => trial,
        Err(error) => return tell.fail(error.to_string()),
    };
    let mut counts = Counts::default();
    for (board, message) in &messages {
        tell.doing(format!("answering {}", board.name));
        let frame = message.frame(&trial);
        let json = message.body.to_string();
        let (tried, late) = cancel::within(subject.patience, &mut trial, |trial| {
            trial.message(0, &message.schema, json.as_bytes(), frame)
        });
        // The body is JSON: it was made here.
        let Ok(tried) = tried else { continue };
        match judge(board, &tried, late) {
            Ok(_) if late => counts.late += 1,
            Ok(true) => counts.answered += 1,
            Ok(false) => counts.passed_over += 1,
            Err(why) => {
                counts.wrong += 1;
                if counts.wrong > SHOWN {
                    continue;
                }
                let puzzle = serde_json::to_string(&board.puzzle).unwrap_or_default();
                tell.fail(format!("{}: {why}\n{puzzle}", board.name));
            }
        }
    }
    tell.doing("ending the stream");
    if let End::Panicked(text) | End::Failed(_, text) = trial.finish().end {
        tell.fail(format!("at the end of the stream: {text}"));
    }
    trial.end();
    let Counts {
        answered,
        passed_over,
        late,
        wrong,
    } = counts;
    if late > 0 {
        let patience = subject.patience;
        tell.warn(format!(
            "{late} boards were not answered within {patience:?}"
        ));
    }
    if answered == 0 && wrong == 0 {
        tell.warn("not one board was answered");
    }
    if wrong > SHOWN {
        tell.fail(format!("{wrong} boards in all are answered wrongly"));
    }
    let all = messages.len();
    tell.pass(format!(
        "{all} boards: {answered} answered, {passed_over} passed over, {wrong} wrong"
    ));
}

/// Whether a board was answered rightly (true) or passed over; the error says what is wrong. One that took too long
/// was cancelled: it may give up, but not panic nor answer wrongly.
fn judge(board: &Sample, tried: &Tried, cancelled: bool) -> Result<bool, String> {
    match &tried.end {
        End::Panicked(text) | End::Failed(ProblemKind::BadMessage, text) => {
            return Err(text.clone());
        }
        End::Failed(_, text) if !cancelled => return Err(text.clone()),
        End::Stopped if !cancelled => {
            return Err("it returned CANCELLED, but nothing was cancelled".to_owned());
        }
        End::Fine | End::Ended | End::Failed(..) | End::Stopped => {}
    }
    let mut answered = false;
    for (_, message) in &tried.emitted {
        // The host's checks have read it already.
        answered |= match message.schema() {
            SOLVED => match serde_json::from_str::<Solved>(message.json()) {
                Ok(solved) => answers(board, &solved.answer)?,
                Err(error) => return Err(error.to_string()),
            },
            SIGHTING => match serde_json::from_str::<Sighting>(message.json()) {
                Ok(sighting) => reads(board, &sighting.reading)?,
                Err(error) => return Err(error.to_string()),
            },
            _ => true,
        };
    }
    Ok(answered)
}

/// A solution has been checked against the rules; what is claimed beyond has not.
fn answers(board: &Sample, answer: &Verdict) -> Result<bool, String> {
    match (answer, &board.solution) {
        (Verdict::Unsolvable { .. }, Some(_)) => {
            Err("it says that there is no solution, and there is one".to_owned())
        }
        (Verdict::Solution { unique, .. }, _) => match (unique, board.several) {
            (Some(true), true) => {
                Err("it says that its solution is the only one, and there are others".to_owned())
            }
            (Some(false), false) => {
                Err("it says that there are several solutions, and there is one".to_owned())
            }
            _ => Ok(true),
        },
        (Verdict::Unsolvable { .. }, None) => Ok(true),
        (Verdict::Unsupported { .. } | Verdict::Unknown { .. }, _) => Ok(false),
    }
}

/// What vision reads is the board that was drawn, or nothing.
fn reads(board: &Sample, reading: &Reading) -> Result<bool, String> {
    let Reading::Board(seen) = reading else {
        return Ok(false);
    };
    let same_board = seen.puzzle.board() == board.puzzle.board();
    // Colours may be called otherwise.
    let places = |puzzle: &flowpipe_puzzle::Puzzle| {
        let mut pairs: Vec<Vec<usize>> = puzzle
            .colours()
            .iter()
            .map(|&colour| {
                let terminals = puzzle.terminals().iter();
                let of = terminals.filter(|it| it.colour == colour);
                of.map(|it| it.cell).collect()
            })
            .collect();
        pairs.sort();
        pairs
    };
    if same_board && places(&seen.puzzle) == places(&board.puzzle) {
        Ok(true)
    } else {
        Err("it reads another board than the picture shows".to_owned())
    }
}

/// A source: it is asked a few times.
fn ticks(subject: &Subject, tell: &Teller) {
    const TICKS: usize = 10;
    tell.doing("making it");
    let mut trial = match subject.make() {
        Ok(trial) => trial,
        Err(error) => return tell.fail(error.to_string()),
    };
    let mut emitted = 0;
    for tick in 1..=TICKS {
        tell.doing(format!("asking for the {tick}th time"));
        let (tried, _) = cancel::within(
            subject.patience,
            &mut trial,
            flowpipe_engine::trial::Trial::tick,
        );
        emitted += tried.emitted.len();
        match tried.end {
            End::Panicked(text) | End::Failed(_, text) => tell.fail(text),
            End::Ended => break,
            End::Fine | End::Stopped => {}
        }
    }
    trial.end();
    if emitted == 0 {
        tell.warn("it gave nothing");
    }
    tell.pass(format!("{emitted} messages"));
}
