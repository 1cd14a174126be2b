//! The entries of a recording.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::message::RecordedMessage;
use crate::name::Name;

/// Schema id of [`Call`].
pub const CALL: &str = "flowpipe.call/1";
/// Schema id of [`Dropped`].
pub const DROPPED: &str = "flowpipe.dropped/1";
/// Schema id of [`Trouble`].
pub const TROUBLE: &str = "flowpipe.problem/1";
/// The kind of the [`Trouble`] that gives the reason why the recording ends before the run did.
pub const MISSING: &str = "missing";
/// Schema id of [`Change`].
pub const CHANGE: &str = "flowpipe.change/1";
/// Schema id of [`DroppedLineages`].
pub const DROPPED_LINEAGES: &str = "flowpipe.dropped-lineages/1";
/// Schema id of [`PictureNote`].
pub const PICTURE: &str = "flowpipe.picture/1";

/// An entry, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A message was emitted.
    Message(RecordedMessage),
    /// A call has ended.
    Call(Arc<Call>),
    /// A full queue dropped a message.
    Dropped(Box<Dropped>),
    /// A problem occurred.
    Problem(Box<Trouble>),
}

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
    /// Unix time of the run clock's 0, in nanoseconds.
    pub started_unix_ns: u64,
    /// The recording starts at this time of the run's clock, nanoseconds; absent: it has the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ns: Option<i64>,
    /// Whether it was written while the run went on: calls that had not ended are missing, and everything before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub excerpt: bool,
    /// Whether it was a dry run: the stages touched nothing outside of the program.
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
    /// It ran in its own process.
    #[serde(default, skip_serializing_if = "is_false")]
    pub isolated: bool,
    /// How many messages it processed at once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub workers: usize,
    /// The machine that ran it, or those of its workers, in a run on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
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
    /// Whether it declares that the same input always gives the same output.
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

/// One call of a stage: its input and its output. Times are the run's clock in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The stage.
    pub stage: Name,
    /// Which of the stage's plugins, from 0; only a race has more than one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plugin: usize,
    /// Which of the stage's workers, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub worker: usize,
    /// Why it was called.
    pub event: Event,
    /// The message that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Taken>,
    /// When it took the message, or the call started.
    pub taken_ns: i64,
    /// When it returned, or was abandoned.
    pub ended_ns: i64,
    /// Nanoseconds of that time spent waiting: for full queues, for its turn among workers, or in `wait_until`.
    #[serde(default, skip_serializing_if = "is_zero_ns")]
    pub waited_ns: i64,
    /// What it emitted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Emitted>,
    /// Each time that it read from the clock since its previous call, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<i64>,
    /// The result of each `wait_until`: whether the time was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<bool>,
    /// The work was cancelled: after how many polls the stage first got that, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancelled>,
    /// What it marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// How the call failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// It never returned: the stage was abandoned.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hung: bool,
    /// After it the plugin was restarted.
    #[serde(alias = "anew", default, skip_serializing_if = "is_false")]
    pub restarted: bool,
}

/// Why a stage is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A source may emit.
    #[default]
    Tick,
    /// There is a message.
    Message,
    /// The inputs have ended.
    Finish,
}

/// A message that a stage took.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Its input.
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
    /// When, in nanoseconds of the run's clock.
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
    /// The number of the message that carried it.
    pub sequence: u64,
    /// When it was captured.
    pub captured_ns: i64,
}

/// The cancellation of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    /// How many polls returned "not cancelled" before.
    pub after: u64,
    /// Why.
    pub reason: CancelReason,
}

/// Why work was cancelled.
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

/// A named event in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Its name.
    pub name: Name,
    /// When, in nanoseconds of the run's clock.
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
    /// When, in nanoseconds of the run's clock.
    pub at_ns: i64,
}

/// Messages that the recorder dropped with all their descendants, because the disk or the processor could not keep up.
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
    /// Their start is recorded: the messages themselves, and perhaps some of their descendants.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partly: bool,
    /// When the first of them was dropped.
    pub at_ns: i64,
    /// When the last of them was.
    pub until_ns: i64,
}

impl DroppedLineages {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

/// The position of a message's picture or buffer, if it is not stored beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PictureNote {
    /// The stage that emitted the message.
    pub stage: Name,
    /// Its output.
    pub port: Name,
    /// The message's number.
    pub sequence: u64,
    /// The message (stage, output, number) that the same picture is stored beside; absent: the recorder dropped the
    /// pixels, because it could not keep up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<(Name, Name, u64)>,
    /// Whether it is a buffer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_buffer: bool,
}

/// A problem of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// The kind, such as `timed out`.
    pub kind: Name,
    /// The stage.
    pub stage: Name,
    /// The plugin.
    pub plugin: Name,
    /// A description.
    pub text: String,
    /// When, in nanoseconds of the run's clock.
    pub at_ns: i64,
}

/// The pipeline changed while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// A description in one line.
    pub text: String,
    /// When. Messages that stages emit later come from the changed pipeline.
    pub at_ns: i64,
    /// The stages that changed.
    pub stages: Vec<ChangedStage>,
    /// All queues from here on.
    pub edges: Vec<AboutEdge>,
}

/// A stage that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedStage {
    /// The stage after the change; as it was before, if it was removed.
    #[serde(flatten)]
    pub stage: AboutStage,
    /// It was added.
    #[serde(default, skip_serializing_if = "is_false")]
    pub added: bool,
    /// It was removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
    /// Its plugin, config or settings have changed, so that its output may differ from what it would have emitted
    /// before.
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

fn one() -> usize {
    1
}

fn is_one(number: &usize) -> bool {
    *number == 1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_workers_there_is_one() {
        let text = r#"{"stage":"solver","event":"tick","taken_ns":1,"ended_ns":2}"#;
        let call: Call = serde_json::from_str(text).unwrap();
        assert_eq!(call.worker, 0);
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
        let text = r#"{"name":"solver","role":"","plugins":[],"inputs":[],"outputs":[]}"#;
        let about: AboutStage = serde_json::from_str(text).unwrap();
        assert_eq!((about.workers, &about.machine), (1, &None));
        assert_eq!(serde_json::to_string(&about).unwrap(), text);
        let text = r#"{"name":"solver","role":"","plugins":[],"inputs":[],"outputs":[],"machine":"rack1, rack2"}"#;
        let about: AboutStage = serde_json::from_str(text).unwrap();
        assert_eq!(about.machine.as_deref(), Some("rack1, rack2"));
        assert_eq!(serde_json::to_string(&about).unwrap(), text);
    }

    const OLDER: &str = "anew"; // key of older files

    #[test]
    fn keys_of_older_recordings_are_read() {
        let call = |key: &str| -> Call {
            let text = format!(
                r#"{{"stage":"solver","event":"tick","taken_ns":1,"ended_ns":2,"{key}":true}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        assert!(call(OLDER).restarted && call("restarted").restarted);
        let written = serde_json::to_value(call(OLDER)).unwrap();
        assert_eq!(written["restarted"], true);
    }
}
