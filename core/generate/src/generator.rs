//! Draws boards and tilings until one is a puzzle with exactly one solution.

use std::ops::RangeInclusive;

use flowpipe_puzzle::{Board, Colour, Flow, Puzzle, PuzzleError, Rules, Solution, Terminal};
use flowpipe_search::{Ended, Found, Limits, Search};
use thiserror::Error;

use crate::difficulty::{Difficulty, Rating};
use crate::kind::Kind;
use crate::net::Net;
use crate::random::Random;
use crate::recipe::{Recipe, usual_flows};
use crate::shape::shape;
use crate::size::Size;
use crate::tiling::{SHORTEST, Tiling};

/// A puzzle under Flow Free's rules with its only solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The puzzle. Colours are numbered from 0 in the order of the solution's flows.
    pub puzzle: Puzzle,
    /// Its solution, in canonical order.
    pub solution: Solution,
    /// How hard it is.
    pub rating: Rating,
}

/// Why no puzzle came out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GenerateError {
    /// More flows than have room.
    #[error("{flows} flows of {SHORTEST} cells or more do not fit on a board of {cells} cells")]
    TooManyFlows {
        /// Flows asked for, at least.
        flows: usize,
        /// Cells of the board, bridges counted once for each way across.
        cells: usize,
    },
    /// A recipe of which no puzzle was found.
    #[error("no {} was found in {attempts} attempts", wanted(*.size, .kinds, *.difficulty))]
    NoneOfRecipe {
        /// Columns and rows.
        size: Size,
        /// What the boards have besides plain squares.
        kinds: Vec<Kind>,
        /// The difficulty asked for.
        difficulty: Option<Difficulty>,
        /// Attempts made.
        attempts: usize,
    },
    /// A board on which no puzzle was found.
    #[error("no puzzle of {} to {} flows was found on this board in {attempts} attempts", .flows.start(), .flows.end())]
    NoneOnBoard {
        /// How many flows were asked for.
        flows: RangeInclusive<usize>,
        /// Attempts made.
        attempts: usize,
    },
    /// The flows do not make a puzzle.
    #[error(transparent)]
    Puzzle(#[from] PuzzleError),
    /// It was cancelled.
    #[error("the generator was cancelled")]
    Cancelled,
}

fn wanted(size: Size, kinds: &[Kind], difficulty: Option<Difficulty>) -> String {
    let mut text = String::new();
    if let Some(difficulty) = difficulty {
        text += &format!("{difficulty} ");
    }
    text += &format!("puzzle of {size}");
    for (place, kind) in kinds.iter().enumerate() {
        let join = if place == 0 { "with" } else { "and" };
        text += &format!(" {join} {kind}");
    }
    text
}

/// Steps of a walk, for each node, to come down to the number of flows drawn. Nine walks in ten need eleven
/// on 9x9 and 28 on 15x18, where the number can be reached at all.
const STEPS_TO_GOAL: usize = 30;
/// Further steps, for each node, to come to any number asked for.
const STEPS_TO_ANY: usize = 100;
/// How freely a step may make things worse. At 0.3 boards of 15x18 take three times as long as at 0.2 to
/// come down to their usual number of flows, at 0.4 eighty times.
const TEMPERATURE: f64 = 0.15;
/// A puzzle for which the search needs more branchings is passed over.
const MOST_BRANCHINGS: u64 = 2_000;
/// Steps of walks and searches, for each node, until a board is given up.
const WORK_PER_NODE: usize = 50_000;
/// The same where a difficulty is asked for, which may be rare.
const WORK_PER_NODE_GRADED: usize = 1_000_000;
/// The most steps of walks and searches: some twenty seconds.
const MOST_WORK: usize = 200_000_000;

/// After how many steps of a walk it is asked whether it is cancelled: less than a millisecond.
const CANCEL_INTERVAL: usize = 1 << 12;

/// Makes puzzles, with memory that is used again for the next.
#[derive(Default)]
pub struct Generator {
    search: Search,
    tiling: Tiling,
}

/// What is asked for, and what was done for it.
struct Order<'a> {
    flows: RangeInclusive<usize>,
    difficulty: Option<Difficulty>,
    is_cancelled: &'a dyn Fn() -> bool,
    attempts: usize,
    /// Steps of walks and searches so far.
    work: usize,
}

impl Generator {
    /// A generator without any memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A puzzle by a recipe, with about as many flows as the real game's boards have. The same
    /// recipe and seed give the same puzzle.
    ///
    /// # Errors
    /// [`GenerateError::NoneOfRecipe`], where such puzzles are rare or none.
    pub fn generate(&mut self, recipe: &Recipe, seed: u64) -> Result<Generated, GenerateError> {
        self.generate_until(recipe, seed, &|| false)
    }

