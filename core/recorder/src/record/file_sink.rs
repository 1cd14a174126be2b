//! Writes items to a recording file.

use std::io::Write;

use flowpipe_engine::payload::{payload, payload_kind};
use flowpipe_host::message::Message;
use flowpipe_recording::{Payload, PayloadKind, Topic, WriteError, Writer};

use crate::record::{Item, Picture, Put, Sink};

/// Creates the annotations that viewers draw over the picture that a message descends from. Called on the recorder's
/// thread.
pub trait Annotator: Send {
    /// Returns the annotations of a message.
    fn annotate(&mut self, message: &Message, captured_unix_ns: u64) -> Vec<Extra>;
}

/// An annotation message for viewers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The suffix to the topic of the annotated message.
    pub name: &'static str,
    /// The schema's name, such as `foxglove.ImageAnnotations`.
    pub schema: &'static str,
    /// JSON.
    pub body: Vec<u8>,
}

/// A sink that writes a recording file.
pub(crate) struct FileSink<W: Write> {
    writer: Writer<W>,
    annotator: Option<Box<dyn Annotator>>,
}

impl<W: Write> FileSink<W> {
    pub(crate) fn new(writer: Writer<W>, annotator: Option<Box<dyn Annotator>>) -> Self {
        Self { writer, annotator }
    }

    fn message(
        &mut self,
        topic: &Topic,
        message: &Message,
        picture: &Picture,
    ) -> Result<Put, WriteError> {
        let sequence = message.lineage().sequence;
        let at_ns = message.emitted_ns();
        let origin = message.lineage().origin;
        let captured_ns = origin.map_or(at_ns, |origin| origin.captured_ns);
        let times = (at_ns, captured_ns);
        let body = message.json();
        self.writer
            .message(topic, message.schema(), body, sequence, times)?;
        if let Some(annotator) = &mut self.annotator {
            let captured = self.writer.unix(captured_ns);
            for extra in annotator.annotate(message, captured) {
                let name = format!("{topic}/{}", extra.name);
                self.writer.extra(&name, extra.schema, &extra.body, at_ns)?;
            }
        }
        let writer = &mut self.writer;
        let mut store = |payload: &Payload<'_>| writer.payload(topic, sequence, payload, times);
        let (kind, stored) = match picture {
            Picture::None => return Ok(Put::Plain),
            Picture::LeftOut(kind) => (*kind, None),
            Picture::Frame => {
                let kind = payload_kind(message).unwrap_or(PayloadKind::Picture);
                let payload = message.frame().and_then(payload);
                (kind, payload.map(|it| store(&it)))
            }
            // `None`: out of memory.
            Picture::Packed(packed) => (packed.layout().kind(), packed.unpack(store).ok()),
        };
        match stored.transpose()? {
            Some(true) => Ok(Put::Stored),
            Some(false) => Ok(Put::Repeated),
            None => {
                self.writer.left_out(topic, sequence, kind, at_ns)?;
                Ok(Put::Plain)
            }
        }
    }
}

impl<W: Write + Send> Sink for FileSink<W> {
    fn put(&mut self, item: Item) -> Result<Put, WriteError> {
        match item {
            Item::Message(topic, message, picture) => {
                return self.message(&topic, &message, &picture);
            }
            Item::Call(call) => self.writer.call(&call)?,
            Item::Dropped(dropped) => self.writer.dropped(&dropped)?,
            Item::DroppedLineages(dropped) => self.writer.dropped_lineages(&dropped)?,
            Item::Problem(problem) => self.writer.problem(&problem)?,
            Item::Change(change) => self.writer.change(&change.entry())?,
        }
        Ok(Put::Plain)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.writer.flush()
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        self.writer.finish().map(drop)
    }

    fn end_early(self: Box<Self>) -> Result<(), WriteError> {
        self.writer.end_early().map(drop)
    }
}
