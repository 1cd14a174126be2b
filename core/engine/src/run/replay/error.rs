//! Why a recording can't be replayed.

use std::path::PathBuf;

use flowpipe_recording::entry::Call;
use flowpipe_recording::{CALLS, Entry, Fault, Recording};

/// Why a recording can't be replayed with these options.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The recording has no such stage.
    #[error("the recording has no stage \"{name}\"; it has {}", there.join(", "))]
    NoStage {
        /// The requested name.
        name: String,
        /// The recorded stages.
        there: Vec<String>,
    },
    /// No stage can be rerun.
    #[error(
        "no stage of the recording can be run again: {} has a plugin here that takes messages, is deterministic and has no \
         effects{}", others(changed), permission(permitted.as_ref())
    )]
    Nothing {
        /// The stages that take messages and changed while they were recorded.
        changed: Vec<String>,
        /// The first stage that is rerun if the options name it, and the effects that they must allow, if any.
        permitted: Option<(String, Vec<String>)>,
    },
    /// A source can't be rerun.
    #[error("stage \"{0}\" can't be run again: it takes no messages")]
    Source(String),
    /// The ports of a plugin differ from those of the stage.
    #[error("{plugin} can't replace stage \"{stage}\": its inputs and outputs differ")]
    Ports {
        /// The stage.
        stage: String,
        /// The plugin.
        plugin: String,
    },
    /// A stage changed while it was recorded.
    #[error(
        "stage \"{0}\" can't be run again: its plugin, config or settings changed while it ran; use --swap to replace it"
    )]
    Changed(String),
    /// The workers of the stages to rerun would be too many plugins.
    #[error(
        "the workers of the recorded stages are {count} {what}, where a replay starts {most} at most; --no-limits starts them"
    )]
    Workers {
        /// The number of plugins.
        count: usize,
        /// The most of them.
        most: usize,
        /// What they are.
        what: &'static str,
    },
    /// Calls of the recording form a cycle.
    #[error("{} can't be run again: {fault}", path.display())]
    Cycle {
        /// The recording.
        path: PathBuf,
        /// Which call.
        fault: Box<Fault>,
    },
    /// A stage has effects that are not allowed.
    #[error(
        "stage \"{stage}\" is not run again: {plugin} {}; {} permits it",
        effects.join(", and "),
        flags(needed)
    )]
    Effects {
        /// The stage.
        stage: String,
        /// Its plugin.
        plugin: String,
        /// Descriptions of its effects.
        effects: Vec<String>,
        /// The effects that have to be allowed.
        needed: Vec<String>,
    },
    /// A plugin's config can't be used.
    #[error("stage \"{stage}\" can't be run again: the config of {plugin} can't be used: {reason}")]
    Config {
        /// The stage.
        stage: String,
        /// Its plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

/// The flags that allow effects.
fn flags(effects: &[String]) -> String {
    let flags = effects.iter().map(|effect| format!("--allow {effect}"));
    flags.collect::<Vec<_>>().join(" ")
}

/// The flags that name a stage and allow its effects.
pub(super) fn flags_of_stage(stage: &str, effects: &[String]) -> String {
    let flags = format!("--from {stage} {}", flags(effects));
    flags.trim_end().to_owned()
}

/// The beginning of why no other stage is rerun than these, which changed.
fn others(changed: &[String]) -> String {
    match changed {
        [] => "none".to_owned(),
        [stage] => format!(
            "the plugin, config or settings of \"{stage}\" changed while it ran (use --swap to replace it), and no other stage"
        ),
        several => format!(
            "the plugins, configs or settings of {} changed while they ran (use --swap to replace one), and no other stage",
            several.join(", ")
        ),
    }
}

/// How a stage is rerun.
fn permission(permitted: Option<&(String, Vec<String>)>) -> String {
    permitted.map_or(String::new(), |(stage, needed)| {
        format!(
            "; if you trust it, run one yourself: {}",
            flags_of_stage(stage, needed)
        )
    })
}

impl PlanError {
    /// `call`: one of the cycle.
    pub(super) fn cycle(recording: &Recording, call: Option<&Call>) -> Self {
        let is_it = |entry: &Entry| {
            let (Entry::Call(it), Some(call)) = (entry, call) else {
                return false;
            };
            (&it.stage, it.taken_ns, &it.took) == (&call.stage, call.taken_ns, &call.took)
        };
        let place = recording.entries().iter().position(is_it);
        let place = place.and_then(|entry| recording.place(entry));
        let took = call.and_then(|call| call.took.as_ref());
        let what = match (call, took) {
            (Some(call), Some(took)) => format!(
                "the call of stage \"{}\" takes message {} of {}.{}, which descends from that call itself",
                call.stage, took.sequence, took.from, took.output
            ),
            _ => "a call takes what descends from itself".to_owned(),
        };
        Self::Cycle {
            path: recording.path().to_owned(),
            fault: Box::new(Fault {
                topic: CALLS.to_owned(),
                place: place.unwrap_or_default(),
                what,
            }),
        }
    }
}
