//! The config of the plugin.

pub mod rules;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use rules::RuleSetting;

/// Finds the board in a whole screenshot and reads it: its rows and columns, its terminals and
/// their colours, and the pipes that are drawn already. It gives a board that it is sure of, or
/// none and the reason. At its second input, `rules`, it takes what a referee knows of the rules of the game.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The fewest rows and columns of a board.
    #[schemars(range(min = 2, max = 64))]
    pub min_cells: usize,
    /// The most rows and columns of a board.
    #[schemars(range(min = 2, max = 64))]
    pub max_cells: usize,
    /// Pixels from one grid line to the next, at least. Cells below some 12 pixels show too little
    /// to be sure of what they hold.
    #[schemars(range(min = 8))]
    pub min_cell_pixels: u32,
    /// The rules of the game. `"strict"`: Flow Free's (for boards of numbers those of puzzles on paper); a board
    /// without a solution is refused. `"auto"`: where several captures show the same board without a solution, it is
    /// played by looser rules: first those by which flows may touch themselves, then those by which cells may stay empty
    /// as well; fewer captures are enough for rules that are known of the game. Words as in puzzle files, such as
    /// `"touch"` or `"empty, touch"`: these rules for all boards.
    pub rules: RuleSetting,
    /// Report with each reading what it cost, by step. Readings then differ from run to run.
    pub timed: bool,
    /// A folder to save a picture of what each step saw in, `01-….png` and so on, of the last frame
    /// that was examined. It is made where it is not there. Slow: to see why a board is not read.
    #[schemars(extend("format" = "created-folder"))]
    pub steps: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            min_cells: 3,
            max_cells: 40,
            min_cell_pixels: 12,
            rules: RuleSetting::Strict,
            timed: false,
            steps: None,
        }
    }
}

impl Config {
    /// Describes an impossible setting, in a sentence.
    ///
    /// # Errors
    /// The sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.min_cells < 2 || self.max_cells > 64 {
            return Err("min_cells and max_cells must lie between 2 and 64".to_owned());
        }
        if self.min_cells > self.max_cells {
            return Err(format!(
                "min_cells ({}) is larger than max_cells ({})",
                self.min_cells, self.max_cells
            ));
        }
        if self.min_cell_pixels < 8 {
            return Err("min_cell_pixels must be at least 8".to_owned());
        }
        Ok(())
    }
}
