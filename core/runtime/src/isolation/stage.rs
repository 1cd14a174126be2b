//! A stage in a process of its own, as the host sees it: what [`crate::plugin::instance::Instance`] is made of then.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_abi as abi;
use serde_json::Value;

use crate::confinement::{self, Confinement};
use crate::isolation::Program;
use crate::isolation::held::Held;
use crate::isolation::page::Page;
use crate::isolation::process::{self, Death, Ends, Lifeline};
use crate::isolation::service;
use crate::isolation::talk::Told;
use crate::isolation::wire::{Packet, Wire};
use crate::isolation::words::{Create, ToHost, ToStage};
use crate::plugin::catalogue::Found;
use crate::plugin::host::Host;
use crate::run::shared::{Mode, Shared};
use crate::sync::lock;

/// The host's side of it.
pub(crate) struct Apart {
    pub(super) wire: Wire,
    lifeline: Arc<Lifeline>,
    pub(super) held: Arc<Held>,
    pub(super) page: Arc<Page>,
    service: Option<JoinHandle<()>>,
    pub(super) host: Arc<Host>,
    pub(super) confinement: Confinement,
    death: Option<Death>,
}

/// What is needed to start one.
pub(crate) struct Start<'a> {
    pub program: &'a Program,
    pub run: &'a Shared,
    /// From this mode on its work is cancelled.
    pub cancels_from: Mode,
}

/// How long a process may take to load its library and to make its stage.
const READY: Duration = Duration::from_secs(60);
/// How long it may take to clean up.
const CLEAN_UP: Duration = Duration::from_secs(5);
/// How often whoever waits looks whether the run is aborted.
const LOOK: Duration = Duration::from_millis(20);

impl Apart {
    /// Starts a process and makes a stage there. The error says why it can't be.
    pub(crate) fn create(
        found: &Found,
        config: &Value,
        host: Arc<Host>,
        start: &Start<'_>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its process can't be started: {error}");
        let library = found.file.whereabouts()?;
        let confinement = Confinement::of(&found.manifest, config);
        tell_of_confinement(found);
        let page = Arc::new(Page::new(start.cancels_from as u32).map_err(failed)?);
        let (lifeline, ends) = process::start(start.program, host.name()).map_err(failed)?;
        let Ends {
            call,
            side,
            their_side,
        } = ends;
        start.run.tell_mode(&page);
        let held = Arc::new(Held::new());
        let lifeline = Arc::new(lifeline);
        let service = {
            let (held, host, lifeline) = (held.clone(), host.clone(), lifeline.clone());
            std::thread::Builder::new()
                .name(format!("{}/side", host.name()))
                .spawn(move || service::serve(side, &held, &host, &lifeline))
                .map_err(failed)?
        };
        let mut apart = Self {
            wire: call,
            lifeline,
            held,
            page,
            service: Some(service),
            host,
            confinement,
            death: None,
        };
        let create = ToStage::Create(Box::new(Create {
            stage: apart.host.name().to_owned(),
            library: found.path.clone(),
            is_replaced: library.is_some(),
            index: found.index,
            manifest: found.manifest_text().to_owned(),
            began_ns: apart.host.clock().began_ns(),
            tape: apart.host.tape().told_to_another(),
            level: most_verbose(),
            dry: start.run.dry,
            confinement: apart.confinement.clone(),
        }));
        let files = [their_side.as_fd(), apart.page.file()];
        let files: Vec<_> = files.into_iter().chain(library).collect();
        let sent = apart
            .wire
            .send(&create, config.to_string().as_bytes(), &files);
        drop(files);
        drop(their_side);
        let status = sent.and_then(|()| apart.wait_ready(start.run));
        match apart.end_call(status) {
            abi::OK => Ok(apart),
            status => Err(apart.why(status)),
        }
    }

    /// Gets it ready.
    pub(crate) fn activate(&mut self, run: &Shared) -> abi::Status {
        let sent = self.wire.send(&ToStage::Activate, b"", &[]);
        let status = sent.and_then(|()| self.wait_ready(run));
        self.end_call(status)
    }

