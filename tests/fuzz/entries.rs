//! Recordings by their entries: taken apart, edited, put together again.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(
    clippy::expect_used,
    reason = "a test helper that can't go on should panic"
)]

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::path::Path;

use mcap::records::MessageHeader;
use mcap::{Attachment, Compression, MessageStream, WriteOptions};
use serde_json::Value;

/// A recording taken apart.
#[derive(Clone, Default)]
pub struct Parts {
    /// The attachment `run.json`.
    pub about: Value,
    /// The attachment `pipeline.toml`.
    pub pipeline: Vec<u8>,
    /// What the topics hold.
    pub channels: Vec<Channel>,
    /// In the order of the file.
    pub entries: Vec<Entry>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    pub topic: String,
    pub schema: String,
    pub encoding: String,
    pub metadata: BTreeMap<String, String>,
}

/// An entry of a topic.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index of the channel.
    pub channel: usize,
    pub sequence: u32,
    pub log_time: u64,
    pub data: Vec<u8>,
}

impl Channel {
    /// What an output emits; what a stage did where there is none.
    pub fn of(holds: &str, topic: &str, schema: &str, output: Option<(&str, &str)>) -> Self {
        let mut metadata = BTreeMap::from([("flowpipe.holds".to_owned(), holds.to_owned())]);
        if let Some((stage, port)) = output {
            metadata.insert("flowpipe.stage".to_owned(), stage.to_owned());
            metadata.insert("flowpipe.port".to_owned(), port.to_owned());
        }
        Self {
            topic: topic.to_owned(),
            schema: schema.to_owned(),
            encoding: match holds {
                "pictures" => "protobuf",
                _ => "json",
            }
            .to_owned(),
            metadata,
        }
    }

    /// Whether its entries are JSON.
    pub fn is_json(&self) -> bool {
        self.encoding == "json"
    }

    /// Whether it has the calls.
    pub fn has_calls(&self) -> bool {
        self.metadata.get("flowpipe.holds").map(String::as_str) == Some("calls")
    }
}

/// In short: a recording is long.
impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a recording of {} entries", self.entries.len())
    }
}

impl Parts {
    /// Those of a file.
    ///
    /// # Panics
    /// When it is no recording.
    pub fn read(path: &Path) -> Self {
        let file = std::fs::read(path).expect("the recording is there");
        let mut parts = Self::default();
        for record in mcap::read::LinearReader::new(&file).expect("an MCAP file") {
            if let mcap::records::Record::Attachment { header, data, .. } = record.expect("whole") {
                match header.name.as_str() {
                    "run.json" => {
                        parts.about = serde_json::from_slice(&data).expect("run.json is JSON");
                    }
                    _ => parts.pipeline = data.into_owned(),
                }
            }
        }
        let mut known = HashMap::new();
        for message in MessageStream::new(&file).expect("an MCAP file") {
            let message = message.expect("a whole recording");
            let channel = *known.entry(message.channel.id).or_insert_with(|| {
                let schema = message.channel.schema.as_ref();
                parts.channels.push(Channel {
                    topic: message.channel.topic.clone(),
                    schema: schema.map_or_else(String::new, |schema| schema.name.clone()),
                    encoding: message.channel.message_encoding.clone(),
                    metadata: message.channel.metadata.clone(),
                });
                parts.channels.len() - 1
            });
            parts.entries.push(Entry {
                channel,
                sequence: message.sequence,
                log_time: message.log_time,
                data: message.data.into_owned(),
            });
        }
        parts
    }

    /// The index of a channel, which is added where there is none of that kind.
    pub fn channel(&mut self, channel: Channel) -> usize {
        let known = self.channels.iter().position(|it| *it == channel);
        known.unwrap_or_else(|| {
            self.channels.push(channel);
            self.channels.len() - 1
        })
    }

    /// Adds an entry.
    pub fn push(&mut self, channel: usize, sequence: u32, data: impl Into<Vec<u8>>) {
        let log_time = self.about["started_unix_ns"].as_u64().unwrap_or(0) + 1_000;
        self.entries.push(Entry {
            channel,
            sequence,
            log_time,
            data: data.into(),
        });
    }

    /// Adds a call.
    pub fn call(&mut self, call: &Value) {
        let channel = Channel::of("calls", "/flowpipe/calls", "flowpipe.call/1", None);
        let channel = self.channel(channel);
        self.push(channel, 0, call.to_string());
    }

    /// As a file, each entry so many times: what repeats becomes small.
    ///
    /// # Panics
    /// Never: a vector takes everything.
    pub fn repeated(&self, times: usize) -> Vec<u8> {
        let mut writer = WriteOptions::new()
            .compression(Some(Compression::Lz4))
            .chunk_size(Some(16 << 20))
            .emit_message_indexes(false)
            .emit_chunk_indexes(false)
            .emit_summary_records(false)
            .create(Cursor::new(Vec::new()))
            .expect("a vector takes everything");
        let about = self.about.to_string();
        let attachments = [
            ("run.json", about.as_bytes()),
            ("pipeline.toml", &self.pipeline),
        ];
        for (name, data) in attachments {
            let attachment = Attachment {
                log_time: 0,
                create_time: 0,
                name: name.to_owned(),
                media_type: String::new(),
                data: data.into(),
            };
            writer
                .attach(&attachment)
                .expect("a vector takes everything");
        }
        let channels = self.channels.iter().map(|channel| {
            let schema = writer.add_schema(&channel.schema, "jsonschema", b"{}");
            let schema = schema.expect("a vector takes everything");
            let (topic, encoding) = (&channel.topic, &channel.encoding);
            let added = writer.add_channel(schema, topic, encoding, &channel.metadata);
            added.expect("a vector takes everything")
        });
        let channels: Vec<u16> = channels.collect();
        for entry in &self.entries {
            let header = MessageHeader {
                channel_id: channels[entry.channel],
                sequence: entry.sequence,
                log_time: entry.log_time,
                publish_time: entry.log_time,
            };
            for _ in 0..times {
                let written = writer.write_to_known_channel(&header, &entry.data);
                written.expect("a vector takes everything");
            }
        }
        writer.finish().expect("a vector takes everything");
        writer.into_inner().into_inner()
    }

    /// As a file.
    pub fn write(&self) -> Vec<u8> {
        self.repeated(1)
    }
}
