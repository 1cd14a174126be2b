//! Clears what strokes have left of a flow before the flow is drawn again.
//!
//! What is drawn over a pipe of the same flow is not the same in all games: some restart the pipe, some go on from its
//! end, some erase it and draw nothing. Two clicks on each terminal clear it in nearly all of them. Where they don't, the
//! pipe is drawn over; one that is still there then stays.

use flowpipe_plugin::puzzle::{Colour, Flow};
use serde::{Deserialize, Serialize};

use crate::leftovers::{leftovers, wrong};

/// A wrong pipe stays for ever if it is there after clicks on its terminals, and after so many strokes over it.
const STAYS: usize = 2;

/// What is cleared on the current board, and what became of it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Clearing {
    /// What the last clicks were to clear.
    clicked: Vec<Flow>,
    /// Whether these clicks were played to their end.
    is_played: bool,
    /// What clicks did not clear, with the strokes over it since.
    withstood: Vec<(Flow, usize)>,
    /// All that is drawn is to be cleared.
    #[serde(default)]
    is_over: bool,
    /// It was, once.
    #[serde(default)]
    was_over: bool,
}

impl Clearing {
    /// All that is drawn is cleared next, once on each board.
    pub fn start_over(&mut self) {
        self.is_over = !std::mem::replace(&mut self.was_over, true);
    }

    /// What to clear before these flows of a solution are drawn, now that this is drawn: the colours.
    pub fn ask(&mut self, solution: &[Flow], missing: &[Flow], drawn: &[Flow]) -> Vec<Colour> {
        let clicked = std::mem::take(&mut self.clicked);
        let was_played = std::mem::take(&mut self.is_played);
        self.withstood.retain(|(pipe, _)| drawn.contains(pipe));
        for pipe in clicked.into_iter().filter(|_| was_played) {
            if drawn.contains(&pipe) {
                self.withstood.push((pipe, 0));
            }
        }
        let has_withstood = |pipe: &Flow| self.withstood.iter().any(|(it, _)| it == pipe);
        let left = leftovers(solution, missing, drawn).filter(|pipe| !has_withstood(pipe));
        let left: Vec<Flow> = left.cloned().collect();
        let is_over = std::mem::take(&mut self.is_over);
        let all = drawn.iter().filter(|pipe| is_over && pipe.cells.len() > 1);
        let mut colours: Vec<Colour> = left.iter().chain(all).map(|it| it.colour).collect();
        colours.sort_unstable();
        colours.dedup();
        self.clicked = left;
        colours
    }

    /// What was asked for last was played. `is_complete`: to its end.
    pub fn played(&mut self, is_complete: bool) {
        self.is_played = is_complete;
    }

    /// These flows were drawn, and this is drawn now. Returns whether something stays for ever that is drawn wrongly:
    /// pipes over which strokes of their own colour were drawn, while others were taken.
    pub fn look(&mut self, solution: &[Flow], asked: &[Flow], drawn: &[Flow]) -> bool {
        for (pipe, strokes) in &mut self.withstood {
            *strokes += usize::from(asked.iter().any(|flow| flow.colour == pipe.colour));
        }
        self.withstood.retain(|(pipe, _)| drawn.contains(pipe));
        let mut wrong = wrong(solution, drawn);
        let stays =
            |(pipe, strokes): &(Flow, usize)| *strokes >= STAYS && wrong.any(|it| it == pipe);
        self.withstood.iter().any(stays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(colour: u16, cells: &[usize]) -> Flow {
        Flow::new(colour, cells.to_vec())
    }

    fn solution() -> [Flow; 2] {
        [flow(0, &[0, 1, 2]), flow(1, &[3, 4, 5])]
    }

    #[test]
    fn what_is_left_of_missing_flows_is_cleared_once() {
        let mut clearing = Clearing::default();
        let [red, blue] = solution();
        let half = flow(1, &[3, 4]);
        let drawn = [red, half];
        let mut ask = |drawn: &[Flow], is_played| {
            let asked = clearing.ask(&solution(), std::slice::from_ref(&blue), drawn);
            clearing.played(is_played);
            asked
        };
        assert_eq!(ask(&drawn, false), [1]);
        assert_eq!(ask(&drawn, true), [1], "the clicks were not played");
        assert_eq!(ask(&drawn, true), [0; 0], "they clear nothing");
        assert_eq!(ask(&drawn[..1], true), [0; 0], "nothing is left");
        assert_eq!(ask(&drawn, true), [1]);
    }

    #[test]
    fn what_withstands_clicks_and_strokes_stays() {
        let mut clearing = Clearing::default();
        let [red, blue] = solution();
        let across = flow(1, &[3, 0]);
        let missing = [red, blue.clone()];
        for _ in 0..2 {
            clearing.ask(&solution(), &missing, std::slice::from_ref(&across));
            clearing.played(true);
        }
        let mut look = |asked: &[Flow], drawn: &[Flow]| clearing.look(&solution(), asked, drawn);
        let drawn = [across, flow(0, &[0, 1])];
        assert!(!look(&missing, &drawn));
        assert!(!look(&missing[..1], &drawn), "nothing was drawn over it");
        assert!(look(&missing, &drawn));
        assert!(!look(&missing, &[]), "it is gone");
        assert!(!look(&missing, &drawn), "another one");
    }

    #[test]
    fn a_pipe_on_its_own_way_is_never_wrong() {
        let mut clearing = Clearing::default();
        let missing = [flow(1, &[3, 4, 5])];
        let half = [flow(1, &[3, 4])];
        for _ in 0..2 {
            clearing.ask(&solution(), &missing, &half);
            clearing.played(true);
        }
        assert!((0..9).all(|_| !clearing.look(&solution(), &missing, &half)));
    }
}
