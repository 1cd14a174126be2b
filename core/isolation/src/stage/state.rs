//! State transfer of a stage in its own process.
//!
//! Each call kills the process if it has not replied after `limits.patience`, or when the run is aborted. The errors
//! are sentences for users.

use std::io;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::instance::{Limits, StageInstance as _, State};
use flowpipe_host::table::status::reason;

use crate::process::SEND_TIMEOUT;
use crate::protocol::ToStage;
use crate::stage::IsolatedStage;
use crate::stage::session::Reply;
use crate::wire::sendable;

/// Whether the stage supports state transfer.
pub(super) fn ask_has_state(
    stage: &mut IsolatedStage,
    limits: &Limits<'_>,
) -> Result<bool, String> {
    let reply = ask(stage, &ToStage::HasState, b"", limits)?;
    Ok(reply.status == abi::OK)
}

/// Saves the stage's state. `None`: it has no transferable state.
pub(super) fn ask_save(
    stage: &mut IsolatedStage,
    limits: &Limits<'_>,
) -> Result<Option<State>, String> {
    let reply = ask(stage, &ToStage::Save, b"", limits)?;
    match (reply.status, reply.state) {
        (abi::OK, Some((format, json))) => State::new(format.into(), json).map(Some),
        (abi::NOT_FOUND, _) => Ok(None),
        (status, _) => Err(reason(status, &stage.host)),
    }
}

/// Loads the state of another instance. False: the stage does not know the format.
pub(super) fn ask_load(
    stage: &mut IsolatedStage,
    state: &State,
    limits: &Limits<'_>,
) -> Result<bool, String> {
    sendable(state)?;
    let format = state.format.clone();
    let reply = ask(
        stage,
        &ToStage::Load { format },
        state.json.as_bytes(),
        limits,
    )?;
    match reply.status {
        abi::OK => Ok(true),
        abi::NOT_FOUND => Ok(false),
        status => Err(reason(status, &stage.host)),
    }
}

fn ask(
    stage: &mut IsolatedStage,
    what: &ToStage,
    body: &[u8],
    limits: &Limits<'_>,
) -> Result<Reply, String> {
    if let Some(death) = stage.death() {
        return Err(death.text.clone());
    }
    stage.host.take_error();
    // A socket timeout of zero means no limit.
    let limit = limits.patience.max(Duration::from_millis(1));
    let late = || format!("it has not come back after {limit:?}");
    let limited = stage.wire.send_within(limit);
    let sent = limited.and_then(|()| stage.wire.send(what, body, &[]));
    let reply = match sent {
        // The process does not even read the packet.
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(stage.kill(&late())),
        Err(error) => Err(error),
        Ok(()) => stage.wait_for(limits.run, limit, late),
    };
    let reply = reply.and_then(|reply| stage.wire.send_within(SEND_TIMEOUT).map(|()| reply));
    reply.map_err(|error| stage.reap(&error).text.clone())
}
