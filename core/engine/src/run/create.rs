//! Creates the instance of a plugin in a stage, with its host, and activates it.

use std::sync::{Arc, Mutex};

use flowpipe_config::pipeline::Isolation;
use flowpipe_host::catalogue::Found;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::instance::{CreateError, InProcess, Instance};
#[cfg(unix)]
use flowpipe_host::run::Mode;
use flowpipe_host::run::RunContext;
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::Host;
use flowpipe_isolation::Program;
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
    if let Some(machine) = stage.remote_workers.machine(slot.worker) {
        let run: Arc<dyn RunContext> = stage.run.clone();
        return Ok(machine.create(slot.into(), host, &run));
    }
    let creation = Creation {
        isolation: stage.settings.isolation,
        is_source: stage.is_source(),
        program: stage.run.program.as_ref(),
        pool: &stage.run.services.pool,
        run: &*stage.run,
    };
    let instance = create_instance(&creation, found, config, host);
    let mut instance = instance.map_err(|reason| refuse("start", reason))?;
    if let Err(reason) = instance.activate(&*stage.run) {
        instance.destroy();
        return Err(refuse("activate", reason));
    }
    Ok(instance)
}

/// Where and how an instance is created.
pub(crate) struct Creation<'a> {
    pub isolation: Isolation,
    pub is_source: bool,
    /// How processes for stages are started.
    pub program: Option<&'a Program>,
    pub pool: &'a Pool,
    pub run: &'a dyn RunContext,
}

/// Creates an instance, which is not active yet.
pub(crate) fn create_instance(
    creation: &Creation<'_>,
    found: &Found,
    config: &serde_json::Value,
    host: Arc<Host>,
) -> Result<Instance, CreateError> {
    match creation.isolation {
        Isolation::Thread => InProcess::create(found, config, host),
        Isolation::Process => create_isolated(creation, found, config, host),
    }
}

#[cfg(unix)]
fn create_isolated(
    creation: &Creation<'_>,
    found: &Found,
    config: &serde_json::Value,
    host: Arc<Host>,
) -> Result<Instance, CreateError> {
    let Some(program) = creation.program else {
        let why = "this program can't start processes for stages";
        return Err(why.to_owned().into());
    };
    // Shared memory costs the system more: it is used only from now on, when there are other processes.
    creation.pool.share();
    let start = Start {
        program,
        run: creation.run,
        cancels_from: match creation.is_source {
            true => Mode::Drain,
            false => Mode::Abort,
        },
    };
    IsolatedStage::create(found, config, host, &start)
}

#[cfg(not(unix))]
fn create_isolated(
    _: &Creation<'_>,
    _: &Found,
    _: &serde_json::Value,
    _: Arc<Host>,
) -> Result<Instance, CreateError> {
    let why = "stages can't run in processes of their own on this system";
    Err(why.to_owned().into())
}
