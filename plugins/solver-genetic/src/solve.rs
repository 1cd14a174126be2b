//! Arc consistency, then run after run with more and more individuals.

use fastrand::Rng;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::puzzle::{self, Puzzle, Solution};
use thiserror::Error;

use crate::cancelled::Cancelled;
use crate::config::{ArcConsistency, Config, Operators};
use crate::consistency::{self, Contradiction, Domains, Propagator, Strength};
use crate::evolution::{self, History, Settings};
use crate::individual::{Genes, Individual};
use crate::network::{MAX_FLOWS, Network};
use crate::operators::{Better, OperatorSet, Published};
use crate::paths::route::Router;
use crate::paths::walk::Walker;

/// The most individuals in a population.
const MOST: usize = 100_000;

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SolveError {
    /// See [`Cancelled`].
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The fitness was 0 and the checker refused the solution: a fault of this solver.
    #[error("an individual of fitness 0 is no solution: {0}")]
    Refused(String),
}

/// Answers a puzzle with one pair of each colour. `effort` is filled in whatever the answer is.
///
/// # Errors
/// See [`SolveError`].
pub fn solve(
    puzzle: &Puzzle,
    config: &Config,
    cancelled: &dyn Fn() -> bool,
    effort: &mut Effort,
) -> Result<Verdict, SolveError> {
    *effort = Effort::nodes(0);
    if puzzle.flow_count() > MAX_FLOWS {
        let reason = format!("it does not take more than {MAX_FLOWS} flows");
        return Ok(Verdict::unsupported(reason));
    }
    let network = Network::new(puzzle);
    let mut domains = Domains::new(&network);
    if config.arc_consistency != ArcConsistency::Off {
        let mut propagator = Propagator::new(&network, strength(config));
        if let Err(contradiction) = propagator.all(&mut domains) {
            return Ok(unsolvable(puzzle, &network, contradiction));
        }
    }
    let fixed = consistency::fixed_cells(&network, &domains);
    *effort = Effort::nodes(0).with("fixed_cells", fixed as f64);
    if domains.are_decided(&network) {
        return Ok(decided(puzzle, &network, &domains));
    }
    let mut operators: Box<dyn OperatorSet> = match config.operators {
        Operators::Published => {
            let walker = Walker::new(&network, &domains);
            Box::new(Published::new(&network, walker, cancelled))
        }
        Operators::Better => {
            let propagator = Propagator::new(&network, strength(config));
            let router = Router::new(&network, propagator, &domains);
            Box::new(Better::new(&network, router, cancelled))
        }
    };
    evolve(puzzle, &network, config, operators.as_mut(), effort)
}

fn strength(config: &Config) -> Strength {
    match config.arc_consistency {
        ArcConsistency::Off | ArcConsistency::Published => Strength::Neighbours,
        ArcConsistency::Better => Strength::Full,
    }
}

fn unsolvable(puzzle: &Puzzle, network: &Network, contradiction: Contradiction) -> Verdict {
    let (row, col) = puzzle.board().row_col(network.cells[contradiction.node]);
    let reason = format!(
        "arc consistency: no flow can pass row {}, column {} in any way that its neighbours allow",
        row + 1,
        col + 1
    );
    Verdict::unsolvable(Some(reason))
}

/// Every node has one value left: that is the only solution, or none.
fn decided(puzzle: &Puzzle, network: &Network, domains: &Domains) -> Verdict {
    let paths = (0..network.flows()).map(|flow| {
        let (path, whole) = consistency::follow(network, domains, flow);
        whole.then(|| path.into())
    });
    let solution = solution(network, &paths.collect());
    if puzzle::check(puzzle, &solution).is_ok() {
        return Verdict::solution(solution, Some(true));
    }
    let reason = "arc consistency leaves one way through each cell, and these ways are no solution";
    Verdict::unsolvable(Some(reason.to_owned()))
}

/// The paths as flows, in the order of colours; missing ones are left out.
fn solution(network: &Network, genes: &Genes) -> Solution {
    let flows = genes.iter().zip(&network.colours);
    let flows = flows.filter_map(|(path, &colour)| {
        let cells = path.as_ref()?.iter().map(|&node| network.cells[node]);
        Some(puzzle::Flow {
            colour,
            cells: cells.collect(),
        })
    });
    Solution {
        flows: flows.collect(),
    }
    .canonical()
}

fn evolve(
    puzzle: &Puzzle,
    network: &Network,
    config: &Config,
    operators: &mut dyn OperatorSet,
    effort: &mut Effort,
) -> Result<Verdict, SolveError> {
    let mut rng = Rng::with_seed(config.seed);
    let mut history = History::default();
    let mut settings = settings(puzzle, config);
    let mut best: Option<Individual> = None;
    for run in 1..=config.runs.max(1) {
        let result = evolution::run(network, operators, &settings, &mut rng, &mut history);
        report(effort, &history, run, settings.population);
        let individual = result?;
        if individual.fitness == 0 {
            let solution = solution(network, &individual.genes);
            return match puzzle::check(puzzle, &solution) {
                Ok(()) => Ok(Verdict::solution(solution, None)),
                Err(refusals) => {
                    let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                    Err(SolveError::Refused(refusals.join("; ")))
                }
            };
        }
        let better = best
            .as_ref()
            .is_none_or(|best| individual.fitness < best.fitness);
        if better {
            best = Some(individual);
        }
        settings.population = settings.population.saturating_mul(2).min(MOST);
        settings.generations += settings.generations.div_ceil(2);
    }
    let best = best.map_or(u32::MAX, |best| best.fitness);
    let reason = format!(
        "not converged: the best of {} individuals in {} generations has fitness {best}, a solution \
         has 0; try a larger population, more runs or another seed",
        history.individuals,
        history.best.len(),
    );
    Ok(Verdict::unknown(reason))
}

fn settings(puzzle: &Puzzle, config: &Config) -> Settings {
    let board = puzzle.board();
    let large = usize::from(board.rows().max(board.cols()) >= 10);
    let (population, patience, repairs) = match config.operators {
        Operators::Published => ([500, 1000], usize::MAX, 0),
        Operators::Better => ([40, 80], 40, config.repairs),
    };
    Settings {
        population: config
            .population
            .unwrap_or(population[large])
            .clamp(1, MOST),
        generations: config.generations.unwrap_or([200, 500][large]),
        patience: config.patience.unwrap_or(patience),
        tournament: config.tournament,
        crossover: config.crossover,
        mutation: config.mutation,
        repairs,
    }
}

fn report(effort: &mut Effort, history: &History, runs: usize, population: usize) {
    effort.nodes = Some(history.individuals);
    let figures = [
        ("generations", history.best.len()),
        ("population", population),
        ("runs", runs),
    ];
    for (name, figure) in figures {
        effort.figures.insert(name.to_owned(), figure as f64);
    }
    let series = [
        ("best", &history.best),
        ("average", &history.average),
        ("worst", &history.worst),
    ];
    for (name, series) in series {
        effort.series.insert(name.to_owned(), series.clone());
    }
}
