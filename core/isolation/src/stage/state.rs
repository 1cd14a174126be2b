//! What a stage in a process of its own remembers: asked for, and told.

use std::io;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::instance::{Limits, StageInstance as _, State};
use flowpipe_host::table::status::reason;

use crate::process::TAKES;
use crate::protocol::ToStage;
use crate::stage::IsolatedStage;
use crate::stage::session::Reply;
use crate::wire::sendable;

/// A process that has not answered after `limit` is killed, as one is that has not when the run is aborted. The errors
/// are in words.
impl IsolatedStage {
    /// Whether it can hand over what it remembers, and take over what another did.
    pub(super) fn ask_has_state(&mut self, limits: &Limits<'_>) -> Result<bool, String> {
        let told = self.ask(&ToStage::HasState, b"", limits)?;
        Ok(told.status == abi::OK)
    }

    /// What it remembers. `None`: it does not say.
    pub(super) fn ask_save(&mut self, limits: &Limits<'_>) -> Result<Option<State>, String> {
        let told = self.ask(&ToStage::Save, b"", limits)?;
        match (told.status, told.state) {
            (abi::OK, Some((format, json))) => State::new(format.into(), json).map(Some),
            (abi::NOT_FOUND, _) => Ok(None),
            (status, _) => Err(reason(status, &self.host)),
        }
    }

    /// Has it remember what another did. False: it does not know the format.
    pub(super) fn ask_load(&mut self, state: &State, limits: &Limits<'_>) -> Result<bool, String> {
        sendable(state)?;
        let format = state.format.clone();
        let told = self.ask(&ToStage::Load { format }, state.json.as_bytes(), limits)?;
        match told.status {
            abi::OK => Ok(true),
            abi::NOT_FOUND => Ok(false),
            status => Err(reason(status, &self.host)),
        }
    }

    fn ask(&mut self, what: &ToStage, body: &[u8], limits: &Limits<'_>) -> Result<Reply, String> {
        if let Some(death) = self.death() {
            return Err(death.text.clone());
        }
        self.host.take_error();
        // A socket can't be told to wait for no time at all.
        let limit = limits.patience.max(Duration::from_millis(1));
        let late = || format!("it has not come back after {limit:?}");
        let limited = self.wire.send_within(limit);
        let sent = limited.and_then(|()| self.wire.send(what, body, &[]));
        let told = match sent {
            // It does not even take what it is told.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.kill(&late())),
            Err(error) => Err(error),
            Ok(()) => self.wait_for(limits.run, limit, late),
        };
        let told = told.and_then(|told| self.wire.send_within(TAKES).map(|()| told));
        told.map_err(|error| self.reap(&error).text.clone())
    }
}
