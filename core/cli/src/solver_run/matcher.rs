//! Matches the events of the pipelines to puzzles.

use std::collections::HashMap;

use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SOLVED, Stroke};
use serde::Deserialize;

use super::observer::{SolverEvent, SolverEventKind};
use super::{PLANNER, ReadAnswer, Reply, SolverReply, StrokePlan};

/// What is read of a plan.
#[derive(Deserialize)]
struct ReadPlan {
    strokes: Vec<Stroke>,
}

/// Finds the puzzle of each event.
#[derive(Default)]
pub struct ReplyMatcher {
    /// The puzzles by pipeline and number of the answer: a planner's problem holds only that number.
    places: HashMap<(usize, u64), usize>,
}

impl ReplyMatcher {
    /// The place of a puzzle in its pipeline, from 0, and the reply to it.
    pub fn reply(&mut self, event: SolverEvent) -> Option<(usize, Reply)> {
        match event.kind {
            SolverEventKind::Message(message, took) if message.schema() == SOLVED => {
                let solved = message.read::<ReadAnswer>().ok()?;
                let place = place(sighting(&message)?)?;
                let answer = (event.lane, message.lineage().sequence);
                self.places.insert(answer, place);
                let call = call_ns(&message)?;
                let reply = SolverReply::Answer {
                    solved,
                    search_us: took.unwrap_or(call) as f64 / 1e3,
                    call_us: call as f64 / 1e3,
                };
                Some((place, Reply::Solver(reply)))
            }
            SolverEventKind::Message(message, took) => {
                let read: ReadPlan = serde_json::from_str(message.json()).ok()?;
                let plan = StrokePlan {
                    strokes: read.strokes,
                    plan_us: took.or(call_ns(&message))? as f64 / 1e3,
                };
                let place = place(sighting(&message)?)?;
                Some((place, Reply::Planner(Ok(plan))))
            }
            SolverEventKind::Problem(problem) => self.failure(event.lane, problem),
        }
    }

    fn failure(&self, lane: usize, problem: Problem) -> Option<(usize, Reply)> {
        let sequence = problem.message.as_ref()?.sequence;
        // A warning: an answer may still follow.
        if problem.kind == ProblemKind::Slow {
            return None;
        }
        if problem.stage == PLANNER {
            let place = *self.places.get(&(lane, sequence))?;
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
