//! A plugin's calls, as observers see them while they happen.

use flowpipe_host::message::{Message, Origin};
use flowpipe_recording::entry::Event;

/// One call of a plugin. In a replay, its times are those of the replay and not the recorded ones.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The stage's index in the pipeline.
    pub stage: usize,
    /// The plugin's index in the stage: not 0 only in a race.
    pub plugin: usize,
    /// The worker's index in the stage: not 0 only if the stage has several.
    pub worker: usize,
    /// The kind of the call.
    pub event: Event,
    /// The message being processed, with the index of its input.
    pub taken: Option<(usize, &'a Message)>,
    /// The frame being processed; at the end of the stream, that of the last message.
    pub origin: Option<Origin>,
    /// When the stage took the message, or its turn came, by the run's clock in nanoseconds: what the call emits has this time
    /// in its last hop. In a replay, that is the recorded time.
    pub taken_ns: i64,
    /// When it started, by the run's clock in nanoseconds.
    pub began_ns: i64,
}

/// The result of a [`Task`], with times.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// When it returned, by the run's clock in nanoseconds.
    pub ended_ns: i64,
    /// Nanoseconds spent waiting: for full queues, for its turn, or because the plugin asked to wait.
    pub waited_ns: i64,
    /// Messages that it emitted.
    pub emitted: u64,
    /// How it ended.
    pub result: TaskResult<'a>,
}

/// How a [`Task`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult<'a> {
    /// Successfully.
    Done,
    /// The run was ending.
    Stopped,
    /// Another plugin of the race was faster.
    Lost,
    /// It failed, with this message.
    Failed(&'a str),
}

/// The name of an event in spans and traces.
pub fn event_name(event: Event) -> &'static str {
    match event {
        Event::Message => "message",
        Event::Finish => "finish",
        Event::Tick => "tick",
    }
}