    /// Lets it work. [stage-thread]
    pub(crate) fn process(&mut self, process: &abi::Process) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        self.lifeline.begins();
        let status = self.work(process);
        let status = match self.lifeline.ends() {
            true => status,
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        };
        self.end_call(status)
    }

    /// Makes it forget what earlier messages left behind. [stage-thread]
    pub(crate) fn reset(&mut self) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        self.lifeline.begins();
        let sent = self.wire.send(&ToStage::Reset, b"", &[]);
        let status = sent.and_then(|()| Ok(self.converse(None)?.status));
        let status = match self.lifeline.ends() {
            true => status,
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        };
        self.end_call(status)
    }

    /// Lets it clean up, and ends its process.
    pub(crate) fn destroy(mut self) {
        if self.death.is_some() {
            return;
        }
        let done = self.clean_up();
        let stage = self.host.name();
        match done {
            Ok(Some((ToHost::Done { .. }, _))) => {
                self.lifeline.wait(CLEAN_UP);
            }
            _ => tracing::warn!(stage, "its process did not clean up, and was killed"),
        }
    }

    fn clean_up(&mut self) -> io::Result<Option<Packet<ToHost>>> {
        self.wire.wait_until(Some(Instant::now() + CLEAN_UP))?;
        self.wire.send_within(CLEAN_UP)?;
        self.wire.send(&ToStage::Destroy, b"", &[])?;
        self.wire.receive::<ToHost>()
    }

    /// The number of its process.
    pub(crate) fn process_id(&self) -> u32 {
        self.lifeline.id()
    }

    /// How its process ended, if it has.
    pub(crate) fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }

    pub(crate) fn lifeline(&self) -> &Arc<Lifeline> {
        &self.lifeline
    }

    pub(crate) fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Waits until it is made or active.
    fn wait_ready(&mut self, run: &Shared) -> io::Result<abi::Status> {
        let late = || format!("it is not ready after {READY:?}");
        let told = self.wait_for(run, READY, late)?;
        Ok(told.status)
    }

    /// Waits until it has done what it was told, outside of the stage's thread. It is killed when that takes longer than
    /// `limit`, for a reason that `late` puts into words, or when the run is aborted meanwhile.
    pub(super) fn wait_for(
        &mut self,
        run: &Shared,
        limit: Duration,
        late: impl Fn() -> String,
    ) -> io::Result<Told> {
        let began = Instant::now();
        loop {
            self.wire.wait_until(Some(Instant::now() + LOOK))?;
            match self.hear(None) {
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(Some(told)) => {
                    self.wire.wait_until(None)?;
                    return Ok(told);
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

    /// Kills it because it does not do what it was told.
    pub(super) fn kill(&self, why: &str) -> io::Error {
        self.lifeline.begins();
        self.lifeline.kill(why);
        io::ErrorKind::ConnectionAborted.into()
    }

    /// What a call says that came back, or did not.
    fn end_call(&mut self, status: io::Result<abi::Status>) -> abi::Status {
        match status {
            Ok(status) => status,
            Err(error) => {
                self.bury(&error);
                abi::ERROR
            }
        }
    }

    /// After a call that did not come back its process is no more.
    pub(super) fn bury(&mut self, error: &io::Error) -> &Death {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                self.lifeline.condemn(&error.to_string());
            }
            io::ErrorKind::TimedOut => {
                self.kill(&error.to_string());
            }
            _ => {}
        }
        let death = self.lifeline.bury();
        self.end_service();
        self.death.insert(death)
    }

    /// Nothing of the process is left when this returns.
    fn end_service(&mut self) {
        if let Some(service) = self.service.take() {
            // Its connection is closed: this does not wait. It can't panic, and nothing depends on it.
            let _ = service.join();
        }
        self.held.close();
    }

    /// Why making or activating failed, in words.
    fn why(&self, status: abi::Status) -> String {
        match (&self.death, self.host.take_error()) {
            (Some(death), _) => death.text.clone(),
            (None, Some((abi::BAD_CONFIG, text))) if status == abi::BAD_CONFIG => {
                format!("the config can't be used: {text}")
            }
            (None, Some((_, text))) => text,
            (None, None) => "it made no stage and did not say why".to_owned(),
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.lifeline.end();
        self.lifeline.wait(CLEAN_UP);
        self.lifeline.finish_output();
        self.end_service();
    }
}

/// Logs what the user should know of how a stage is confined, once.
fn tell_of_confinement(found: &Found) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    confinement::warn_of_gaps();
    let plugin = &found.manifest.name;
    if found.manifest.effects.is_unknown() && lock(&TOLD).insert(plugin.clone()) {
        tracing::warn!(
            plugin,
            "its manifest declares no effects: isolated, it may still do whatever its user may"
        );
    }
}

/// The least important level that the log takes.
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
