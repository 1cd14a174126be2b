//! The plugin's side of a state transfer. Errors become texts here, so that they are the same as in the host's own
//! process.

use flowpipe_abi as abi;
use flowpipe_host::instance::{InProcess, StageInstance as _, State};

use crate::child::Done;
use crate::wire::sendable;

/// Whether the stage supports state transfer.
pub(super) fn has(instance: &InProcess) -> Done {
    match instance.has_state_here() {
        true => abi::OK.into(),
        false => abi::NOT_FOUND.into(),
    }
}

/// Saves the stage's state.
pub(super) fn save(instance: &mut InProcess) -> Done {
    let state = match instance.save_here().transpose() {
        None => return abi::NOT_FOUND.into(),
        Some(state) => state.and_then(|state| sendable(&state).map(|()| state)),
    };
    match state {
        Ok(state) => Done {
            state: Some(state),
            ..abi::OK.into()
        },
        Err(text) => failed(instance, text),
    }
}

/// Loads the state of another instance.
pub(super) fn load(instance: &mut InProcess, format: String, json: Vec<u8>) -> Done {
    let json = String::from_utf8(json).map_err(|error| error.to_string());
    let state = json.map(|json| State { format, json });
    match state.and_then(|state| instance.load_here(&state)) {
        Ok(true) => abi::OK.into(),
        Ok(false) => abi::NOT_FOUND.into(),
        Err(text) => failed(instance, text),
    }
}

fn failed(instance: &InProcess, text: String) -> Done {
    instance.host().note_error(abi::ERROR, text);
    abi::ERROR.into()
}
