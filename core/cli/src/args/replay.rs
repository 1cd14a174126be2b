//! `flowpipe replay`.

use std::path::PathBuf;

use clap::Args;

/// What `flowpipe replay` takes.
#[derive(Debug, Args)]
pub struct Replay {
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Hold every message against the recorded one; exit code 1 when one differs.
    #[arg(long)]
    pub verify: bool,
    /// Run only this stage again, and what comes after it.
    #[arg(long, value_name = "STAGE")]
    pub from: Option<String>,
    /// Run another plugin in a stage's place, with the defaults of its config.
    #[arg(long, value_name = "STAGE=PLUGIN", value_parser = swap)]
    pub swap: Vec<(String, String)>,
    /// How fast: `1x` as it was, `4x` and so on, or `max`.
    #[arg(long, default_value = "max", value_name = "SPEED", value_parser = speed)]
    pub speed: Speed,
    /// Write the replay down, as `run --record` does.
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,
    /// Write a trace of the replay, as `run --trace` does.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object at the end and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
    /// Don't print the boards.
    #[arg(long, short)]
    pub quiet: bool,
}

/// How fast a recording is run again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was.
    Times(f64),
    /// As fast as it goes.
    Max,
}

fn swap(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((stage, plugin)) if !stage.is_empty() && !plugin.is_empty() => {
            Ok((stage.to_owned(), plugin.to_owned()))
        }
        _ => Err("write STAGE=PLUGIN, such as solver=solver-splr".to_owned()),
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times = text.strip_suffix('x').and_then(|text| text.parse().ok());
    match times {
        Some(times) if (0.001..=1e6).contains(&times) => Ok(Speed::Times(times)),
        _ => Err("write 1x, 0.5x, 4x, or max".to_owned()),
    }
}
