//! The context of a `process` call: its message and its outputs.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;

use flowpipe_abi as abi;
use flowpipe_message::{FRAME, FrameNote};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::buffer::Buffer;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::host::Host;
use crate::parse::parse;

/// One call of `process`: emits, marks, and reports cancellation.
pub struct Context<'a> {
    host: Host,
    table: &'a abi::Host,
    raw: *mut abi::Context,
    /// Reused by every emit of the stage.
    buffer: &'a mut Vec<u8>,
}

/// An input message.
pub struct Message<'a> {
    host: Host,
    raw: &'a abi::Message,
    /// In a check: of the message that carried the frame that this one descends from, its schema and its body.
    captured: Option<(&'a CStr, &'a [u8])>,
    _borrowed: PhantomData<&'a ()>,
}

impl<'a> Context<'a> {
    /// # Safety
    /// The context is valid inside this call of `process`, which lasts for `'a`.
    pub(crate) unsafe fn new(
        host: Host,
        table: &'a abi::Host,
        raw: *mut abi::Context,
        buffer: &'a mut Vec<u8>,
    ) -> Self {
        Self {
            host,
            table,
            raw,
            buffer,
        }
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> Host {
        self.host
    }

    /// Whether the current work is cancelled. The token is valid during this call of `process`, on any thread.
    #[must_use]
    pub fn cancel(&self) -> Cancel<'a> {
        Cancel::of_context(self.table, self.raw)
    }

    /// Marks an event of that name now; see `mark` in `flowpipe.h`.
    pub fn mark(&mut self, name: &str) {
        // A name with a NUL can't be passed; the mark is dropped.
        if let Ok(name) = CString::new(name) {
            // SAFETY: host and context are valid inside process.
            unsafe { (self.table.mark)(self.table, self.raw, name.as_ptr()) }
        }
    }

    /// Waits until [`Host::now_ns`] reaches the deadline. The time counts neither as the stage's work
    /// nor towards its timeout.
    ///
    /// # Errors
    /// [`Error::cancelled`] as soon as the current work is cancelled.
    pub fn wait_until(&mut self, deadline_ns: i64) -> Result<()> {
        // SAFETY: host and context are valid inside process.
        let status = unsafe { (self.table.wait_until)(self.table, self.raw, deadline_ns) };
        if status == abi::OK {
            Ok(())
        } else {
            Err(Error::cancelled())
        }
    }

    /// Sends a message out of a port (an index among the stage's outputs). Waits while a blocking
    /// queue is full.
    ///
    /// # Errors
    /// [`Error::stopped`] when no stage receives it any more, and when the host refuses the message.
    pub fn emit<T: Serialize>(&mut self, port: usize, body: &T) -> Result<()> {
        self.emit_with(port, body, None, 0)
    }

    /// Sends a message with pixels. `captured_ns`: when they were captured by the host's clock.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn emit_frame<T: Serialize>(
        &mut self,
        port: usize,
        body: &T,
        frame: &Frame,
        captured_ns: i64,
    ) -> Result<()> {
        self.emit_with(port, body, Some(frame), captured_ns)
    }

    /// Sends a message with a buffer, on a port that [carries](crate::Port::carrying) it. `captured_ns`: when it was
    /// captured by the host's clock.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn emit_buffer<T: Serialize>(
        &mut self,
        port: usize,
        body: &T,
        buffer: &Buffer,
        captured_ns: i64,
    ) -> Result<()> {
        self.emit_with(port, body, Some(buffer.as_frame()), captured_ns)
    }

    fn emit_with<T: Serialize>(
        &mut self,
        port: usize,
        body: &T,
        frame: Option<&Frame>,
        captured_ns: i64,
    ) -> Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut *self.buffer, body)?;
        self.emit_written(port, frame, captured_ns)
    }

    /// Sends a message whose last field is `null` in `body`, with a text in its place: one line of JSON that was read.
    ///
    /// # Errors
    /// As [`Context::emit`].
    #[cfg(feature = "flowfree")]
    pub(crate) fn emit_around<T: Serialize>(
        &mut self,
        port: usize,
        body: &T,
        text: &[u8],
    ) -> Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut *self.buffer, body)?;
        set_last(self.buffer, text)?;
        self.emit_written(port, None, 0)
    }

    fn emit_written(&mut self, port: usize, frame: Option<&Frame>, captured_ns: i64) -> Result<()> {
        let json = std::mem::take(self.buffer);
        let sent = self.emit_text(port, std::ptr::null(), &json, frame, captured_ns);
        *self.buffer = json;
        sent
    }

    /// Sends a message that is JSON already. `schema` is required if the port accepts any (`*`); else it must be the
    /// port's own.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn emit_document(
        &mut self,
        port: usize,
        schema: &CStr,
        json: &[u8],
        frame: Option<&Frame>,
        captured_ns: i64,
    ) -> Result<()> {
        self.emit_text(port, schema.as_ptr(), json, frame, captured_ns)
    }

    fn emit_text(
        &mut self,
        port: usize,
        schema: *const c_char,
        json: &[u8],
        frame: Option<&Frame>,
        captured_ns: i64,
    ) -> Result<()> {
        let output = abi::Output {
            struct_size: size_of::<abi::Output>() as u32,
            port: u32::try_from(port)?,
            schema,
            json: json.as_ptr().cast(),
            json_length: json.len(),
            frame: frame.map_or(std::ptr::null_mut(), Frame::as_raw),
            captured_ns,
        };
        // SAFETY: host and context are valid inside process; the output is borrowed for the call.
        let status = unsafe { (self.table.emit)(self.table, self.raw, &raw const output) };
        match status {
            abi::OK => Ok(()),
            abi::STOPPED => Err(Error::stopped()),
            status => Err(Error::with_status(status, "the host refused the message")),
        }
    }
}