    /// [`Self::generate`], until `is_cancelled`, which is asked about every millisecond.
    ///
    /// # Errors
    /// As above, and [`GenerateError::Cancelled`].
    pub fn generate_until(
        &mut self,
        recipe: &Recipe,
        seed: u64,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Generated, GenerateError> {
        let size = recipe.size();
        let mut random = Random::new(seed);
        let mut order = Order {
            flows: 0..=0,
            difficulty: recipe.difficulty(),
            is_cancelled,
            attempts: 0,
            work: 0,
        };
        let most = match recipe.difficulty() {
            Some(_) => WORK_PER_NODE_GRADED,
            None => WORK_PER_NODE,
        };
        let most = (most * size.cells()).min(MOST_WORK);
        while order.work < most {
            if is_cancelled() {
                return Err(GenerateError::Cancelled);
            }
            let Some(board) = shape(size, recipe.kinds(), &mut random) else {
                order.attempts += 1;
                order.work += size.cells();
                continue;
            };
            order.flows = usual_flows(&board);
            let net = Net::new(&board);
            if let Some(generated) = self.attempt(&board, &net, &mut order, &mut random)? {
                return Ok(generated);
            }
        }
        Err(GenerateError::NoneOfRecipe {
            size,
            kinds: recipe.kinds().to_vec(),
            difficulty: recipe.difficulty(),
            attempts: order.attempts,
        })
    }

    /// A puzzle on a board with a number of flows within a range. The same board, flows and seed give
    /// the same puzzle.
    ///
    /// # Errors
    /// [`GenerateError::TooManyFlows`] and, for rare numbers of flows, [`GenerateError::NoneOnBoard`].
    pub fn on_board(
        &mut self,
        board: &Board,
        flows: RangeInclusive<usize>,
        seed: u64,
    ) -> Result<Generated, GenerateError> {
        let mut random = Random::new(seed);
        let net = Net::new(board);
        if flows.start().saturating_mul(SHORTEST) > net.len() {
            return Err(GenerateError::TooManyFlows {
                flows: *flows.start(),
                cells: net.len(),
            });
        }
        let mut order = Order {
            flows,
            difficulty: None,
            is_cancelled: &|| false,
            attempts: 0,
            work: 0,
        };
        while order.work < (WORK_PER_NODE * net.len()).min(MOST_WORK) {
            if let Some(generated) = self.attempt(board, &net, &mut order, &mut random)? {
                return Ok(generated);
            }
        }
        Err(GenerateError::NoneOnBoard {
            flows: order.flows,
            attempts: order.attempts,
        })
    }

    /// One tiling, and the puzzle that it makes, if that has one solution and is as hard as asked for.
    fn attempt(
        &mut self,
        board: &Board,
        net: &Net,
        order: &mut Order<'_>,
        random: &mut Random,
    ) -> Result<Option<Generated>, GenerateError> {
        order.attempts += 1;
        order.work += net.len();
        if !self.tile(net, order, random) {
            return Ok(None);
        }
        let (puzzle, solution) = puzzle(board, net, &self.tiling)?;
        let found = self.search(&puzzle, order.is_cancelled);
        order.work += usize::try_from(found.steps).unwrap_or(usize::MAX);
        let unique = is_unique(&found);
        let rating = Rating::new(&found, board.cells().count());
        let graded = order
            .difficulty
            .is_none_or(|difficulty| difficulty == rating.difficulty());
        Ok((unique && graded).then_some(Generated {
            puzzle,
            solution,
            rating,
        }))
    }

    /// A puzzle that was generated elsewhere, with its only solution and its rating. `None`: it is no puzzle that a recipe
    /// gives, or `is_cancelled` before that is known.
    #[must_use]
    pub fn verify(
        &mut self,
        recipe: &Recipe,
        puzzle: Puzzle,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<Generated> {
        if puzzle.rules() != Rules::default() || !recipe.admits(puzzle.board()) {
            return None;
        }
        let mut found = self.search(&puzzle, is_cancelled);
        let rating = Rating::new(&found, puzzle.board().cells().count());
        let difficulty = recipe.difficulty();
        let is_graded = difficulty.is_none_or(|it| it == rating.difficulty());
        let solution = found.solutions.pop();
        solution
            .filter(|_| is_unique(&found) && is_graded)
            .map(|solution| Generated {
                puzzle,
                solution,
                rating,
            })
    }

    fn search(&mut self, puzzle: &Puzzle, is_cancelled: &dyn Fn() -> bool) -> Found {
        let limits = Limits {
            solutions: 2,
            keep: 1,
            nodes: Some(MOST_BRANCHINGS),
        };
        self.search.run(puzzle, &limits, is_cancelled)
    }

    /// Walks to a tiling with a number of flows drawn from the range or, where the walk does not come
    /// there, any number in it.
    fn tile(&mut self, net: &Net, order: &mut Order<'_>, random: &mut Random) -> bool {
        let tiling = &mut self.tiling;
        if !tiling.reset(net) {
            return false;
        }
        let (fewest, most) = (*order.flows.start(), *order.flows.end());
        let goal = fewest + random.below((most + 1).saturating_sub(fewest));
        let to_goal = STEPS_TO_GOAL * net.len();
        let steps = to_goal + STEPS_TO_ANY * net.len();
        for step in 0..steps {
            let high = if step < to_goal { goal } else { most };
            if tiling.short() == 0 && (fewest..=high).contains(&tiling.count()) {
                order.work += step;
                return true;
            }
            if step.is_multiple_of(CANCEL_INTERVAL) && (order.is_cancelled)() {
                break;
            }
            tiling.step(net, random, TEMPERATURE);
        }
        order.work += steps;
        false
    }
}

fn is_unique(found: &Found) -> bool {
    found.ended == Ended::Complete && found.count == 1
}

/// The puzzle whose solution a tiling is.
fn puzzle(board: &Board, net: &Net, tiling: &Tiling) -> Result<(Puzzle, Solution), PuzzleError> {
    let cells = |path: Vec<_>| path.into_iter().map(|node| net.cell_of(node)).collect();
    let flows = tiling.paths().map(|path| Flow {
        colour: 0,
        cells: cells(path),
    });
    let mut solution = Solution {
        flows: flows.collect(),
    }
    .canonical();
    let mut terminals = Vec::with_capacity(2 * solution.flows.len());
    for (colour, flow) in (0 as Colour..).zip(&mut solution.flows) {
        flow.colour = colour;
        let ends = flow.cells.first().into_iter().chain(flow.cells.last());
        terminals.extend(ends.map(|&cell| Terminal { cell, colour }));
    }
    let puzzle = Puzzle::new(board.clone(), terminals, Rules::default())?;
    Ok((puzzle, solution))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn it_is_cancelled_within_a_puzzle_and_else_gives_the_same() {
        let size = Size::new(9, 9).unwrap();
        let recipe = Recipe::new(size, &[], Some(Difficulty::Hard)).unwrap();
        let asked = Cell::new(0_u32);
        let cancelled_after = |most: u32| {
            asked.set(0);
            Generator::new().generate_until(&recipe, 7, &|| {
                asked.set(asked.get() + 1);
                asked.get() > most
            })
        };
        let generated = cancelled_after(u32::MAX);
        assert_eq!(generated, Generator::new().generate(&recipe, 7));
        let times = asked.get();
        assert!(times > 3, "{times}");
        for most in 0..3 {
            assert_eq!(cancelled_after(most), Err(GenerateError::Cancelled));
            // The walk, the search and the loop around them ask again.
            assert!(asked.get() < most + 10, "{most}: {}", asked.get());
        }
    }

    #[test]
    fn a_verification_is_cancelled() {
        let recipe = Recipe::new(Size::new(40, 40).unwrap(), &[], None).unwrap();
        let generated = Generator::new().generate(&recipe, 1).unwrap();
        let asked = Cell::new(0_u32);
        let verify = |answer: bool| {
            asked.set(0);
            let is_cancelled = || {
                asked.set(asked.get() + 1);
                answer
            };
            Generator::new().verify(&recipe, generated.puzzle.clone(), &is_cancelled)
        };
        assert_eq!(verify(true), None);
        assert!(asked.get() < 10, "{}", asked.get());
        assert_eq!(verify(false), Some(generated.clone()));
    }

    #[test]
    fn what_is_generated_is_verified_for_its_own_recipe_alone() {
        let mut generator = Generator::new();
        let recipe = |kinds: &[Kind], difficulty| {
            Recipe::new(Size::new(6, 6).unwrap(), kinds, difficulty).unwrap()
        };
        let plain = recipe(&[], None);
        for kinds in Kind::ALL.map(|kind| vec![kind]).into_iter().chain([vec![]]) {
            let recipe = recipe(&kinds, None);
            for seed in 0..5 {
                let generated = generator.generate(&recipe, seed).unwrap();
                let puzzle = generated.puzzle.clone();
                let verified = Generator::new().verify(&recipe, puzzle.clone(), &|| false);
                assert_eq!(verified, Some(generated), "{kinds:?} {seed}");
                let is_plain = kinds.is_empty();
                let of_plain = generator.verify(&plain, puzzle, &|| false);
                assert_eq!(of_plain.is_some(), is_plain);
            }
        }
        let generated = generator.generate(&plain, 1).unwrap();
        let graded = [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard];
        let of_it = graded.map(|difficulty| {
            let recipe = recipe(&[], Some(difficulty));
            generator
                .verify(&recipe, generated.puzzle.clone(), &|| false)
                .is_some()
        });
        assert_eq!(of_it.iter().filter(|is_of_it| **is_of_it).count(), 1);
    }
}
