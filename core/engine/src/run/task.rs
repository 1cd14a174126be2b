//! What an observer is told of a plugin's work while it happens.

use flowpipe_host::message::{Message, Origin};
use flowpipe_recording::entry::Event;

/// One call of a plugin. Where a recorded run is run again, its times are those of now and not those of
/// then.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The stage's index in the pipeline.
    pub stage: usize,
    /// The plugin's index in the stage: not 0 only in a race.
    pub plugin: usize,
    /// What the call is for.
    pub event: Event,
    /// The message in hand, and the index of the input that it came by.
    pub taken: Option<(usize, &'a Message)>,
    /// The frame in hand, which at the end of the stream is that of the last message.
    pub origin: Option<Origin>,
    /// When it began, by the run's clock in nanoseconds.
    pub began_ns: i64,
}

/// What came of a [`Task`].
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// When it came back, by the run's clock in nanoseconds.
    pub ended_ns: i64,
    /// Of that, nanoseconds of waiting: for full queues, or because the plugin asked to wait.
    pub waited_ns: i64,
    /// Messages that it emitted.
    pub emitted: u64,
    /// How it ended.
    pub result: TaskResult<'a>,
}

/// How a [`Task`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult<'a> {
    /// As it should.
    Done,
    /// The run was ending.
    Stopped,
    /// Another plugin of the race was faster.
    Lost,
    /// It failed, in words.
    Failed(&'a str),
}
