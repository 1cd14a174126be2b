//! `flowpipe bench`.

use std::path::PathBuf;

use clap::Args;

use super::number;

#[derive(Debug, Args)]
pub struct Bench {
    /// Files of puzzles in any format that `solve` reads. Without files, boards are generated.
    pub files: Vec<PathBuf>,
    /// Measure this solver plugin (may be given several times). Without it, all that are found, except those that need
    /// a config and have none.
    #[arg(long, value_name = "NAME")]
    pub solver: Vec<String>,
    /// The config of a solver plugin, as its name, `=`, and a TOML inline table (may be given several times).
    #[arg(long, value_name = "SOLVER=TOML", value_parser = config)]
    pub config: Vec<(String, String)>,
    /// The timeout of a board. A solver skips the rest of a size after three timeouts in a row, and the larger sizes
    /// after a size without a solved board.
    #[arg(long, default_value = "1s", value_name = "DURATION")]
    pub timeout: String,
    /// The maximum number of boards of each size or kind.
    #[arg(long, default_value_t = 20, value_name = "NUMBER", value_parser = number::from_one::<usize>)]
    pub most: usize,
    /// The same seed generates the same boards.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "NUMBER",
        conflicts_with = "files"
    )]
    pub seed: u64,
    /// Measure on the machines of this file, on each of which `flowpipe machine work` runs. Each has a part of the boards,
    /// and solves one at a time.
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,
    /// Draw the median times by size as SVG into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON Lines: one object for each solver and size.
    #[arg(long)]
    pub json: bool,
}

fn config(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((solver, config)) if !solver.trim().is_empty() => {
            Ok((solver.trim().to_owned(), config.trim().to_owned()))
        }
        _ => Err("write SOLVER=TOML, such as 'solver-varisat={ encoding = \"edges\" }'".to_owned()),
    }
}
