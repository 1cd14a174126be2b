//! `flowpipe replay`.

use std::path::PathBuf;

use clap::Args;
use flowpipe_config::effects::{EffectKind, UnknownEffect};
use flowpipe_engine::run::replay::{ALLOW_UNKNOWN, Swap};

/// The arguments of `flowpipe replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// The recording (MCAP).
    pub file: PathBuf,
    /// Compare every message with the recorded one; exit code 1 if one differs, or if messages of replayed stages can't
    /// be compared and the recording does not say why.
    #[arg(long)]
    pub verify: bool,
    /// Run only this stage, also if it has effects that --allow names, and of the stages after it those that a replay runs
    /// again.
    #[arg(long, value_name = "STAGE")]
    pub from: Option<String>,
    /// Run another plugin in a stage's place, with its default config or with the given one, such as
    /// 'solver=solver-exec{command=["python3", "solver.py"]}'. The effects of this plugin are allowed.
    #[arg(long, value_name = "STAGE=PLUGIN{KEY=VALUE,...}", value_parser = swap)]
    pub swap: Vec<Swap>,
    /// Allow the stages that --from and --swap name this effect: reads-files, writes-files, runs-commands,
    /// reads-screen, drives-mouse, uses-network, or unknown. Their effects are printed first. A replay is always a dry
    /// run.
    #[arg(long, value_name = "EFFECT", value_parser = allow)]
    pub allow: Vec<Option<EffectKind>>,
    /// Don't limit the time and memory of replayed calls to about what the recorded calls took, nor the memory of the
    /// recording itself: for recordings that you trust.
    #[arg(long)]
    pub no_limits: bool,
    /// The speed: `1x` as recorded, `4x` and so on, or `max`.
    #[arg(long, default_value = "max", value_name = "SPEED", value_parser = speed)]
    pub speed: Speed,
    /// Record the replay, as `run --record` does.
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,
    /// Write a trace of the replay, as `run --trace` does.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object at the end and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
    /// Print no boards, gestures and notes: only problems, and the tables at the end.
    #[arg(long, short)]
    pub quiet: bool,
}

/// The speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// A multiple of the recorded speed.
    Times(f64),
    /// As fast as possible.
    Max,
}

/// An effect; `None`: any effect of a plugin that declares none.
fn allow(text: &str) -> Result<Option<EffectKind>, String> {
    if text == ALLOW_UNKNOWN {
        return Ok(None);
    }
    let kind = text.parse().map(Some);
    kind.map_err(|error: UnknownEffect| format!("{error}, or {ALLOW_UNKNOWN}"))
}

fn swap(text: &str) -> Result<Swap, String> {
    let form = "write STAGE=PLUGIN, such as solver=solver-splr";
    let (stage, plugin) = text.split_once('=').ok_or(form)?;
    let (plugin, config) = match plugin.find('{') {
        Some(start) => plugin.split_at(start),
        None => (plugin, "{}"),
    };
    if stage.is_empty() || plugin.is_empty() {
        return Err(form.to_owned());
    }
    let config = toml::from_str::<toml::Table>(&format!("config = {config}"))
        .map_err(|error| format!("the config is not a TOML inline table: {}", error.message()))?;
    let config = config.get("config").map(serde_json::to_value);
    let config = config.transpose().map_err(|error| error.to_string())?;
    Ok(Swap {
        stage: stage.to_owned(),
        plugin: plugin.to_owned(),
        config: config.unwrap_or_default(),
    })
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
