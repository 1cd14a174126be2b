//! What is said of which puzzle.

use std::collections::HashMap;

use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SOLVED, Sighting, Solved, Strokes};

use super::listen::{Told, What};
use super::{PLANNER, Plan, Said, SolverSaid};

/// Makes out what the pipelines tell.
#[derive(Default)]
pub struct Heard {
    /// The places of the puzzles whose answers have these numbers, by pipeline: a planner's problem
    /// tells no more than the number.
    places: HashMap<(usize, u64), usize>,
}

impl Heard {
    /// The place of a puzzle in its pipeline, from 0, and what is said of it.
    pub fn hear(&mut self, told: Told) -> Option<(usize, Said)> {
        match told.what {
            What::Message(message, took) if message.schema() == SOLVED => {
                let solved: Solved = serde_json::from_str(message.json()).ok()?;
                let place = place(&solved.sighting)?;
                let answer = (told.lane, message.lineage().sequence);
                self.places.insert(answer, place);
                let call = call_ns(&message)?;
                let said = SolverSaid::Answer {
                    verdict: solved.answer,
                    effort: solved.effort,
                    search_us: took.unwrap_or(call) as f64 / 1e3,
                    call_us: call as f64 / 1e3,
                };
                Some((place, Said::Solver(said)))
            }
            What::Message(message, took) => {
                let strokes: Strokes = serde_json::from_str(message.json()).ok()?;
                let plan = Plan {
                    strokes: strokes.strokes,
                    plan_us: took.or(call_ns(&message))? as f64 / 1e3,
                };
                Some((place(&strokes.sighting)?, Said::Planner(Ok(plan))))
            }
            What::Problem(problem) => self.hear_problem(told.lane, problem),
        }
    }

    fn hear_problem(&self, lane: usize, problem: Problem) -> Option<(usize, Said)> {
        let sequence = problem.message.as_ref()?.sequence;
        // A warning: an answer may still come.
        if problem.kind == ProblemKind::Slow {
            return None;
        }
        if problem.stage == PLANNER {
            let place = *self.places.get(&(lane, sequence))?;
            return Some((place, Said::Planner(Err(problem.text))));
        }
        // Sightings are numbered from 1 in the order of the puzzles.
        let place = usize::try_from(sequence.checked_sub(1)?).ok()?;
        let said = match problem.kind {
            ProblemKind::TimedOut | ProblemKind::Hang => SolverSaid::TimedOut(problem.text),
            _ => SolverSaid::Failed(problem.text),
        };
        Some((place, Said::Solver(said)))
    }
}

/// From taking the last message to having emitted this one.
fn call_ns(message: &Message) -> Option<i64> {
    let hop = message.lineage().hops.last()?;
    Some(hop.emitted_ns - hop.taken_ns)
}

/// `capture-puzzles` names each sighting by the line of the text that it was given.
fn place(sighting: &Sighting) -> Option<usize> {
    let line: usize = sighting.frame.source.rsplit(':').next()?.parse().ok()?;
    line.checked_sub(1)
}
