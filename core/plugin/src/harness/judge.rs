//! The harness as the caller of a check.

use std::ffi::{CStr, CString};
use std::ptr::null;

use flowpipe_abi as abi;
use serde_json::Value;

use crate::check::Judgement;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::harness::Harness;
use crate::harness::c_message::CMessage;

/// The schema of frames.
const FRAME_SCHEMA: &CStr = c"flowpipe.frame/1";

/// Room for the reason of a judgement.
const CAPACITY: usize = 4 << 10;

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
        let given = Given::of(schema, body.to_string().into_bytes());
        judge(self, parent, given)
    }

    /// Judges a message that descends from a frame. `captured`: the body of the frame's message, which is a
    /// `flowpipe.frame/1`. See [`Harness::judge`].
    ///
    /// # Errors
    /// As [`Harness::judge`].
    pub fn judge_descendant(
        &self,
        schema: &str,
        captured: &Value,
        body: &Value,
    ) -> Result<Judgement> {
        let given = Given {
            captured: Some(captured),
            ..Given::of(schema, body.to_string().into_bytes())
        };
        judge(self, None, given)
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
        judge(self, parent, Given::of(schema, text.to_vec()))
    }

    /// Judges a message with pixels. See [`Harness::judge`].
    ///
    /// # Errors
    /// As [`Harness::judge`].
    pub fn judge_picture(&self, schema: &str, body: &Value, frame: &Frame) -> Result<Judgement> {
        let given = Given {
            frame: Some(frame),
            ..Given::of(schema, body.to_string().into_bytes())
        };
        judge(self, None, given)
    }
}

/// A message to judge.
struct Given<'a> {
    schema: &'a str,
    text: Vec<u8>,
    frame: Option<&'a Frame>,
    /// The body of the message that carried its frame.
    captured: Option<&'a Value>,
}

impl<'a> Given<'a> {
    fn of(schema: &'a str, text: Vec<u8>) -> Self {
        Self {
            schema,
            text,
            frame: None,
            captured: None,
        }
    }
}

fn judge(harness: &Harness, parent: Option<(&str, &Value)>, given: Given<'_>) -> Result<Judgement> {
    let judge = table(harness)?
        .judge
        .ok_or_else(|| Error::new("it judges no messages"))?;
    let parent = parent
        .map(|(schema, body)| CMessage::new(schema, body.to_string().into_bytes(), 1, 0))
        .transpose()?;
    let parent = parent.as_ref().map(|parent| parent.as_abi(0, None));
    // A NUL ends the text, as it does in C.
    let text = given.text.into_iter().take_while(|&byte| byte != 0);
    let judged = CMessage::new(given.schema, text.collect(), 1, 0)?;
    let message = judged.as_abi(0, given.frame);
    let captured = given.captured.map(ToString::to_string);
    let captured = captured.map(CString::new).transpose()?;
    let mut reason = [0_u8; CAPACITY];
    let mut judgement = abi::Judgement {
        struct_size: size_of::<abi::Judgement>() as u32,
        verdict: 0,
        reason: reason.as_mut_ptr().cast(),
        capacity: CAPACITY,
        length: 0,
        captured_schema: captured.as_ref().map_or(null(), |_| FRAME_SCHEMA.as_ptr()),
        captured_json: captured.as_ref().map_or(null(), |it| it.as_ptr()),
        captured_json_length: captured.as_ref().map_or(0, |it| it.as_bytes().len()),
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
