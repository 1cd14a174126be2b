//! What a recording says of a run, beside the messages themselves.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::name::Name;

/// Schema id of [`Call`].
pub const CALL: &str = "flowpipe.call/1";
/// Schema id of [`Dropped`].
pub const DROPPED: &str = "flowpipe.dropped/1";
/// Schema id of [`Trouble`].
pub const TROUBLE: &str = "flowpipe.problem/1";
/// Schema id of [`Change`].
pub const CHANGE: &str = "flowpipe.change/1";
/// Schema id of [`DroppedLineages`].
pub const DROPPED_LINEAGES: &str = "flowpipe.dropped-lineages/1";
/// Schema id of [`PictureNote`].
pub const PICTURE: &str = "flowpipe.picture/1";

/// The run as a whole: the attachment `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// The version of this layout.
    pub format: u32,
    /// The release of flowpipe that recorded.
    pub flowpipe: String,
    /// The pipeline's name.
    pub name: String,
    /// The pipeline's file, as it was given.
    pub file: String,
    /// Unix time at which the run's clock stood at 0, nanoseconds.
    pub started_unix_ns: u64,
    /// The recording holds only what came from this time of the run's clock on, nanoseconds; nothing: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ns: Option<i64>,
    /// It was written while the run went on: calls that had not ended are missing, and what came before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub excerpt: bool,
    /// Whether the stages touched nothing outside of the program.
    pub dry: bool,
    /// In the pipeline's order.
    pub stages: Vec<AboutStage>,
    /// In the pipeline's order.
    pub edges: Vec<AboutEdge>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AboutStage {
    /// Its name in the pipeline.
    pub name: String,
    /// `capture`, `vision` and so on.
    pub role: String,
    /// Several when they raced.
    pub plugins: Vec<AboutPlugin>,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Outputs with their schema ids (`*`: any).
    pub outputs: Vec<(String, String)>,
    /// How long the work on one message might take, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// It ran in a process of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub isolated: bool,
}

/// A plugin of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AboutPlugin {
    /// The plugin's name.
    pub name: String,
    /// Its release.
    pub version: String,
    /// Hash of the library's bytes (XXH3, 128 bits, hexadecimal).
    pub hash: String,
    /// Its config, defaults left out.
    pub config: serde_json::Value,
    /// Whether it says that the same messages in give the same messages out.
    pub deterministic: bool,
}

/// A queue between two stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AboutEdge {
    /// Stage and output.
    pub from: (String, String),
    /// Stage and input.
    pub to: (String, String),
    /// How many messages it held at most.
    pub capacity: usize,
    /// `block`, `drop-oldest`, `drop-newest` or `latest`.
    pub when_full: String,
}

/// One call of a stage: what went in, what came out. Times are the run's clock in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The stage.
    pub stage: Name,
    /// Which of the stage's plugins, from 0; only a race has more than one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plugin: usize,
    /// Why it was called.
    pub event: Event,
    /// The message that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Taken>,
    /// When it took the message, or the call began.
    pub taken_ns: i64,
    /// When it came back, or was given up.
    pub ended_ns: i64,
    /// Of the time between, nanoseconds spent waiting: for full queues, or because it asked to.
    #[serde(default, skip_serializing_if = "is_zero_ns")]
    pub waited_ns: i64,
    /// What it emitted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Emitted>,
    /// Each time that it was told by the clock since its call before, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<i64>,
    /// What came of each wait that it asked for: whether the time was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<bool>,
    /// The work became unwanted: after how many questions it was told so first, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancelled>,
    /// What it marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// How the call failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// It never came back: the stage was given up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hung: bool,
    /// After it the plugin was made anew.
    #[serde(default, skip_serializing_if = "is_false")]
    pub anew: bool,
}

/// Why a stage is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A source is to give what it has.
    #[default]
    Tick,
    /// There is a message.
    Message,
    /// No more messages come.
    Finish,
}

