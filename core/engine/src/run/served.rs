//! Workers of stages whose messages another machine distributes, as the machine that runs them sees them.
//!
//! The instances are those that the pipeline file here describes: the other machine can choose neither plugins nor
//! configs. Its calls are validated, as messages of other machines are.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_config::pipeline::{Pipeline, PortRef, Stage};
use flowpipe_host::call::{CallContext, CallHandle, Cancellation};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::clock::Clock;
use flowpipe_host::frame::Frame;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::instance::{CreateError, Instance};
use flowpipe_host::message::{Hops, Lineage, Message, Origin};
use flowpipe_host::run::{RunContext, StageProcess};
use flowpipe_host::stage_clock::{ClockSource, StageClock};
use flowpipe_host::table::{Host, Services};
use flowpipe_isolation::Program;
use flowpipe_sync::lock;

use crate::edge::fed_input::InputPort;
use crate::run::create::{Creation, create_instance};
use crate::run::distributed::WorkerPlace;
use crate::run::remote;
use crate::run::worker_call::{Polls, WorkerCall, WorkerDone, WorkerMessage, WorkerOutput};

/// An instance whose calls come from another machine.
pub struct ServedInstance {
    instance: Instance,
    /// How many stages the pipeline has.
    stages: usize,
}

/// What an instance does in a call.
pub trait ServedCall: Sync {
    /// It emits a message. `None`: nothing, or an output that is too short.
    fn emit(&self, output: Option<WorkerOutput>) -> abi::Status;

    /// Whether its work is cancelled. Any thread calls it.
    fn is_cancelled(&self) -> bool;

    /// It marks the message. `at_ns`: when, if not now.
    fn mark(&self, name: &str, at_ns: Option<i64>);

    /// It waits until this time, or until the work is cancelled.
    fn wait_until(&self, deadline_ns: i64) -> abi::Status;

    /// Its process has asked so often whether it is cancelled.
    fn catch_up(&self, polls: Polls);
}

/// [`ServedCall`] as the context of a call.
struct ServedContext<'a>(&'a dyn ServedCall);

/// Creates instances of distributed stages.
pub struct WorkerHost {
    stages: Vec<Stage>,
    /// By stage and plugin.
    found: Vec<Vec<Found>>,
    clock: Clock,
    pool: Arc<Pool>,
    program: Option<Program>,
    /// Locked while a plugin is in a `[control-thread]` call.
    calls: Mutex<()>,
}

impl WorkerHost {
    /// `clock`: that of the run here. `program`: how to start processes for isolated stages.
    #[must_use]
    pub fn new(
        pipeline: &Pipeline,
        catalogue: &Catalogue,
        clock: Clock,
        program: Option<Program>,
    ) -> Self {
        let found = |stage: &Stage| {
            let plugins = stage.contestants.iter();
            let found = plugins.map(|it| Some(catalogue.find(&it.plugin)?.with_config(&it.config)));
            // The run here does not start without all of them.
            found.collect::<Option<_>>().unwrap_or_default()
        };
        Self {
            found: pipeline.stages.iter().map(found).collect(),
            stages: pipeline.stages.clone(),
            clock,
            pool: Pool::new(pipeline.stages.len()),
            program,
            calls: Mutex::default(),
        }
    }

    /// How many plugins each worker of a stage has. 0: there is no such stage.
    #[must_use]
    pub fn plugins(&self, stage: usize) -> usize {
        self.found.get(stage).map_or(0, Vec::len)
    }

    /// The name of a stage.
    #[must_use]
    pub fn name(&self, stage: usize) -> &str {
        self.stages.get(stage).map_or("?", |stage| &stage.name)
    }

    /// The frames of its instances.
    #[must_use]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Whether an input of a stage takes messages of a schema with this content.
    #[must_use]
    pub fn takes(
        &self,
        place: WorkerPlace,
        port: usize,
        schema: &CStr,
        content: Content<'_>,
    ) -> bool {
        let found = self.found.get(place.stage);
        let found = found.and_then(|plugins| plugins.get(place.plugin));
        let input = found.and_then(|found| found.manifest.inputs.get(port));
        input.is_some_and(|input| InputPort::new(input).takes(schema, content))
    }

    /// Creates and activates an instance. Call it while [`Self::control_calls`] are locked. `run`: the run of the machine
    /// that distributes the messages.
    ///
    /// # Errors
    /// When it fails to start.
    pub fn create(
        &self,
        place: WorkerPlace,
        clock: &ClockSource,
        run: &Arc<dyn RunContext>,
    ) -> Result<ServedInstance, CreateError> {
        let missing = || CreateError::Failed("the pipeline has no such worker".to_owned());
        let stage = self.stages.get(place.stage).ok_or_else(missing)?;
        let found = self.found.get(place.stage);
        let found = found.and_then(|plugins| plugins.get(place.plugin));
        let found = found.ok_or_else(missing)?;
        let contestant = stage.contestants.get(place.plugin).ok_or_else(missing)?;
        let services = Arc::new(Services {
            clock: self.clock,
            pool: self.pool.clone(),
            run: OnceLock::new(),
        });
        let weak: Weak<dyn RunContext> = Arc::downgrade(run);
        // The services are new: it is not set yet.
        let _ = services.run.set(weak);
        let owner = u32::try_from(place.stage).unwrap_or(u32::MAX);
        let stage_clock = StageClock::from_source(clock);
        let host = Host::new(&stage.name, owner, services, stage_clock);
        let creation = Creation {
            isolation: stage.isolation,
            is_source: false,
            program: self.program.as_ref(),
            pool: &self.pool,
            run: &**run,
        };
        let mut instance = create_instance(&creation, found, &contestant.config, host)?;
        if let Err(reason) = instance.activate(&**run) {
            instance.destroy();
            return Err(reason);
        }
        Ok(ServedInstance {
            instance,
            stages: self.stages.len(),
        })
    }

