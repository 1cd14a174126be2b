//! Which puzzles the solver was asked, and its answers.

use std::collections::VecDeque;

use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Flow, Puzzle};
use serde::{Deserialize, Serialize};

/// Boards that are remembered: the current one, the next one, and some for a player who goes back.
const KEPT: usize = 16;

/// The latest puzzles, each with the solver's answer once it has come.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Answers {
    known: VecDeque<(Puzzle, Option<Answer>)>,
}

/// A solver's answer to a puzzle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The plugin that answered.
    pub solver: String,
    /// The answer.
    pub verdict: Verdict,
}

impl Answer {
    /// The flows of the solution that are not drawn as it has them. `None`: there is no solution.
    pub fn missing(&self, drawn: &[Flow]) -> Option<Vec<Flow>> {
        match &self.verdict {
            Verdict::Solution { solution, .. } => Some(solution.missing(drawn).flows),
            _ => None,
        }
    }
}

impl Answers {
    /// Notes that a puzzle is asked for; `false` if it was before.
    pub fn ask(&mut self, puzzle: &Puzzle) -> bool {
        if self.known.iter().any(|(known, _)| known == puzzle) {
            return false;
        }
        self.known.push_back((puzzle.clone(), None));
        if self.known.len() > KEPT {
            self.known.pop_front();
        }
        true
    }

    /// Notes an answer.
    pub fn answer(&mut self, puzzle: &Puzzle, answer: Answer) {
        self.ask(puzzle);
        for (known, place) in &mut self.known {
            if known == puzzle {
                *place = Some(answer);
                return;
            }
        }
    }

    /// The answer to a puzzle, if it has come.
    pub fn get(&self, puzzle: &Puzzle) -> Option<&Answer> {
        let (_, answer) = self.known.iter().find(|(known, _)| known == puzzle)?;
        answer.as_ref()
    }
}
