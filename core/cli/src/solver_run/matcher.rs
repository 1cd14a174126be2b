//! Matches the events of the pipelines to puzzles.

use std::collections::{HashMap, VecDeque};

use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SOLVED, Stroke};
use serde::Deserialize;

use super::observer::{SolverEvent, SolverEventKind};
use super::{PLANNER, ReadAnswer, Reply, RunReply, SolverReply, StrokePlan};

/// What is read of a plan.
#[derive(Deserialize)]
struct ReadPlan {
    strokes: Vec<Stroke>,
}

/// Finds the puzzle of each event.
#[derive(Default)]
pub struct ReplyMatcher {
    /// By pipeline: the numbers of its answers, which rise, with the places of their puzzles. A planner's problem holds
    /// only the number.
    answers: HashMap<usize, VecDeque<(u64, usize)>>,
}

impl ReplyMatcher {
    /// What an event means.
    pub fn reply(&mut self, event: SolverEvent) -> Option<RunReply> {
        let (place, reply) = match event.kind {
            SolverEventKind::Settled(place) => {
                self.forget(event.lane, place);
                return Some(RunReply::Settled(place));
            }
            SolverEventKind::Refused(place, reason) => {
                (place, Reply::Solver(SolverReply::Failed(reason)))
            }
            SolverEventKind::Message(message, took) if message.schema() == SOLVED => {
                let solved = message.read::<ReadAnswer>().ok()?;
                let place = place(sighting(&message)?)?;
                let answers = self.answers.entry(event.lane).or_default();
                answers.push_back((message.lineage().sequence, place));
                let call = call_ns(&message)?;
                let reply = SolverReply::Answer {
                    solved,
                    search_us: took.unwrap_or(call) as f64 / 1e3,
                    call_us: call as f64 / 1e3,
                };
                (place, Reply::Solver(reply))
            }
            SolverEventKind::Message(message, took) => {
                let read: ReadPlan = serde_json::from_str(message.json()).ok()?;
                let plan = StrokePlan {
                    strokes: read.strokes,
                    plan_us: took.or(call_ns(&message))? as f64 / 1e3,
                };
                let place = place(sighting(&message)?)?;
                (place, Reply::Planner(Ok(plan)))
            }
            SolverEventKind::Problem(problem) => self.failure(event.lane, problem)?,
            SolverEventKind::StagesEnded | SolverEventKind::Ended(_) => return None,
        };
        Some(RunReply::Reply(place, reply))
    }

    /// Nothing more comes of a puzzle. The planner may still have answers to earlier ones.
    fn forget(&mut self, lane: usize, place: usize) {
        if let Some(answers) = self.answers.get_mut(&lane) {
            answers.retain(|(_, of)| *of != place);
        }
    }

    fn failure(&self, lane: usize, problem: Problem) -> Option<(usize, Reply)> {
        let sequence = problem.message.as_ref()?.sequence;
        // A warning: an answer may still follow.
        if problem.kind == ProblemKind::Slow {
            return None;
        }
        if problem.stage == PLANNER {
            let mut answers = self.answers.get(&lane)?.iter();
            let (_, place) = *answers.find(|(number, _)| *number == sequence)?;
            return Some((place, Reply::Planner(Err(problem.text))));
        }
        let place = place(sequence)?;
        let reply = match problem.kind {
            ProblemKind::TimedOut | ProblemKind::Hang => SolverReply::TimedOut(problem.text),
            _ => SolverReply::Failed(problem.text),
        };
        Some((place, Reply::Solver(reply)))
    }
}

/// From taking the last message to having emitted this one.
fn call_ns(message: &Message) -> Option<i64> {
    let hop = message.lineage().hops.last()?;
    Some(hop.emitted_ns - hop.taken_ns)
}

/// The number of the sighting that a message descends from. `None`: it answers none.
fn sighting(message: &Message) -> Option<u64> {
    let (_, sequence) = message.lineage().root?;
    Some(sequence)
}

/// The place of the puzzle of a sighting: they are numbered from 1 in the order of the puzzles.
fn place(sighting: u64) -> Option<usize> {
    usize::try_from(sighting.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use flowpipe_host::problem::MessageId;

    use super::*;

    #[test]
    fn a_plan_fails_after_a_later_puzzle_has_settled() {
        let mut matcher = ReplyMatcher::default();
        matcher
            .answers
            .insert(0, VecDeque::from([(1, 0), (2, 1), (3, 3)]));
        let mut reply = |kind| matcher.reply(SolverEvent { lane: 0, kind });
        // The solver has failed on this one.
        reply(SolverEventKind::Settled(2));
        reply(SolverEventKind::Settled(0));
        let mut failed = |sequence| {
            let problem = Problem {
                kind: ProblemKind::Hang,
                stage: PLANNER.to_owned(),
                plugin: "planner-grid".to_owned(),
                message: Some(MessageId {
                    port: "in".to_owned(),
                    sequence,
                    frame: 0,
                    source: None,
                }),
                text: "it hangs".to_owned(),
            };
            match reply(SolverEventKind::Problem(problem)) {
                Some(RunReply::Reply(place, Reply::Planner(Err(_)))) => Some(place),
                _ => None,
            }
        };
        assert_eq!([1, 2, 3].map(&mut failed), [None, Some(1), Some(3)]);
    }
}
