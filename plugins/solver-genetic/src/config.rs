//! What a pipeline can set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-genetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the random numbers begin. The same seed gives the same run and the same answer.
    pub seed: u64,
    /// What is settled before evolution begins.
    pub arc_consistency: ArcConsistency,
    /// How individuals are made, crossed and mutated.
    pub operators: Operators,
    /// Individuals in the first run's population. Left out: 500 for boards of less than 10 cells a
    /// side and 1,000 for others with the published operators, 40 and 80 with the better ones.
    #[schemars(range(min = 2, max = 100_000))]
    pub population: Option<usize>,
    /// Generations in the first run, the one made at random not counted. Left out: 200 for boards of
    /// less than 10 cells a side and 500 for others.
    #[schemars(range(max = 1_000_000))]
    pub generations: Option<usize>,
    /// Runs before it gives up. Each has twice the population of the one before, and half as many
    /// generations again.
    #[schemars(range(min = 1, max = 16))]
    pub runs: usize,
    /// A run also ends when its best fitness has not become better for so many generations. Left out:
    /// never with the published operators, 40 with the better ones.
    #[schemars(range(min = 1))]
    pub patience: Option<usize>,
    /// Individuals drawn for a tournament; the best of them becomes a parent.
    #[schemars(range(min = 1, max = 1000))]
    pub tournament: usize,
    /// How likely two parents are crossed, from 0 to 1; otherwise the first is copied.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub crossover: f64,
    /// How likely a child is mutated, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mutation: f64,
    /// Only with the better operators: so often a child is mutated further, each time on trial: what
    /// is not at least as good is dropped. 0 makes it a plain genetic algorithm.
    #[schemars(range(max = 1000))]
    pub repairs: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            arc_consistency: ArcConsistency::Published,
            operators: Operators::Better,
            population: None,
            generations: None,
            runs: 4,
            patience: None,
            tournament: 4,
            crossover: 0.8,
            mutation: 0.8,
            repairs: 4,
        }
    }
}

/// What is settled before evolution begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArcConsistency {
    /// Nothing.
    Off,
    /// As published: every terminal has one neighbour of its colour and every other cell two. Settles
    /// small boards alone and makes larger ones smaller.
    Published,
    /// Also what follows from no flow touching itself, which is that every turn lies on a diagonal of
    /// turns that ends at a terminal, and where each flow can still get to. Settles nearly all boards
    /// of the game alone, so that nothing is left to breed and their solutions are proved the only
    /// ones.
    Better,
}

/// How individuals are made, crossed and mutated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operators {
    /// As published: random walks without touching and dead ends; a child takes each flow from
    /// either parent; a mutation replans a missing or colliding flow, whatever the others do.
    Published,
    /// Paths are planned at random prices, around the other flows, and checked against arc consistency
    /// (the published one at least) step by step; a child takes each flow from the parent where it collides less; a few
    /// mutations of each child are on trial.
    Better,
}
