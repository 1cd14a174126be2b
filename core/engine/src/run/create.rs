//! Creates the instance of a plugin in a stage, with its host, and activates it.

use std::sync::{Arc, Mutex};

use flowpipe_config::pipeline::Isolation;
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::{CreateError, InProcess, Instance};
#[cfg(unix)]
use flowpipe_host::run::Mode;
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::Host;
#[cfg(unix)]
use flowpipe_isolation::stage::{IsolatedStage, Start};

use crate::run::error::StartError;
use crate::run::stage::Stage;
use crate::supervisor::Slot;

/// Creates and activates an instance.
pub(crate) fn create(stage: &Stage, slot: Slot, found: &Found) -> Result<Instance, StartError> {
    let contestant = slot.contestant;
    let refuse = |step, error: CreateError| StartError::Plugin {
        stage: stage.settings.name.clone(),
        plugin: stage.plugin(contestant).to_owned(),
        step,
        is_bad_config: matches!(error, CreateError::BadConfig(_)),
        reason: error.to_string(),
    };
    let stage_clock = match &stage.run.replay {
        Some(replay) => StageClock::replaying(replay.next_times(slot)),
        None if stage.run.logs_calls && stage.is_deterministic => {
            StageClock::Recording(Mutex::default())
        }
        None => StageClock::Run,
    };
    let host = Host::new(
        &stage.settings.name,
        stage.index as u32,
        stage.run.services.clone(),
        stage_clock,
    );
    let null = serde_json::Value::Null;
    let config = stage
        .settings
        .contestants
        .get(contestant)
        .map_or(&null, |it| &it.config);
    let mut instance = match stage.settings.isolation {
        Isolation::Thread => InProcess::create(found, config, host),
        Isolation::Process => create_isolated(stage, found, config, host),
    }
    .map_err(|reason| refuse("start", reason))?;
    if let Err(reason) = instance.activate(&*stage.run) {
        instance.destroy();
        return Err(refuse("activate", reason.into()));
    }
    Ok(instance)
}

#[cfg(unix)]
fn create_isolated(
    stage: &Stage,
    found: &Found,
    config: &serde_json::Value,
    host: Arc<Host>,
) -> Result<Instance, CreateError> {
    let Some(program) = &stage.run.program else {
        let why = "this program can't start processes for stages";
        return Err(why.to_owned().into());
    };
    // Shared memory costs the system more: it is used only from now on, when there are other processes.
    stage.run.services.pool.share();
    let start = Start {
        program,
        run: &*stage.run,
        cancels_from: match stage.is_source() {
            true => Mode::Drain,
            false => Mode::Abort,
        },
    };
    IsolatedStage::create(found, config, host, &start)
}

#[cfg(not(unix))]
fn create_isolated(
    _: &Stage,
    _: &Found,
    _: &serde_json::Value,
    _: Arc<Host>,
) -> Result<Instance, CreateError> {
    let why = "stages can't run in processes of their own on this system";
    Err(why.to_owned().into())
}