/// Replaces the last field of an object, which is `null`, by a text.
#[cfg(feature = "flowfree")]
fn set_last(json: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    let before = json
        .strip_suffix(b"null}")
        .ok_or_else(|| Error::new("the last field of the message is not null"))?;
    json.truncate(before.len());
    json.extend_from_slice(text);
    json.push(b'}');
    Ok(())
}

impl<'a> Message<'a> {
    /// # Safety
    /// The message's pointers are valid for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: &'a abi::Message) -> Self {
        Self {
            host,
            raw,
            captured: None,
            _borrowed: PhantomData,
        }
    }

    /// The same message, with what a check gets with it.
    ///
    /// # Safety
    /// The pointers of the judgement are valid for `'a`.
    pub(crate) unsafe fn judged(self, judgement: &abi::Judgement) -> Self {
        if judgement.captured_schema.is_null() {
            return self;
        }
        // SAFETY: the host gives a NUL-terminated text and `captured_json_length` bytes, valid for the call.
        let captured = unsafe {
            (
                CStr::from_ptr(judgement.captured_schema),
                std::slice::from_raw_parts(
                    judgement.captured_json.cast(),
                    judgement.captured_json_length,
                ),
            )
        };
        Self {
            captured: Some(captured),
            ..self
        }
    }

    /// The note of the frame that it descends from, as it was captured. Only a [`Check`](crate::Check) gets it, of the
    /// message that it judges. `None`: it descends from no frame, or from one that is no [`FRAME`].
    #[must_use]
    pub fn captured_note(&self) -> Option<FrameNote> {
        let (schema, json) = self.captured?;
        (schema.to_bytes() == FRAME.as_bytes()).then_some(())?;
        serde_json::from_slice(json).ok()
    }

    /// The input that it came in by, an index among the stage's inputs.
    #[must_use]
    pub fn port(&self) -> usize {
        self.raw.port as usize
    }

    /// Its schema id.
    #[must_use]
    pub fn schema(&self) -> &'a str {
        // SAFETY: the host gives a NUL-terminated text that is valid for `'a`.
        unsafe { std::ffi::CStr::from_ptr(self.raw.schema) }
            .to_str()
            .unwrap_or("")
    }

    /// Its body, JSON.
    #[must_use]
    pub fn json(&self) -> &'a [u8] {
        // SAFETY: the host gives `json_length` bytes that are valid for `'a`.
        unsafe { std::slice::from_raw_parts(self.raw.json.cast(), self.raw.json_length) }
    }

    /// Its body as a value of a message type.
    ///
    /// # Errors
    /// When the JSON is not of that type. The error names the place, as a JSON pointer.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        parse(self.json())
            .map_err(|error| Error::bad_message(format!("not a {}: {error}", self.schema())))
    }

    /// Its pixels, if any: a new reference, not a copy. On ports that carry [buffers](Self::buffer) it may be one of them.
    #[must_use]
    pub fn frame(&self) -> Option<Frame> {
        // SAFETY: null or live while the message is.
        unsafe { Frame::from_borrowed(self.host.handle(), self.raw.frame) }
    }

    /// Its buffer, if any: a new reference, not a copy. `None`: it has none, or pixels.
    #[must_use]
    pub fn buffer(&self) -> Option<Buffer> {
        self.frame().and_then(Buffer::of)
    }

    /// Its number.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.lineage().sequence
    }

    /// The frame that it descends from; 0: none.
    #[must_use]
    pub fn frame_sequence(&self) -> u64 {
        self.lineage().frame_sequence
    }

    /// When that frame was captured, nanoseconds of the host's clock.
    #[must_use]
    pub fn captured_ns(&self) -> i64 {
        self.lineage().captured_ns
    }

    fn lineage(&self) -> &'a abi::Lineage {
        // SAFETY: never null in a message, and valid as long as it.
        unsafe { &*self.raw.lineage }
    }
}

#[cfg(all(test, feature = "flowfree"))]
mod tests {
    use flowpipe_puzzle::message::{Effort, Solved, Verdict};

    use super::*;
    use crate::harness::samples;

    #[test]
    fn the_last_field_is_replaced() {
        let sighting = samples::sighting(samples::puzzle("AB\n..\nAB").unwrap());
        let answer = || Verdict::unknown("null}");
        let effort = || Effort::nodes(3).with("steps", 0.1);
        let written = Solved::new("solver-x", answer(), sighting.clone()).with_effort(effort());
        let around = Solved::new("solver-x", answer(), ()).with_effort(effort());
        let mut json = serde_json::to_vec(&around).unwrap();
        set_last(&mut json, &serde_json::to_vec(&sighting).unwrap()).unwrap();
        assert_eq!(json, serde_json::to_vec(&written).unwrap());
        assert!(set_last(&mut json, b"1").is_err());
    }
}
