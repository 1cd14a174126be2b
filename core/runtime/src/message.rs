//! What flows between stages.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use flowpipe_abi as abi;
use serde_json::Value;

use crate::document::{Document, DocumentError};
use crate::frame::Frame;
use crate::pipeline::PortRef;

/// A message on its way. It never changes; stages that receive it share it.
#[derive(Debug)]
pub struct Message {
    pub(crate) schema: Arc<CStr>,
    pub(crate) body: Document,
    pub(crate) frame: Option<Frame>,
    pub(crate) lineage: Lineage,
    /// The output that emitted it, known when it is sent.
    pub(crate) source: PortRef,
}

/// Where a message comes from.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// Its own number, from 1, in order of emission by its stage's port.
    pub sequence: u64,
    /// The frame that it descends from.
    pub origin: Option<Origin>,
    /// The stages that had it or its ancestors in hand, oldest first; the newest 256 of them.
    pub hops: Vec<abi::Hop>,
    /// The message that all this began with: its output, and its number there. `None`: it begins with this one.
    pub root: Option<(PortRef, u64)>,
}

/// A message remembers its newest hops, so many at most: on a loop of the pipeline there would be ever more.
pub(crate) const MOST_HOPS: usize = 256;

/// A captured frame, as messages that descend from it remember it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The stage that captured it.
    pub stage: usize,
    /// The number of the message that brought it, from 1.
    pub sequence: u64,
    /// When it was captured, by the run's clock in nanoseconds.
    pub captured_ns: i64,
}

impl Message {
    /// A message that no stage emitted, without pixels: for trying checks.
    ///
    /// # Errors
    /// When the body is not JSON in UTF-8.
    pub fn loose(schema: &str, json: &[u8]) -> Result<Self, DocumentError> {
        Ok(Self {
            schema: Arc::from(CString::new(schema.replace('\0', "")).unwrap_or_default()),
            body: Document::new(json)?,
            frame: None,
            lineage: Lineage {
                sequence: 1,
                origin: None,
                hops: Vec::new(),
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

    /// The body as it was written.
    #[must_use]
    pub fn json(&self) -> &str {
        self.body.json()
    }

    /// The body, parsed when first asked.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.body.value()
    }

    /// The pixels, where it carries some.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
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
    /// The message without its pixels.
    pub(crate) fn without_frame(&self) -> Self {
        Self {
            schema: self.schema.clone(),
            body: self.body.clone(),
            frame: None,
            lineage: self.lineage.clone(),
            source: self.source,
        }
    }

    /// Its output and its number there.
    pub(crate) fn key(&self) -> (PortRef, u64) {
        (self.source, self.lineage.sequence)
    }

    /// The message of a source that all this began with, which may be itself: its output and its number there.
    #[must_use]
    pub fn root(&self) -> (PortRef, u64) {
        self.lineage.root.unwrap_or_else(|| self.key())
    }

    /// When it was emitted, by the run's clock in nanoseconds.
    pub(crate) fn emitted_ns(&self) -> i64 {
        self.lineage.hops.last().map_or(0, |hop| hop.emitted_ns)
    }

    /// Gives the message its number, before anybody sees it.
    pub(crate) fn number(&mut self, sequence: u64, source: PortRef) {
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
    /// As the border sees it.
    pub(crate) fn as_abi(&self) -> abi::Lineage {
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
