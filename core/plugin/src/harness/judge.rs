//! The harness as the caller of a check.

use std::ffi::CString;
use std::ptr::{null, null_mut};

use flowpipe_abi as abi;
use serde_json::Value;

use crate::check::Judgement;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::harness::Harness;

/// Room for the reason of a judgement.
const CAPACITY: usize = 4 << 10;

/// A message in C.
struct Given {
    schema: CString,
    json: CString,
    lineage: abi::Lineage,
}

impl Given {
    /// A NUL in the text ends it, as it does in C.
    fn new(schema: &str, text: &[u8]) -> Result<Self> {
        let text: Vec<u8> = text.iter().copied().take_while(|&byte| byte != 0).collect();
        Ok(Self {
            schema: CString::new(schema)?,
            json: CString::new(text)?,
            lineage: abi::Lineage {
                struct_size: size_of::<abi::Lineage>() as u32,
                hop_count: 0,
                sequence: 1,
                frame_sequence: 1,
                captured_ns: 0,
                hops: null(),
            },
        })
    }

    fn message(&self, frame: Option<&Frame>) -> abi::Message {
        abi::Message {
            struct_size: size_of::<abi::Message>() as u32,
            port: 0,
            schema: self.schema.as_ptr(),
            json: self.json.as_ptr(),
            json_length: self.json.as_bytes().len(),
            document: null(),
            frame: frame.map_or(null_mut(), Frame::as_raw),
            lineage: &raw const self.lineage,
        }
    }
}

impl Harness {
    /// Judges a message as a [`Check`](crate::Check). `parent`: the message that the emitting stage is processing, with its
    /// schema.
    ///
    /// # Errors
    /// The check's error, or that the stage is no check.
    pub fn judge(
        &self,
        schema: &str,
        parent: Option<(&str, &Value)>,
        body: &Value,
    ) -> Result<Judgement> {
        judge(self, schema, parent, body.to_string().as_bytes(), None)
    }

    /// Judges a message that may be no JSON. See [`Harness::judge`].
    ///
    /// # Errors
    /// As [`Harness::judge`].
    pub fn judge_text(
        &self,
        schema: &str,
        parent: Option<(&str, &Value)>,
        text: &[u8],
    ) -> Result<Judgement> {
        judge(self, schema, parent, text, None)
    }

    /// Judges a message with pixels. See [`Harness::judge`].
    ///
    /// # Errors
    /// As [`Harness::judge`].
    pub fn judge_picture(&self, schema: &str, body: &Value, frame: &Frame) -> Result<Judgement> {
        judge(self, schema, None, body.to_string().as_bytes(), Some(frame))
    }
}

fn judge(
    harness: &Harness,
    schema: &str,
    parent: Option<(&str, &Value)>,
    text: &[u8],
    frame: Option<&Frame>,
) -> Result<Judgement> {
    let judge = table(harness)?
        .judge
        .ok_or_else(|| Error::new("it judges no messages"))?;
    let parent = parent
        .map(|(schema, body)| Given::new(schema, body.to_string().as_bytes()))
        .transpose()?;
    let parent = parent.as_ref().map(|parent| parent.message(None));
    let given = Given::new(schema, text)?;
    let message = given.message(frame);
    let mut reason = [0_u8; CAPACITY];
    let mut judgement = abi::Judgement {
        struct_size: size_of::<abi::Judgement>() as u32,
        verdict: 0,
        reason: reason.as_mut_ptr().cast(),
        capacity: CAPACITY,
        length: 0,
    };
    let parent = parent.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: the stage is active, and all arguments are valid for the call.
    let status = unsafe {
        judge(
            harness.stage,
            parent,
            &raw const message,
            &raw mut judgement,
        )
    };
    let reason = reason.get(..judgement.length).unwrap_or(&reason);
    let reason = String::from_utf8_lossy(reason).into_owned();
    match (status, judgement.verdict) {
        (..abi::OK, _) => Err(Error::with_status(status, reason)),
        (_, abi::ACCEPT) => Ok(Judgement::Accept),
        (_, abi::WEAK) => Ok(Judgement::Weak(reason)),
        _ => Ok(Judgement::Refuse(reason)),
    }
}

fn table(harness: &Harness) -> Result<&'static abi::Check> {
    // SAFETY: the stage is valid; its tables are static.
    unsafe {
        let get = (*harness.stage).get_extension;
        let table = get.map(|get| get(harness.stage, abi::EXTENSION_CHECK.as_ptr()));
        let table = table.and_then(|table| table.cast::<abi::Check>().as_ref());
        table.ok_or_else(|| Error::new("it is no check"))
    }
}
