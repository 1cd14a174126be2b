//! One run: a population, generation by generation.

use fastrand::Rng;

use crate::cancelled::Cancelled;
use crate::individual::Individual;
use crate::network::Network;
use crate::operators::OperatorSet;

/// How a run goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Individuals.
    pub population: usize,
    /// Generations after the first.
    pub generations: usize,
    /// A run also ends after so many generations without a better best.
    pub patience: usize,
    /// Individuals drawn for a tournament.
    pub tournament: usize,
    /// How likely two parents are crossed.
    pub crossover: f64,
    /// How likely a child is mutated.
    pub mutation: f64,
    /// Mutations of each child on trial.
    pub repairs: usize,
}

/// What all runs cost, and how the fitness went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Individuals evaluated.
    pub individuals: u64,
    /// The best fitness, by generation.
    pub best: Vec<f64>,
    /// The average fitness, by generation.
    pub average: Vec<f64>,
    /// The worst fitness, by generation.
    pub worst: Vec<f64>,
}

impl History {
    fn record(&mut self, population: &[Individual]) -> u32 {
        let fitness = || population.iter().map(|individual| individual.fitness);
        let best = fitness().min().unwrap_or(u32::MAX);
        let sum: f64 = fitness().map(f64::from).sum();
        self.best.push(f64::from(best));
        self.average.push(sum / population.len() as f64);
        self.worst.push(f64::from(fitness().max().unwrap_or(best)));
        best
    }
}

/// Lets a population evolve until it has a solution or the settings end it. Gives the best individual.
///
/// # Errors
/// [`Cancelled`].
pub fn run(
    network: &Network,
    operators: &mut dyn OperatorSet,
    settings: &Settings,
    rng: &mut Rng,
    history: &mut History,
) -> Result<Individual, Cancelled> {
    let mut run = Run {
        network,
        operators,
        settings,
        rng,
        history,
    };
    let mut population = run.first()?;
    let mut before = u32::MAX;
    let mut waited = 0;
    for generation in 0.. {
        let best = run.history.record(&population);
        waited = if best < before { 0 } else { waited + 1 };
        before = before.min(best);
        if best == 0 || generation == settings.generations || waited >= settings.patience {
            break;
        }
        population = run.next(&population)?;
    }
    let best = population
        .into_iter()
        .min_by_key(|individual| individual.fitness);
    best.map_or_else(|| run.create(), Ok)
}

struct Run<'a> {
    network: &'a Network,
    operators: &'a mut dyn OperatorSet,
    settings: &'a Settings,
    rng: &'a mut Rng,
    history: &'a mut History,
}

impl Run<'_> {
    fn evaluate(&mut self, genes: crate::individual::Genes) -> Individual {
        self.history.individuals += 1;
        Individual::new(self.network, genes)
    }

    fn create(&mut self) -> Result<Individual, Cancelled> {
        let genes = self.operators.create(self.rng)?;
        Ok(self.evaluate(genes))
    }

    fn first(&mut self) -> Result<Vec<Individual>, Cancelled> {
        let mut population = Vec::with_capacity(self.settings.population);
        while population.len() < self.settings.population && !has_solution(&population) {
            population.push(self.create()?);
        }
        Ok(population)
    }

    /// The best individual and the children of parents chosen by tournaments. Ends at a solution.
    fn next(&mut self, population: &[Individual]) -> Result<Vec<Individual>, Cancelled> {
        let best = population
            .iter()
            .min_by_key(|individual| individual.fitness);
        let mut next: Vec<Individual> = best.into_iter().cloned().collect();
        while next.len() < self.settings.population && !has_solution(&next) {
            let child = self.child(population)?;
            next.push(child);
        }
        Ok(next)
    }

    fn child(&mut self, population: &[Individual]) -> Result<Individual, Cancelled> {
        let mother = self.select(population);
        let mut child = mother.clone();
        if self.rng.f64() < self.settings.crossover {
            let father = self.select(population);
            let genes = self.operators.cross(mother, father, self.rng);
            child = self.evaluate(genes);
        }
        if self.rng.f64() < self.settings.mutation {
            let genes = self.operators.mutate(&child, self.rng)?;
            child = self.evaluate(genes);
        }
        for _ in 0..self.settings.repairs {
            if child.fitness == 0 {
                break;
            }
            let genes = self.operators.mutate(&child, self.rng)?;
            let trial = self.evaluate(genes);
            if trial.fitness <= child.fitness {
                child = trial;
            }
        }
        Ok(child)
    }

    /// The best of a few drawn at random.
    fn select<'p>(&mut self, population: &'p [Individual]) -> &'p Individual {
        let mut draw = || &population[self.rng.usize(0..population.len())];
        let first = draw();
        (1..self.settings.tournament).fold(first, |best, _| {
            let other = draw();
            if other.fitness < best.fitness {
                other
            } else {
                best
            }
        })
    }
}

fn has_solution(population: &[Individual]) -> bool {
    population
        .last()
        .is_some_and(|individual| individual.fitness == 0)
}
