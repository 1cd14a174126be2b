//! A message as the host passes it to a stage.

use std::ffi::CString;
use std::ptr::{null, null_mut};

use flowpipe_abi as abi;

use crate::error::Result;
use crate::frame::Frame;

/// A message with the texts that its struct points at.
pub(super) struct CMessage {
    schema: CString,
    json: CString,
    lineage: abi::Lineage,
}

impl CMessage {
    /// The message of that number, which is also that of its frame, captured at a time of the host's clock.
    ///
    /// # Errors
    /// When a text has a NUL in it.
    pub(super) fn new(
        schema: &str,
        json: Vec<u8>,
        sequence: u64,
        captured_ns: i64,
    ) -> Result<Self> {
        Ok(Self {
            schema: CString::new(schema)?,
            json: CString::new(json)?,
            lineage: abi::Lineage {
                struct_size: size_of::<abi::Lineage>() as u32,
                hop_count: 0,
                sequence,
                frame_sequence: sequence,
                captured_ns,
                hops: null(),
            },
        })
    }

    /// The struct, valid as long as this message and the frame.
    pub(super) fn as_abi(&self, port: u32, frame: Option<&Frame>) -> abi::Message {
        abi::Message {
            struct_size: size_of::<abi::Message>() as u32,
            port,
            schema: self.schema.as_ptr(),
            json: self.json.as_ptr(),
            json_length: self.json.as_bytes().len(),
            document: null(),
            frame: frame.map_or(null_mut(), Frame::as_raw),
            lineage: &raw const self.lineage,
        }
    }
}