/// A message that a stage took.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// The input that it came by.
    pub port: Name,
    /// The stage that had emitted it.
    pub from: Name,
    /// That stage's output.
    pub output: Name,
    /// Its number there, from 1.
    pub sequence: u64,
}

/// A message that a stage emitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Emitted {
    /// The output.
    pub port: Name,
    /// Its number there, from 1.
    pub sequence: u64,
    /// When.
    pub at_ns: i64,
    /// The frame that it descends from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The stage that captured it.
    pub stage: Name,
    /// The number of the message that brought it.
    pub sequence: u64,
    /// When it was captured.
    pub captured_ns: i64,
}

/// How work became unwanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    /// So many times it asked before and was told to go on.
    pub after: u64,
    /// Why.
    pub reason: CancelReason,
}

/// Why work became unwanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CancelReason {
    /// It took longer than the stage's timeout.
    Timeout,
    /// Another plugin of the race was faster.
    Lost,
    /// The run was ending.
    Stop,
}

/// Something of a name that happened in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// What.
    pub name: Name,
    /// When.
    pub at_ns: i64,
}

/// A message that a full queue dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// The stage that had emitted it.
    pub from: Name,
    /// Its output.
    pub output: Name,
    /// The message's number.
    pub sequence: u64,
    /// The stage and input that it did not reach.
    pub to: (Name, Name),
    /// When.
    pub at_ns: i64,
}

/// What the recorder did not record, because the disk or the processor could not keep up: all that descends from some
/// messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedLineages {
    /// The stage that emitted these messages.
    pub stage: Name,
    /// Its output.
    pub port: Name,
    /// The number of the first of them.
    pub first: u64,
    /// The number of the last of them; those between were dropped too.
    pub last: u64,
    /// Their beginning is recorded: the messages themselves, and perhaps some of what descends from them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partly: bool,
    /// When the first of them was dropped.
    pub at_ns: i64,
    /// When the last of them was.
    pub until_ns: i64,
}

impl DroppedLineages {
    /// How many they are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

/// Where the pixels of a message are that are not stored beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PictureNote {
    /// The stage that emitted the message.
    pub stage: Name,
    /// Its output.
    pub port: Name,
    /// The message's number.
    pub sequence: u64,
    /// The message (stage, output, number) that the same picture is stored beside; nothing: the pixels were
    /// left out, because the recorder could not keep up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<(Name, Name, u64)>,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// The kind, such as `timed out`.
    pub kind: Name,
    /// The stage.
    pub stage: Name,
    /// The plugin.
    pub plugin: Name,
    /// What, in a sentence.
    pub text: String,
    /// When.
    pub at_ns: i64,
}

/// The pipeline changed while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What, in a line for people.
    pub text: String,
    /// When. What stages emit later they emit as they are from here on.
    pub at_ns: i64,
    /// The stages that changed.
    pub stages: Vec<ChangedStage>,
    /// All queues from here on.
    pub edges: Vec<AboutEdge>,
}

/// A stage that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedStage {
    /// The stage from here on; as it was, where it was taken out.
    #[serde(flatten)]
    pub stage: AboutStage,
    /// It came in here.
    #[serde(default, skip_serializing_if = "is_false")]
    pub added: bool,
    /// It was taken out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
    /// Its plugin, config or settings are others than before, so that what it emits need not be what it would have
    /// emitted before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub other: bool,
}

/// The JSON Schema of each of the entries, by schema id.
#[must_use]
pub fn schemas() -> [(&'static str, Schema); 6] {
    [
        (CALL, schema_for!(Call)),
        (DROPPED, schema_for!(Dropped)),
        (TROUBLE, schema_for!(Trouble)),
        (CHANGE, schema_for!(Change)),
        (DROPPED_LINEAGES, schema_for!(DroppedLineages)),
        (PICTURE, schema_for!(PictureNote)),
    ]
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(truth: &bool) -> bool {
    !*truth
}

fn is_zero_ns(number: &i64) -> bool {
    *number == 0
}
