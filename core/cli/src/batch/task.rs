//! What workers are asked to do.

use flowpipe_generate::{Difficulty, Kind, Recipe, Size};
use serde::{Deserialize, Serialize};

use crate::args::{DifficultyArg, Generate, PuzzleKind};
use crate::exit::Failure;
use crate::one_off::FlagValue;
use crate::solver_run::{PlannerOptions, SolverOptions};

/// A task. There are no others: a worker runs no pipelines and opens no files for a coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Task {
    /// Solve puzzles.
    Solve(SolverTask),
    /// Generate puzzles.
    Generate(GeneratorTask),
}

/// The puzzles to generate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorTask {
    /// Columns of the boards.
    pub cols: usize,
    /// Rows of the boards.
    pub rows: usize,
    /// What they contain.
    pub kinds: Vec<PuzzleKind>,
    /// Their difficulty.
    pub difficulty: Option<DifficultyArg>,
    /// The seed of all.
    pub seed: u64,
}

/// A solver, and perhaps a planner, for each puzzle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolverTask {
    /// The solver plugin.
    pub solver: PluginTask,
    /// The planner plugin.
    pub planner: Option<PluginTask>,
    /// The timeout of a puzzle, and of a plan, as in a pipeline file.
    pub timeout: Option<String>,
    /// The times are to be those of an idle machine: one puzzle at a time, and the first one twice.
    pub is_measured: bool,
}

/// A plugin with its config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginTask {
    /// Its name.
    pub name: String,
    /// Its config as a TOML inline table.
    pub config: Option<String>,
}

impl GeneratorTask {
    /// The task of a command.
    pub fn of(args: &Generate) -> Self {
        Self {
            cols: args.size.cols(),
            rows: args.size.rows(),
            kinds: args.kind.clone(),
            difficulty: args.difficulty,
            seed: args.seed,
        }
    }

    /// The recipe of the puzzles.
    ///
    /// # Errors
    /// When there are no such boards.
    pub fn recipe(&self) -> Result<Recipe, Failure> {
        let kinds = self.kinds.iter().map(|kind| match kind {
            PuzzleKind::Bridges => Kind::Bridges,
            PuzzleKind::Hexes => Kind::Hexes,
            PuzzleKind::Warps => Kind::Warps,
            PuzzleKind::Walls => Kind::Walls,
            PuzzleKind::Holes => Kind::Holes,
        });
        let difficulty = self.difficulty.map(|grade| match grade {
            DifficultyArg::Easy => Difficulty::Easy,
            DifficultyArg::Medium => Difficulty::Medium,
            DifficultyArg::Hard => Difficulty::Hard,
        });
        let usage = |error: String| Failure::Usage(error);
        let size = Size::new(self.cols, self.rows).map_err(|error| usage(error.to_string()))?;
        let recipe = Recipe::new(size, &kinds.collect::<Vec<_>>(), difficulty);
        recipe.map_err(|error| usage(error.to_string()))
    }
}

impl SolverTask {
    /// The task of a command.
    pub fn of(options: &SolverOptions<'_>, is_measured: bool) -> Self {
        let plugin = |name: &FlagValue<'_>, config: &Option<FlagValue<'_>>| PluginTask {
            name: name.value.to_owned(),
            config: config.as_ref().map(|it| it.value.to_owned()),
        };
        let planner = options.planner.as_ref();
        Self {
            solver: plugin(&options.solver, &options.config),
            planner: planner.map(|it| plugin(&it.name, &it.config)),
            timeout: options.timeout.as_ref().map(|it| it.value.to_owned()),
            is_measured,
        }
    }

    /// The options of a worker. Their flags name what is wrong.
    pub fn options(&self) -> SolverOptions<'_> {
        let planner = self.planner.as_ref();
        SolverOptions {
            solver: FlagValue::new("--solver", &self.solver.name),
            config: flag("--config", self.solver.config.as_deref()),
            planner: planner.map(|it| PlannerOptions {
                name: FlagValue::new("--plan", &it.name),
                config: flag("--plan-config", it.config.as_deref()),
            }),
            timeout: flag("--timeout", self.timeout.as_deref()),
            jobs: 1,
        }
    }
}

fn flag<'a>(flag: &str, value: Option<&'a str>) -> Option<FlagValue<'a>> {
    value.map(|value| FlagValue::new(flag, value))
}
