//! The messages that stages exchange.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_config::pipeline::PortRef;
use serde::de::DeserializeOwned;
use serde_json::Value;
use smallvec::SmallVec;

use crate::document::{Document, DocumentError};
use crate::frame::Frame;

/// A message between stages. It never changes; stages that receive it share it.
#[derive(Debug)]
pub struct Message {
    /// The id of its schema.
    pub schema: Arc<CStr>,
    /// Its JSON.
    pub body: Document,
    /// Its picture or buffer.
    pub frame: Option<Frame>,
    /// Where it comes from.
    pub lineage: Lineage,
    /// The output that emitted it, known when it is sent.
    pub source: PortRef,
}

/// Where a message comes from.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// Its own number, from 1, in order of emission by its stage's port.
    pub sequence: u64,
    /// The frame that it descends from.
    pub origin: Option<Origin>,
    /// The message that carried that frame. `None`: no frame, or in a replay a message that the recording does not have.
    pub captured: Option<Arc<CapturedMessage>>,
    /// The stages that processed it or its ancestors, oldest first; the newest 256 of them.
    pub hops: Hops,
    /// The first ancestor: its output, and its number there. `None`: this message has none.
    pub root: Option<(PortRef, u64)>,
}

/// Hops of a lineage. Those of short pipelines need no memory of their own: it would be allocated by one thread and freed by
/// another for each message.
pub type Hops = SmallVec<[abi::Hop; 6]>;

/// The most hops that a message keeps: on a loop of the pipeline their number would grow without limit.
pub const MOST_HOPS: usize = 256;

/// A captured frame, in the lineage of messages that descend from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The stage that captured it.
    pub stage: usize,
    /// The number of the message that carried it, from 1.
    pub sequence: u64,
    /// When it was captured, by the run's clock in nanoseconds.
    pub captured_ns: i64,
}

/// The message that carried a frame, without its pixels: its descendants keep it, so that a check can compare what they
/// state of the frame.
#[derive(Debug)]
pub struct CapturedMessage {
    /// The id of its schema.
    pub schema: Arc<CStr>,
    /// Its JSON.
    pub body: Document,
}

/// The frame that a message or a call descends from.
#[derive(Clone, Debug, Default)]
pub struct Descent {
    /// The frame.
    pub origin: Option<Origin>,
    /// The message that carried it.
    pub captured: Option<Arc<CapturedMessage>>,
}

impl Message {
    /// A message that no stage emitted, without pixels: to try checks.
    ///
    /// # Errors
    /// When the body is not JSON in UTF-8.
    pub fn detached(schema: &str, json: &[u8]) -> Result<Self, DocumentError> {
        Ok(Self {
            schema: Arc::from(CString::new(schema.replace('\0', "")).unwrap_or_default()),
            body: Document::new(json)?,
            frame: None,
            lineage: Lineage {
                sequence: 1,
                origin: None,
                captured: None,
                hops: Hops::new(),
                root: None,
            },
            source: PortRef { stage: 0, port: 0 },
        })
    }

    /// Its schema id, such as `flowpipe.sighting/1`.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.schema.to_str().unwrap_or_default()
    }

    /// The body as written.
    #[must_use]
    pub fn json(&self) -> &str {
        self.body.json()
    }

    /// The body, parsed on first access.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.body.value()
    }

    /// The body as a type: see [`Document::read`].
    ///
    /// # Errors
    /// When the body is not of this type.
    pub fn read<T: DeserializeOwned + Send + Sync + 'static>(&self) -> serde_json::Result<Arc<T>> {
        self.body.read()
    }

    /// The picture or buffer, if it has one.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// What it carries besides its JSON.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        self.frame.as_ref().map_or(Content::Nothing, Frame::content)
    }

    /// The stage and the output that emitted it.
    #[must_use]
    pub fn source(&self) -> PortRef {
        self.source
    }

    /// Where it comes from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }
}

impl Message {
    /// A copy of the message without its pixels, and without what its body was parsed as.
    pub fn without_frame(&self) -> Self {
        Self {
            schema: self.schema.clone(),
            body: self.body.clone(),
            frame: None,
            lineage: self.lineage.clone(),
            source: self.source,
        }
    }

    /// The message as the ABI's struct, for the input of that number. `lineage` is its own. The struct is valid as long as
    /// both are borrowed.
    #[must_use]
    pub fn as_abi(&self, port: u32, lineage: &abi::Lineage) -> abi::Message {
        abi::Message {
            struct_size: size_of::<abi::Message>() as u32,
            port,
            schema: self.schema.as_ptr(),
            json: self.body.as_c(),
            json_length: self.body.json_len(),
            document: self.body.as_abi(),
            frame: self
                .frame
                .as_ref()
                .map_or(std::ptr::null_mut(), Frame::as_abi),
            lineage,
        }
    }

    /// Its output and its number there.
    pub fn key(&self) -> (PortRef, u64) {
        (self.source, self.lineage.sequence)
    }

    /// The first ancestor, a source's message, which may be the message itself: its output and its number there.
    #[must_use]
    pub fn root(&self) -> (PortRef, u64) {
        self.lineage.root.unwrap_or_else(|| self.key())
    }

    /// When it was emitted, by the run's clock in nanoseconds.
    pub fn emitted_ns(&self) -> i64 {
        self.lineage.hops.last().map_or(0, |hop| hop.emitted_ns)
    }

    /// Sets the message's number, before it is sent.
    pub fn number(&mut self, sequence: u64, source: PortRef) {
        self.source = source;
        self.lineage.sequence = sequence;
        if let Some(origin) = &mut self.lineage.origin
            && origin.sequence == 0
            && origin.stage == source.stage
        {
            origin.sequence = sequence;
        }
    }
}

impl Lineage {
    /// The frame of the messages that descend from this one.
    #[must_use]
    pub fn descent(&self) -> Descent {
        Descent {
            origin: self.origin,
            captured: self.captured.clone(),
        }
    }

    /// The message that carried the frame, if it is another one than that of this lineage. The number of a message that
    /// carries a new frame is not known before it is sent.
    #[must_use]
    pub fn ancestor(&self) -> Option<&CapturedMessage> {
        let is_sent = self.origin.is_some_and(|origin| origin.sequence > 0);
        self.captured.as_deref().filter(|_| is_sent)
    }

    /// The lineage as the ABI's struct.
    pub fn as_abi(&self) -> abi::Lineage {
        abi::Lineage {
            struct_size: size_of::<abi::Lineage>() as u32,
            hop_count: u32::try_from(self.hops.len()).unwrap_or(u32::MAX),
            sequence: self.sequence,
            frame_sequence: self.origin.map_or(0, |origin| origin.sequence),
            captured_ns: self.origin.map_or(0, |origin| origin.captured_ns),
            hops: self.hops.as_ptr(),
        }
    }
}
