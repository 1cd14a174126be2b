//! How a call ended.

use flowpipe_abi as abi;
use flowpipe_host::instance::Instance;
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::run::Mode;
use flowpipe_host::table::status::reason;

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
