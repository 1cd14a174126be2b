//! One call of a stage in its own process: the packets until it returns.

use std::ffi::CString;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;

use flowpipe_abi as abi;
use flowpipe_host::call::{CallContext, CallHandle};
use flowpipe_host::frame::Frame;

use crate::frame_table::SharedFrame;
use crate::protocol::{ProcessCall, ToHost, ToStage, WireMessage};
use crate::stage::IsolatedStage;

/// The result of a call.
pub(super) struct Reply {
    pub status: abi::Status,
    /// The saved state, after [`ToStage::Save`]: the format and the JSON, unchecked.
    pub state: Option<(String, Vec<u8>)>,
}

impl IsolatedStage {
    /// Sends a `process` call and handles the stage's packets until it returns.
    ///
    /// # Safety
    /// As for [`StageInstance::process`](flowpipe_host::instance::StageInstance::process).
    pub(super) unsafe fn work(&mut self, process: &abi::Process) -> io::Result<abi::Status> {
        // SAFETY: by the contract above, all pointers are null or valid.
        let (message, context) = unsafe {
            (
                process.message.as_ref(),
                CallHandle::from_abi(process.context),
            )
        };
        let recorded = context.and_then(CallContext::recorded_cancellation);
        self.process.control.reset(recorded);
        let mut shared: Option<SharedFrame> = None;
        let mut body: &[u8] = b"";
        let wire = match message {
            None => None,
            Some(message) => {
                // SAFETY: as above; the body has json_length bytes.
                body = unsafe {
                    std::slice::from_raw_parts(message.json.cast::<u8>(), message.json_length)
                };
                // SAFETY: as above; the reference stays the caller's.
                let frame = unsafe { ManuallyDrop::new(Frame::from_abi(message.frame)) };
                if let Some(frame) = &*frame {
                    // A frame that a library created outside of any run is not in shared memory.
                    let frame = match frame.block() {
                        Some(_) => Some(frame.clone()),
                        None => frame.copy(self.host.pool(), self.host.owner()),
                    };
                    let short = || {
                        io::Error::new(
                            io::ErrorKind::OutOfMemory,
                            "there is no memory for its frame",
                        )
                    };
                    shared = Some(self.frames.share(frame.ok_or_else(short)?)?);
                }
                // SAFETY: as above.
                Some(unsafe { to_wire(message, shared.as_ref()) })
            }
        };
        let process = ToStage::Process(Box::new(ProcessCall {
            event: process.event,
            message: wire,
            clock: self.host.stage_clock().take_loaded(),
            forget: self.frames.take_freed(),
        }));
        let block = shared.as_ref().and_then(|(_, block)| block.as_ref());
        let files: Vec<BorrowedFd<'_>> = block.iter().map(|block| block.file()).collect();
        self.wire.send(&process, body, &files)?;
        let keeps = context.map(|context| (context, shared.map(|(frame, _)| frame.handle)));
        let done = self.run_call(keeps);
        if let (Err(_), Some(context)) = (&done, context) {
            // A call that does not return is recorded too, with the cancellation that the stage got.
            self.catch_up(context);
        }
        done.map(|reply| reply.status)
    }

    /// Copies the stage's polls of this call so far to the call's context.
    fn catch_up(&self, context: &dyn CallContext) {
        let (polls, cancelled) = self.process.control.polled();
        context.catch_up(polls, cancelled);
    }

    /// Handles the stage's packets until the call returns. `of`: the context of a `process` call, and its frame's
    /// handle.
    pub(super) fn run_call(
        &mut self,
        of: Option<(&dyn CallContext, Option<u64>)>,
    ) -> io::Result<Reply> {
        loop {
            if let Some(reply) = self.handle_next(of)? {
                return Ok(reply);
            }
        }
    }

    /// Handles the next packet. `Some`: the call has returned.
    pub(super) fn handle_next(
        &mut self,
        of: Option<(&dyn CallContext, Option<u64>)>,
    ) -> io::Result<Option<Reply>> {
        let Some((packet, body)) = self.wire.receive::<ToHost>()? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if let Some((context, _)) = of {
            self.catch_up(context);
        }
        let status = match (packet, of) {
            (
                ToHost::Done {
                    status,
                    error,
                    clock,
                    keeps_frame,
                    state,
                },
                _,
            ) => {
                if let Some(handle) = of.and_then(|(_, handle)| handle)
                    && !keeps_frame
                {
                    self.frames.release(handle);
                }
                if let Some((code, text)) = error {
                    self.host.note_error(code, self.confinement.explain(text));
                }
                self.host.stage_clock().add(clock);
                return Ok(Some(Reply {
                    status,
                    state: state.map(|format| (format, body)),
                }));
            }
            (ToHost::Mark { name, at_ns }, Some((context, _))) => {
                context.mark(&name, Some(at_ns));
                return Ok(None);
            }
            (ToHost::Wait { deadline_ns }, Some((context, _))) => context.wait_until(deadline_ns),
            (emit @ ToHost::Emit { .. }, Some((context, _))) => self.emit(context, emit, &body)?,
            // Outside of `process` the stage may send no requests.
            (_, None) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it emits, marks or waits outside of process",
                ));
            }
        };
        self.wire.send(&ToStage::Status(status), b"", &[])?;
        Ok(None)
    }

    fn emit(
        &self,
        context: &dyn CallContext,
        packet: ToHost,
        body: &[u8],
    ) -> io::Result<abi::Status> {
        let ToHost::Emit {
            port,
            schema,
            has_json,
            frame,
            is_written,
            captured_ns,
            is_complete,
        } = packet
        else {
            return Ok(abi::ERROR);
        };
        let schema = schema.map(CString::new).transpose()?;
        let frame = match frame {
            None => None,
            Some(handle) => {
                let host = &self.host;
                let emitted = self
                    .frames
                    .emit(handle, is_written, host.pool(), host.owner());
                Some(emitted?)
            }
        };
        let output = abi::Output {
            struct_size: size_of::<abi::Output>() as u32,
            port,
            schema: schema
                .as_ref()
                .map_or(std::ptr::null(), |schema| schema.as_ptr()),
            json: match has_json {
                true => body.as_ptr().cast(),
                false => std::ptr::null(),
            },
            json_length: body.len(),
            frame: frame
                .as_ref()
                .map_or(std::ptr::null_mut(), |frame| frame.as_abi()),
            captured_ns,
        };
        Ok(context.emit(is_complete.then_some(&output)))
    }
}

/// # Safety
/// The message and all that it points at is valid.
unsafe fn to_wire(message: &abi::Message, shared: Option<&SharedFrame>) -> WireMessage {
    // SAFETY: by the contract above; the schema is NUL-terminated, and there are hop_count hops.
    let (schema, lineage, hops) = unsafe {
        let lineage = &*message.lineage;
        (
            std::ffi::CStr::from_ptr(message.schema),
            lineage,
            match lineage.hop_count {
                0 => &[][..],
                count => std::slice::from_raw_parts(lineage.hops, count as usize),
            },
        )
    };
    WireMessage {
        port: message.port,
        schema: schema.to_string_lossy().into_owned(),
        sequence: lineage.sequence,
        frame_sequence: lineage.frame_sequence,
        captured_ns: lineage.captured_ns,
        hops: hops
            .iter()
            .map(|hop| (hop.stage, hop.taken_ns, hop.emitted_ns))
            .collect(),
        frame: shared.map(|(frame, _)| *frame),
    }
}