    /// The right to create and to destroy plugins in this process.
    pub fn control_calls(&self) -> MutexGuard<'_, ()> {
        lock(&self.calls)
    }
}

impl ServedInstance {
    /// Processes a call.
    ///
    /// # Errors
    /// When its message is malformed.
    pub fn process(
        &mut self,
        call: WorkerCall,
        context: &dyn ServedCall,
    ) -> Result<WorkerDone, String> {
        let message = call.message.map(|it| {
            let port = it.port;
            Ok::<_, String>((port, message(it, self.stages)?))
        });
        let message = message.transpose()?;
        let lineage = message.as_ref().map(|(_, it)| it.lineage.as_abi());
        let message = message.as_ref().zip(lineage.as_ref());
        let message = message.map(|((port, message), lineage)| message.as_abi(*port, lineage));
        let context = ServedContext(context);
        let handle = CallHandle::new(&context);
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event: call.event,
            message: message
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
            context: handle.as_abi(),
        };
        // SAFETY: the message and the handle outlive the call.
        let status = unsafe { self.instance.process(&process) };
        Ok(self.done(status))
    }

    /// Resets its state.
    pub fn reset(&mut self) -> WorkerDone {
        let status = self.instance.reset();
        self.done(status)
    }

    /// The result of its creation.
    #[must_use]
    pub fn created(&self) -> WorkerDone {
        self.done(abi::OK)
    }

    /// Its process, if it has its own.
    #[must_use]
    pub fn process_of(&self) -> Option<Arc<dyn StageProcess>> {
        self.instance.stage_process()
    }

    /// Destroys it.
    pub fn destroy(self) {
        self.instance.destroy();
    }

    fn done(&self, status: abi::Status) -> WorkerDone {
        let host = self.instance.host();
        WorkerDone {
            status,
            error: host.take_error(),
            clock: host.stage_clock().take(),
            death: self.instance.death().cloned(),
        }
    }
}

/// The message of a call, as a plugin gets it. It is checked as one that comes on an edge.
fn message(call: WorkerMessage, stages: usize) -> Result<Message, String> {
    remote::check_hops(&call.hops, stages)?;
    if !remote::is_number(call.sequence) {
        return Err(format!("no run has a message {}", call.sequence));
    }
    let is_origin = remote::is_number(call.frame_sequence) && remote::is_time(call.captured_ns);
    if call.frame_sequence > 0 && !is_origin {
        return Err("the frame that a message descends from is wrong".to_owned());
    }
    let schema = remote::text(&call.schema)?;
    let body = remote::document(&call.json)?;
    let origin = (call.frame_sequence > 0).then_some(Origin {
        stage: 0,
        sequence: call.frame_sequence,
        captured_ns: call.captured_ns,
    });
    Ok(Message {
        schema,
        body,
        frame: call.frame,
        lineage: Lineage {
            sequence: call.sequence,
            origin,
            captured: None,
            hops: Hops::from_slice(&call.hops),
            root: None,
        },
        // A plugin does not see it.
        source: PortRef { stage: 0, port: 0 },
    })
}

impl CallContext for ServedContext<'_> {
    fn emit(&self, output: Option<&abi::Output>) -> abi::Status {
        // SAFETY: the ABI demands null or a reference that the plugin holds and keeps, null or NUL-terminated text, and
        // null or json_length readable bytes.
        let output = output.map(|output| unsafe {
            let frame = ManuallyDrop::new(Frame::from_abi(output.frame));
            WorkerOutput {
                port: output.port,
                schema: (!output.schema.is_null())
                    .then(|| CStr::from_ptr(output.schema).to_string_lossy().into_owned()),
                json: (!output.json.is_null()).then(|| {
                    std::slice::from_raw_parts(output.json.cast::<u8>(), output.json_length)
                        .to_vec()
                }),
                frame: (*frame).clone(),
                captured_ns: output.captured_ns,
            }
        });
        self.0.emit(output)
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn mark(&self, name: &str, at_ns: Option<i64>) {
        self.0.mark(name, at_ns);
    }

    fn wait_until(&self, deadline_ns: i64) -> abi::Status {
        self.0.wait_until(deadline_ns)
    }

    fn recorded_cancellation(&self) -> Option<Option<Cancellation>> {
        None
    }

    fn catch_up(&self, count: u64, cancelled: Option<Cancellation>) {
        self.0.catch_up(Polls { count, cancelled });
    }
}
