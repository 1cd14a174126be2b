//! The host's side of a stage in its own process.

mod session;
mod state;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_abi as abi;
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::{CreateError, Death, Instance, Limits, StageInstance, State};
use flowpipe_host::run::StageProcess;
use flowpipe_host::run::{Mode, RunContext};
use flowpipe_host::table::Host;
use flowpipe_process::memory::resident_bytes;
use flowpipe_sync::lock;
use serde_json::Value;

use crate::Program;
use crate::confinement::{self, Confinement};
use crate::control_block::ControlBlock;
use crate::frame_table::FrameTable;
use crate::process::{self, ChildProcess, Ends};
use crate::protocol::{Create, ToHost, ToStage};
use crate::service;
use crate::stage::session::Reply;
use crate::wire::{Packet, Wire};

/// A stage in its own process, as an instance of the host.
pub struct IsolatedStage {
    wire: Wire,
    process: Arc<IsolatedProcess>,
    frames: Arc<FrameTable>,
    service: Option<JoinHandle<()>>,
    host: Arc<Host>,
    confinement: Confinement,
    death: Option<Death>,
}

/// The parameters to start one.
pub struct Start<'a> {
    /// The program that becomes its process.
    pub program: &'a Program,
    /// The run that it is part of.
    pub run: &'a dyn RunContext,
    /// The first mode in which its work is cancelled.
    pub cancels_from: Mode,
}

/// The process of a stage, and its shared cancellation flags.
#[derive(Debug)]
pub(crate) struct IsolatedProcess {
    /// The name of its stage.
    stage: String,
    child: ChildProcess,
    control: ControlBlock,
}

