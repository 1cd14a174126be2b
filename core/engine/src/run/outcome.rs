//! How a call ended, and its result.

use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::instance::Instance;
use flowpipe_host::problem::{MessageId, ProblemKind};
use flowpipe_host::run::Mode;
use flowpipe_host::table::status::reason;
use flowpipe_recording::entry::Call;

use crate::run::call::Context;
use crate::watch::Reason;

/// How a call ended.
pub(crate) enum Outcome {
    /// Successfully.
    Fine,
    /// The plugin has no more output.
    End,
    /// The run is ending, or there is no receiver any more.
    Stopped,
    /// Another contestant was faster.
    Lost,
    /// It failed, with this message.
    Failed(ProblemKind, String),
    /// The control thread abandoned the worker during the call.
    Abandoned,
}

/// The result of one call.
pub(crate) struct Done {
    pub outcome: Outcome,
    /// Whether the plugin caught a panic.
    pub has_panicked: bool,
    /// Nanoseconds in the call, without waits for full queues.
    pub worked_ns: i64,
    /// When the call ended, by the run's clock.
    pub ended_ns: i64,
    pub emitted: u64,
    /// The record of the call, if an observer wants it.
    pub written: Option<Box<Call>>,
    /// The message that it failed on.
    pub message: Option<MessageId>,
    /// The plugin is restarted after this time. Set by the worker.
    pub restart: Option<Duration>,
    /// It can't continue, and is not replaced. Set by the worker.
    pub gone: bool,
}

impl Done {
    /// The result of a call that did not happen or was abandoned.
    pub(crate) fn nothing(outcome: Outcome) -> Self {
        Self {
            outcome,
            has_panicked: false,
            worked_ns: 0,
            ended_ns: 0,
            emitted: 0,
            written: None,
            message: None,
            restart: None,
            gone: false,
        }
    }

    /// Whether the call only ended the stage: how long it took is not the latency of any message.
    pub(crate) fn only_ends(&self) -> bool {
        self.emitted == 0 && matches!(self.outcome, Outcome::End | Outcome::Stopped)
    }
}

/// Derives the outcome from the status and from what happened in the call.
pub(crate) fn outcome(status: abi::Status, context: &Context<'_>, instance: &Instance) -> Outcome {
    let cancelled = context.cancelled();
    let timeout = context.stage.settings.timeout.unwrap_or_default();
    if let Some((kind, text)) = instance.crash() {
        return Outcome::Failed(kind, text.to_owned());
    }
    match (status, cancelled) {
        (_, Some(Reason::Timeout)) => {
            instance.host().take_error();
            Outcome::Failed(ProblemKind::TimedOut, format!("not done after {timeout:?}"))
        }
        (_, Some(Reason::Lost)) => {
            instance.host().take_error();
            Outcome::Lost
        }
        (status, _) if status != abi::PANIC && context.refused.borrow().is_some() => {
            instance.host().take_error();
            Outcome::Failed(
                ProblemKind::BadMessage,
                context.refused.take().unwrap_or_default(),
            )
        }
        (abi::OK, _) => Outcome::Fine,
        (abi::END, _) => Outcome::End,
        (abi::CANCELLED, Some(Reason::Stop)) => Outcome::Stopped,
        // It queried the run itself (`flowpipe.run/1`).
        (abi::CANCELLED, None) if context.stage.run.mode() > Mode::Run => Outcome::Stopped,
        // Failing because `emit` returned that there is no receiver is not a failure.
        (abi::STOPPED | abi::CANCELLED | abi::ERROR, _) if context.stopped.get() => {
            instance.host().take_error();
            Outcome::Stopped
        }
        (status, _) => Outcome::Failed(ProblemKind::Failed, reason(status, instance.host())),
    }
}
