//! One call of a stage in a process of its own: what is said until it is done.

use std::ffi::CString;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;

use flowpipe_abi as abi;
use flowpipe_host::call::{CallContext, CallHandle};
use flowpipe_host::frame::Frame;

use crate::frame_table::Lent;
use crate::protocol::{Message, Process, ToHost, ToStage};
use crate::stage::IsolatedStage;

/// What a stage said when it had done what it was told.
pub(super) struct Reply {
    pub status: abi::Status,
    /// What it remembers, where that was asked for: the format and the JSON, as they came.
    pub state: Option<(String, Vec<u8>)>,
}

impl IsolatedStage {
    /// Sends the work and answers what comes until it is done.
    ///
    /// # Safety
    /// As for [`StageInstance::process`](flowpipe_host::instance::StageInstance::process).
    pub(super) unsafe fn work(&mut self, process: &abi::Process) -> io::Result<abi::Status> {
        // SAFETY: by the contract above, all pointers are null or living.
        let (message, context) = unsafe {
            (
                process.message.as_ref(),
                CallHandle::from_abi(process.context),
            )
        };
        let recorded = context.and_then(CallContext::recorded_cancellation);
        self.process.control.begin(recorded);
        let mut lent: Option<Lent> = None;
        let mut body: &[u8] = b"";
        let told = match message {
            None => None,
            Some(message) => {
                // SAFETY: as above; the body has json_length bytes.
                body = unsafe {
                    std::slice::from_raw_parts(message.json.cast::<u8>(), message.json_length)
                };
                // SAFETY: as above; the reference stays the caller's.
                let frame = unsafe { ManuallyDrop::new(Frame::from_abi(message.frame)) };
                if let Some(frame) = &*frame {
                    // One that a library made outside of any run lies elsewhere.
                    let frame = match frame.block() {
                        Some(_) => Some(frame.clone()),
                        None => frame.copy(self.host.pool(), self.host.owner()),
                    };
                    let shared = frame.and_then(|frame| self.frames.lend(frame));
                    let short = || io::Error::other("there is no memory for its picture");
                    lent = Some(shared.ok_or_else(short)?);
                }
                // SAFETY: as above.
                Some(unsafe { told(message, lent.as_ref()) })
            }
        };
        let process = ToStage::Process(Box::new(Process {
            event: process.event,
            message: told,
            clock: self.host.stage_clock().take_loaded(),
            forget: self.frames.forget(),
        }));
        let block = lent.as_ref().and_then(|(_, block)| block.as_ref());
        let files: Vec<BorrowedFd<'_>> = block.iter().map(|block| block.file()).collect();
        self.wire.send(&process, body, &files)?;
        let keeps = context.map(|context| (context, lent.map(|(frame, _)| frame.handle)));
        let done = self.converse(keeps);
        if let (Err(_), Some(context)) = (&done, context) {
            // A call that does not come back is written down too, with what the stage was told in it.
            self.catch_up(context);
        }
        done.map(|told| told.status)
    }

    /// Takes over what the stage has asked in this call so far.
    fn catch_up(&self, context: &dyn CallContext) {
        let (asked, told) = self.process.control.asked();
        context.catch_up(asked, told);
    }

    /// Answers what comes until what was asked is done.
    pub(super) fn converse(
        &mut self,
        of: Option<(&dyn CallContext, Option<u64>)>,
    ) -> io::Result<Reply> {
        loop {
            if let Some(told) = self.hear(of)? {
                return Ok(told);
            }
        }
    }

    /// Answers what comes next. `Some`: what was asked is done.
    pub(super) fn hear(
        &mut self,
        of: Option<(&dyn CallContext, Option<u64>)>,
    ) -> io::Result<Option<Reply>> {
        let Some((said, body)) = self.wire.receive::<ToHost>()? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if let Some((context, _)) = of {
            self.catch_up(context);
        }
        let status = match (said, of) {
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
                    self.frames.take_back(handle);
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
            // Outside of `process` there is nothing to answer.
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
        said: ToHost,
        body: &[u8],
    ) -> io::Result<abi::Status> {
        let ToHost::Emit {
            port,
            schema,
            has_json,
            frame,
            is_written,
            captured_ns,
            sound,
        } = said
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
        Ok(context.emit(sound.then_some(&output)))
    }
}

/// # Safety
/// The message and all that it points at lives.
unsafe fn told(message: &abi::Message, lent: Option<&Lent>) -> Message {
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
    Message {
        port: message.port,
        schema: schema.to_string_lossy().into_owned(),
        sequence: lineage.sequence,
        frame_sequence: lineage.frame_sequence,
        captured_ns: lineage.captured_ns,
        hops: hops
            .iter()
            .map(|hop| (hop.stage, hop.taken_ns, hop.emitted_ns))
            .collect(),
        frame: lent.map(|(frame, _)| *frame),
    }
}