/// How long a process may take to load its library and to create its stage.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to clean up.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a waiting thread checks whether the run is aborted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl IsolatedStage {
    /// Starts a process and creates a stage there. [control-thread]
    ///
    /// # Errors
    /// Why it failed.
    pub fn create(
        found: &Found,
        config: &Value,
        host: Arc<Host>,
        start: &Start<'_>,
    ) -> Result<Instance, CreateError> {
        let failed = |error: io::Error| {
            CreateError::Failed(format!("its process can't be started: {error}"))
        };
        let library = found.file.replaced_file()?;
        let confinement = Confinement::of(&found.manifest, config);
        warn_of_confinement(found);
        let control = ControlBlock::new(start.cancels_from as u32).map_err(failed)?;
        let (child, ends) = process::start(start.program, host.name()).map_err(failed)?;
        let Ends {
            call,
            side,
            their_side,
        } = ends;
        let process = Arc::new(IsolatedProcess {
            stage: host.name().to_owned(),
            child,
            control,
        });
        let follower: Arc<dyn StageProcess> = process.clone();
        start.run.follow(&follower);
        let frames = Arc::new(FrameTable::new());
        let service = {
            let (frames, host, process) = (frames.clone(), host.clone(), process.clone());
            std::thread::Builder::new()
                .name(format!("{}/side", host.name()))
                .spawn(move || service::serve(side, &frames, &host, &process.child))
                .map_err(failed)?
        };
        let mut stage = Self {
            wire: call,
            process,
            frames,
            service: Some(service),
            host,
            confinement,
            death: None,
        };
        let create = ToStage::Create(Box::new(Create {
            stage: stage.host.name().to_owned(),
            library: found.path.clone(),
            is_replaced: library.is_some(),
            index: found.index,
            manifest: found.manifest_text().to_owned(),
            began_ns: stage.host.clock().began_ns(),
            clock: stage.host.stage_clock().source(),
            level: most_verbose(),
            dry: start.run.is_dry(),
            confinement: stage.confinement.clone(),
        }));
        let files = [their_side.as_fd(), stage.process.control.file()];
        let files: Vec<_> = files.into_iter().chain(library).collect();
        let sent = stage
            .wire
            .send(&create, config.to_string().as_bytes(), &files);
        drop(files);
        drop(their_side);
        let status = sent.and_then(|()| stage.wait_ready(start.run));
        match stage.end_call(status) {
            abi::OK => Ok(Box::new(stage)),
            status => Err(stage.why(status)),
        }
    }

    fn clean_up(&mut self) -> io::Result<Option<Packet<ToHost>>> {
        self.wire
            .wait_until(Some(Instant::now() + CLEAN_UP_TIMEOUT))?;
        self.wire.send_within(CLEAN_UP_TIMEOUT)?;
        self.wire.send(&ToStage::Destroy, b"", &[])?;
        self.wire.receive::<ToHost>()
    }

    /// Waits until the stage is created or active.
    fn wait_ready(&mut self, run: &dyn RunContext) -> io::Result<abi::Status> {
        let late = || format!("it is not ready after {READY_TIMEOUT:?}");
        let reply = self.wait_for(run, READY_TIMEOUT, late)?;
        Ok(reply.status)
    }

    /// Waits for the reply to a call outside of the stage's thread. Kills the process when that takes longer than
    /// `limit`, for the reason from `late`, or when the run is aborted meanwhile.
    fn wait_for(
        &mut self,
        run: &dyn RunContext,
        limit: Duration,
        late: impl Fn() -> String,
    ) -> io::Result<Reply> {
        let began = Instant::now();
        loop {
            self.wire.wait_until(Some(Instant::now() + POLL_INTERVAL))?;
            match self.handle_next(None) {
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(Some(reply)) => {
                    self.wire.wait_until(None)?;
                    return Ok(reply);
                }
            }
            if run.mode() == Mode::Abort || began.elapsed() > limit {
                return Err(self.kill(&match run.mode() {
                    Mode::Abort => "the run was ending".to_owned(),
                    _ => late(),
                }));
            }
        }
    }

    /// Kills the process because it does not reply.
    fn kill(&self, why: &str) -> io::Error {
        self.process.child.start_call();
        self.process.child.kill(why);
        io::ErrorKind::ConnectionAborted.into()
    }

    /// The status of a call. If it did not return, the process is reaped.
    fn end_call(&mut self, status: io::Result<abi::Status>) -> abi::Status {
        match status {
            Ok(status) => status,
            Err(error) => {
                self.reap(&error);
                abi::ERROR
            }
        }
    }

    /// Reaps the process after a call that did not return.
    fn reap(&mut self, error: &io::Error) -> &Death {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                self.process.child.reject(&error.to_string());
            }
            io::ErrorKind::QuotaExceeded | io::ErrorKind::OutOfMemory => {
                self.process.child.exceed(&error.to_string());
            }
            io::ErrorKind::TimedOut => {
                self.kill(&error.to_string());
            }
            _ => {}
        }
        let death = self.process.child.reap();
        self.end_service();
        self.death.insert(death)
    }

    /// Waits for the service thread and releases all frames of the process.
    fn end_service(&mut self) {
        if let Some(service) = self.service.take() {
            // The connection is closed: this does not block. The thread can't panic, and nothing depends on it.
            let _ = service.join();
        }
        self.frames.close();
    }

    /// Why creating the stage failed.
    fn why(&self, status: abi::Status) -> CreateError {
        let text = match (&self.death, self.host.take_error()) {
            (Some(death), _) => death.text.clone(),
            (None, Some((abi::BAD_CONFIG, text))) if status == abi::BAD_CONFIG => {
                return CreateError::BadConfig(text);
            }
            (None, Some((_, text))) => text,
            (None, None) => "it created no stage and gave no reason".to_owned(),
        };
        CreateError::Failed(text)
    }
}

impl StageInstance for IsolatedStage {
    fn activate(&mut self, run: &dyn RunContext) -> Result<(), CreateError> {
        let sent = self.wire.send(&ToStage::Activate, b"", &[]);
        let status = sent.and_then(|()| self.wait_ready(run));
        match (self.end_call(status), &self.death) {
            (0.., _) => Ok(()),
            (_, Some(death)) => Err(CreateError::Failed(death.text.clone())),
            (status, None) => Err(CreateError::of_activation(status, &self.host)),
        }
    }

