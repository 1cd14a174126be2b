//! A pipeline as it will run: every name resolved, every default filled in.
//!
//! Made from a file by [`crate::reader`].

use std::time::Duration;

use serde_json::Value;

/// A whole pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The file's `name`, or the file's stem.
    pub name: String,
    /// In the order of the file. A stage's index here is its number everywhere else.
    pub stages: Vec<Stage>,
    /// In the order of the file, by receiving stage.
    pub edges: Vec<Edge>,
    /// What becomes of queued messages when the run is asked to stop.
    pub on_stop: OnStop,
    /// Where the run is written down, if it is.
    pub record: Option<Record>,
}

/// How a run is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The file. `{name}` in it stands for the pipeline's name, `{time}` for the time of the start.
    pub file: String,
    /// Stages wait when the recorder can't keep up, so that nothing is dropped.
    pub lossless: bool,
}

/// One stage: one plugin, or several that race.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name in the file.
    pub name: String,
    /// One: it runs on the stage's thread. Several: each gets every message on a thread of its own,
    /// and the first answer that passes the checks wins.
    pub contestants: Vec<Contestant>,
    /// How long the work on one message may take, waiting for full queues left out; after it the
    /// work is cancelled.
    pub timeout: Option<Duration>,
    /// What happens when the stage fails on a message.
    pub on_error: OnError,
    /// How long the stage may sit on one message before the watchdog names it. After a `timeout`,
    /// how long it may take to notice the cancellation before it is given up.
    pub watchdog: Duration,
    /// Where it runs.
    pub isolation: Isolation,
    /// How often and how soon it is made anew after a failure. `None`: the file does not say.
    pub restart: Option<Restart>,
    /// Each message is worked on as if it was the first: the stage forgets the ones before it. Files
    /// can't say this.
    pub fresh: bool,
}

/// When a stage that failed is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// So often in a row, without a message worked through in between. After that `on_error` decides.
    pub max: u32,
    /// How long it waits the first time; twice as long each further time in a row.
    pub backoff: Duration,
}

/// One plugin in a stage.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// The plugin's name.
    pub plugin: String,
    /// A JSON object that fits the plugin's schema.
    pub config: Value,
}

/// A queue from one stage's output to another's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where messages come from.
    pub from: PortRef,
    /// Where they go.
    pub to: PortRef,
    /// How many it holds and what happens beyond.
    pub queue: Queue,
}

/// A port of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRef {
    /// Index in [`Pipeline::stages`].
    pub stage: usize,
    /// Index among the manifest's inputs or outputs.
    pub port: usize,
}

/// The rules of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Messages, at least 1.
    pub capacity: usize,
    /// What a message meets that finds it full.
    pub when_full: WhenFull,
}

/// What happens to a message that finds its queue full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The sender waits.
    #[default]
    Block,
    /// The oldest queued message is dropped.
    DropOldest,
    /// The new message is dropped.
    DropNewest,
    /// Everything queued is dropped: only the newest message counts.
    Latest,
}

/// What happens when a stage fails on a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends.
    #[default]
    Stop,
    /// The message is dropped and counted, and the stage goes on with the next one.
    Skip,
}

/// Where a stage runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// On a thread of the program.
    #[default]
    Thread,
    /// In a process of its own, for each of its plugins one: what crashes there takes nobody along.
    Process,
}

/// What becomes of queued messages when the run is asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStop {
    /// They are worked off: only the sources end.
    #[default]
    Drain,
    /// They are dropped and counted: each stage ends after the message in hand.
    Drop,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            max: 8,
            backoff: Duration::from_millis(100),
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            capacity: 16,
            when_full: WhenFull::Block,
        }
    }
}
