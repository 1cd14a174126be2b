//! An instance on another machine, as an instance here.

use std::ffi::{CStr, CString};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_host::call::{CallContext, CallHandle};
use flowpipe_host::frame::Frame;
use flowpipe_host::instance::{CreateError, Death, Instance, Limits, StageInstance, State};
use flowpipe_host::run::{RunContext, StageProcess};
use flowpipe_host::table::Host;

use crate::run::worker_call::{
    Polls, WorkerCall, WorkerDone, WorkerMessage, WorkerOutput, WorkerReply,
};

/// The connection to an instance on another machine.
pub trait WorkerConnection: Send {
    /// Starts a call.
    ///
    /// # Errors
    /// When it can't.
    fn call(&mut self, call: WorkerCall) -> Result<(), WorkerFault>;

    /// Starts a reset.
    ///
    /// # Errors
    /// When it can't.
    fn reset(&mut self) -> Result<(), WorkerFault>;

    /// Waits for what the instance does next.
    ///
    /// # Errors
    /// When nothing comes any more.
    fn receive(&mut self) -> Result<(WorkerReply, Polls), WorkerFault>;

    /// Answers an emission or a wait.
    ///
    /// # Errors
    /// When it can't.
    fn answer(&mut self, status: abi::Status) -> Result<(), WorkerFault>;

    /// Ends a call, unless the instance was killed in it.
    ///
    /// # Errors
    /// When it was killed.
    fn end_call(&mut self) -> Result<(), WorkerFault>;

    /// Destroys the instance.
    fn destroy(&mut self);

    /// What stands for its process: that the calls are on another machine.
    fn process(&self) -> Arc<dyn StageProcess>;
}

/// Why a call does not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerFault {
    /// The instance is lost.
    Died(Death),
    /// The message of the call can't be sent, for this reason. The instance goes on.
    Unsent(String),
}

/// An instance on another machine.
pub struct WorkerProxy {
    connection: Box<dyn WorkerConnection>,
    host: Arc<Host>,
    death: Option<Death>,
}

impl WorkerProxy {
    /// `host`: that of the stage here.
    #[must_use]
    pub fn instance(connection: Box<dyn WorkerConnection>, host: Arc<Host>) -> Instance {
        Box::new(Self {
            connection,
            host,
            death: None,
        })
    }

    /// The status of a call.
    fn end(&mut self, result: Result<abi::Status, WorkerFault>) -> abi::Status {
        let result = match (result, self.connection.end_call()) {
            (Ok(_), Err(fault)) => Err(fault),
            (result, _) => result,
        };
        match result {
            Ok(status) => status,
            Err(WorkerFault::Unsent(why)) => {
                self.host.note_error(abi::ERROR, why);
                abi::ERROR
            }
            Err(WorkerFault::Died(death)) => {
                self.death = Some(death);
                abi::ERROR
            }
        }
    }

    /// Handles what the instance does until its call returns.
    fn run_call(&mut self, context: Option<&dyn CallContext>) -> Result<abi::Status, WorkerFault> {
        loop {
            let (reply, polls) = self.connection.receive()?;
            if let Some(context) = context {
                context.catch_up(polls.count, polls.cancelled);
            }
            let status = match (reply, context) {
                (WorkerReply::Done(done), _) => return self.done(done),
                (WorkerReply::Mark { name, at_ns }, Some(context)) => {
                    context.mark(&name, Some(at_ns));
                    continue;
                }
                (WorkerReply::Emit(output), Some(context)) => emit(context, output.as_ref()),
                (WorkerReply::Wait { deadline_ns }, Some(context)) => {
                    context.wait_until(deadline_ns)
                }
                (WorkerReply::Mark { .. }, None) => continue,
                (_, None) => abi::STOPPED,
            };
            self.connection.answer(status)?;
        }
    }