    unsafe fn process(&mut self, process: &abi::Process) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        self.process.child.start_call();
        // SAFETY: the caller guarantees the same.
        let status = unsafe { self.work(process) };
        let status = match self.process.child.end_call() {
            true => status,
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        };
        self.end_call(status)
    }

    fn reset(&mut self) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        self.process.child.start_call();
        let sent = self.wire.send(&ToStage::Reset, b"", &[]);
        let status = sent.and_then(|()| Ok(self.run_call(None)?.status));
        let status = match self.process.child.end_call() {
            true => status,
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        };
        self.end_call(status)
    }

    fn destroy(mut self: Box<Self>) {
        if self.death.is_some() {
            return;
        }
        let done = self.clean_up();
        let stage = self.host.name();
        match done {
            Ok(Some((ToHost::Done { .. }, _))) => {
                self.process.child.wait(CLEAN_UP_TIMEOUT);
            }
            _ => tracing::warn!(stage, "its process did not clean up, and was killed"),
        }
    }

    fn host(&self) -> &Host {
        &self.host
    }

    fn has_state(&mut self, limits: &Limits<'_>) -> Result<bool, String> {
        state::ask_has_state(self, limits)
    }

    fn save(&mut self, limits: &Limits<'_>) -> Result<Option<State>, String> {
        state::ask_save(self, limits)
    }

    fn load(&mut self, state: &State, limits: &Limits<'_>) -> Result<bool, String> {
        state::ask_load(self, state, limits)
    }

    fn stage_process(&self) -> Option<Arc<dyn StageProcess>> {
        Some(self.process.clone())
    }

    fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }
}

impl StageProcess for IsolatedProcess {
    fn id(&self) -> u32 {
        self.child.id()
    }

    fn resident_bytes(&self) -> Option<(&str, u64)> {
        let bytes = resident_bytes(self.child.id())?;
        // Its id may belong to another process once it has ended.
        (!self.child.has_ended()).then_some((&self.stage, bytes))
    }

    fn is_busy(&self) -> bool {
        self.child.is_busy()
    }

    fn kill(&self, why: &str) {
        self.child.kill(why);
    }

    fn set_mode(&self, mode: Mode) {
        self.control.set_mode(mode as u32);
    }

    fn set_call(&self, call: u64) {
        self.control.set_call(call);
    }

    fn set_cancelled(&self, cancelled: u64) {
        self.control.set_cancelled(cancelled);
    }
}

impl Drop for IsolatedStage {
    fn drop(&mut self) {
        self.process.child.end();
        self.process.child.wait_with_output(CLEAN_UP_TIMEOUT);
        self.end_service();
    }
}

/// Logs gaps of a stage's confinement, once for each plugin.
fn warn_of_confinement(found: &Found) {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    confinement::warn_of_gaps();
    let plugin = &found.manifest.name;
    if found.manifest.effects.is_unknown() && lock(&WARNED).insert(plugin.clone()) {
        tracing::warn!(
            plugin,
            "its manifest declares no effects: isolated, it may still do whatever its user may"
        );
    }
}

/// The least important level that is logged.
fn most_verbose() -> abi::Level {
    use tracing::level_filters::LevelFilter;
    let level = LevelFilter::current();
    [
        (LevelFilter::TRACE, abi::LEVEL_TRACE),
        (LevelFilter::DEBUG, abi::LEVEL_DEBUG),
        (LevelFilter::INFO, abi::LEVEL_INFO),
        (LevelFilter::WARN, abi::LEVEL_WARN),
        (LevelFilter::ERROR, abi::LEVEL_ERROR),
    ]
    .into_iter()
    .find_map(|(of, number)| (of == level).then_some(number))
    .unwrap_or(0)
}
