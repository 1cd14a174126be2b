//! Boards of every kind: each answer is checked against the rules and the known answer.

use flowpipe_engine::trial::{CallEnd, TrialResult};
use flowpipe_host::problem::ProblemKind;
use flowpipe_puzzle::message::{Reading, SIGHTING, SOLVED, Sighting, Solved, Verdict};
use flowpipe_terminal::{counted, was};

use crate::plugin_check::checks::cancel;
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::{self, SampleBoard};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::tried::{self, TriedNoun};

/// How many wrong answers are reported with their boards.
const SHOWN: usize = 3;

/// The numbers of boards, by result.
#[derive(Default)]
struct AnswerCounts {
    answered: usize,
    skipped: usize,
    late: usize,
    wrong: usize,
}

pub fn check(subject: &Subject, report: &Reporter) {
    let Some(input) = subject.first_input() else {
        return ticks(subject, report);
    };
    let boards = samples::boards();
    let messages = samples::messages(&boards, input);
    for notice in tried::without_samples(subject.manifest(), &boards) {
        report.skip(notice);
    }
    if messages.is_empty() {
        return;
    }
    let noun = TriedNoun::new(subject.manifest(), &input.schema);
    report.doing("creating it");
    let mut trial = match subject.create() {
        Ok(trial) => trial,
        Err(error) => return report.fail(error.to_string()),
    };
    let mut counts = AnswerCounts::default();
    for (board, message) in &messages {
        report.doing(format!("answering {}", message.name));
        let frame = message.frame(&trial);
        let json = message.body.to_string();
        let (tried, late) = cancel::within(subject.timeout, &mut trial, |trial| {
            trial.message(0, &message.schema, json.as_bytes(), frame)
        });
        // The body is valid JSON.
        let Ok(tried) = tried else { continue };
        match judge(*board, &tried, late) {
            Ok(_) if late => counts.late += 1,
            Ok(true) => counts.answered += 1,
            Ok(false) => counts.skipped += 1,
            Err(why) => {
                counts.wrong += 1;
                if counts.wrong > SHOWN {
                    continue;
                }
                let sample = match board {
                    Some(board) => serde_json::to_string(&board.puzzle).unwrap_or_default(),
                    None => message.body.to_string(),
                };
                report.fail(format!("{}: {why}\n{sample}", message.name));
            }
        }
    }
    report.doing("ending the stream");
    if let CallEnd::Panicked(text) | CallEnd::Failed(_, text) = trial.finish().end {
        report.fail(format!("at the end of the stream: {text}"));
    }
    trial.end();
    let AnswerCounts {
        answered,
        skipped,
        late,
        wrong,
    } = counts;
    if late > 0 {
        let timeout = subject.timeout;
        report.warn(format!(
            "{} {} not answered within {timeout:?}",
            noun.counted(late),
            was(late)
        ));
    }
    if answered == 0 && wrong == 0 {
        report.warn(format!("no {} was answered", noun.one()));
    }
    if wrong > SHOWN {
        report.fail(format!(
            "{} in total {} answered wrongly",
            noun.counted(wrong),
            was(wrong)
        ));
    }
    let all = messages.len();
    report.pass(format!(
        "{}: {answered} answered, {skipped} skipped, {wrong} wrong",
        noun.counted(all)
    ));
}

/// Whether a message was answered correctly (`true`) or skipped; the error is what is wrong. A cancelled call may give
/// up, but not panic or answer wrongly. The right answer is known only of a board.
fn judge(
    board: Option<&SampleBoard>,
    tried: &TrialResult,
    cancelled: bool,
) -> Result<bool, String> {
    match &tried.end {
        CallEnd::Panicked(text) | CallEnd::Failed(ProblemKind::BadMessage, text) => {
            return Err(text.clone());
        }
        CallEnd::Failed(_, text) if !cancelled => return Err(text.clone()),
        CallEnd::Stopped if !cancelled => {
            return Err("it gave up without being cancelled".to_owned());
        }
        CallEnd::Fine | CallEnd::Ended | CallEnd::Failed(..) | CallEnd::Stopped => {}
    }
    let mut answered = false;
    for (_, message) in &tried.emitted {
        // The host's checks have parsed it already.
        let Some(board) = board else {
            answered = true;
            continue;
        };
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

/// Checks the claims of an answer. The solution itself has been checked by the host.
fn answers(board: &SampleBoard, answer: &Verdict) -> Result<bool, String> {
    match (answer, &board.solution) {
        (Verdict::Unsolvable { .. }, Some(_)) => {
            Err("it reports no solution, but there is one".to_owned())
        }
        (Verdict::Solution { unique, .. }, _) => match (unique, board.several) {
            (Some(true), true) => {
                Err("it reports a unique solution, but there are several".to_owned())
            }
            (Some(false), false) => {
                Err("it reports several solutions, but there is one".to_owned())
            }
            _ => Ok(true),
        },
        (Verdict::Unsolvable { .. }, None) => Ok(true),
        (Verdict::Unsupported { .. } | Verdict::Unknown { .. }, _) => Ok(false),
    }
}

/// Vision must read the board of the picture, or none.
fn reads(board: &SampleBoard, reading: &Reading) -> Result<bool, String> {
    let Reading::Board(seen) = reading else {
        return Ok(false);
    };
    let same_board = seen.puzzle.board() == board.puzzle.board();
    // Colours may have other names.
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

/// Calls a source a few times.
fn ticks(subject: &Subject, report: &Reporter) {
    const TICKS: usize = 10;
    report.doing("creating it");
    let mut trial = match subject.create() {
        Ok(trial) => trial,
        Err(error) => return report.fail(error.to_string()),
    };
    let mut emitted = 0;
    for tick in 1..=TICKS {
        report.doing(format!("running tick {tick}"));
        let (tried, _) = cancel::within(
            subject.timeout,
            &mut trial,
            flowpipe_engine::trial::Trial::tick,
        );
        emitted += tried.emitted.len();
        match tried.end {
            CallEnd::Panicked(text) | CallEnd::Failed(_, text) => report.fail(text),
            CallEnd::Ended => break,
            CallEnd::Fine | CallEnd::Stopped => {}
        }
    }
    trial.end();
    if emitted == 0 {
        report.warn("it emitted nothing");
    }
    report.pass(counted(emitted, "message"));
}