    fn done(&self, done: WorkerDone) -> Result<abi::Status, WorkerFault> {
        self.host.stage_clock().add(done.clock);
        if let Some((code, text)) = done.error {
            self.host.note_error(code, text);
        }
        match done.death {
            None => Ok(done.status),
            Some(death) => Err(WorkerFault::Died(death)),
        }
    }
}

impl StageInstance for WorkerProxy {
    fn activate(&mut self, _: &dyn RunContext) -> Result<(), CreateError> {
        // The other machine has created and activated it.
        Ok(())
    }

    unsafe fn process(&mut self, process: &abi::Process) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        // SAFETY: the caller guarantees that all pointers are null or valid.
        let (message, context) = unsafe {
            (
                process.message.as_ref().map(|it| copied(it)),
                CallHandle::from_abi(process.context),
            )
        };
        let call = WorkerCall {
            event: process.event,
            message,
        };
        let called = self.connection.call(call);
        let result = called.and_then(|()| self.run_call(context));
        self.end(result)
    }

    fn reset(&mut self) -> abi::Status {
        if self.death.is_some() {
            return abi::ERROR;
        }
        let called = self.connection.reset();
        let result = called.and_then(|()| self.run_call(None));
        self.end(result)
    }

    fn destroy(mut self: Box<Self>) {
        self.connection.destroy();
    }

    fn host(&self) -> &Host {
        &self.host
    }

    // A run on several machines can't be changed while it runs.

    fn has_state(&mut self, _: &Limits<'_>) -> Result<bool, String> {
        Ok(false)
    }

    fn save(&mut self, _: &Limits<'_>) -> Result<Option<State>, String> {
        Ok(None)
    }

    fn load(&mut self, _: &State, _: &Limits<'_>) -> Result<bool, String> {
        Ok(false)
    }

    fn stage_process(&self) -> Option<Arc<dyn StageProcess>> {
        Some(self.connection.process())
    }

    fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }
}

/// Copies a message. The frame keeps its memory.
///
/// # Safety
/// The message and all that it points at is valid.
unsafe fn copied(message: &abi::Message) -> WorkerMessage {
    // SAFETY: by the contract above; the schema is NUL-terminated, there are json_length bytes and hop_count hops, and
    // the reference to the frame stays the caller's.
    let (schema, json, lineage, hops, frame) = unsafe {
        let lineage = &*message.lineage;
        let frame = ManuallyDrop::new(Frame::from_abi(message.frame));
        (
            CStr::from_ptr(message.schema),
            std::slice::from_raw_parts(message.json.cast::<u8>(), message.json_length),
            lineage,
            match lineage.hop_count {
                0 => &[][..],
                count => std::slice::from_raw_parts(lineage.hops, count as usize),
            },
            (*frame).clone(),
        )
    };
    WorkerMessage {
        port: message.port,
        schema: schema.to_string_lossy().into_owned(),
        json: json.to_vec(),
        frame,
        sequence: lineage.sequence,
        frame_sequence: lineage.frame_sequence,
        captured_ns: lineage.captured_ns,
        hops: hops.to_vec(),
    }
}

/// Emits what an instance has sent. It is checked as what a plugin here emits.
fn emit(context: &dyn CallContext, output: Option<&WorkerOutput>) -> abi::Status {
    let Some(output) = output else {
        return context.emit(None);
    };
    let Ok(schema) = output.schema.as_deref().map(CString::new).transpose() else {
        return context.emit(None);
    };
    let schema = schema.as_ref();
    let json = output.json.as_deref();
    let frame = output.frame.as_ref();
    let output = abi::Output {
        struct_size: size_of::<abi::Output>() as u32,
        port: output.port,
        schema: schema.map_or(std::ptr::null(), |schema| schema.as_ptr()),
        json: json.map_or(std::ptr::null(), |json| json.as_ptr().cast()),
        json_length: json.map_or(0, <[u8]>::len),
        frame: frame.map_or(std::ptr::null_mut(), Frame::as_abi),
        captured_ns: output.captured_ns,
    };
    context.emit(Some(&output))
}
