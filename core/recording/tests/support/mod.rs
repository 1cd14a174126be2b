//! A small recording with all kinds of entries.
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use flowpipe_abi::{BufferInfo, Element};
use flowpipe_recording::entry::{About, Call, Dropped, Emitted, Event, Taken, Trouble};
use flowpipe_recording::{
    Elements, Encoding, Entry, FORMAT, Payload, Pixels, ReadError, Recording, Schemas, Topic,
    Writer,
};

/// The run of the recordings.
pub fn about() -> About {
    About {
        format: FORMAT,
        flowpipe: "0".into(),
        name: "test".into(),
        file: "test.toml".into(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: Vec::new(),
        edges: Vec::new(),
    }
}

/// Frames with pixels and sightings with buffers, the third as the first; calls, a drop and a problem. Flushed after each frame.
pub fn write(messages: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &about(), "name = \"test\"", Schemas::new()).unwrap();
    let (screen, vision) = (Topic::new("screen", "out"), Topic::new("vision", "out"));
    for number in 1..=messages {
        let at = number as i64 * 1_000;
        let shade = if number == 3 { 1 } else { number as u8 };
        let bytes = vec![shade; 4 * 30 * 20];
        let pixels = Pixels {
            encoding: Encoding::Bgra8,
            width: 30,
            height: 20,
            stride: 120,
            bytes: &bytes,
        };
        let body = format!("{{\"source\":  \"{number}\"}}");
        writer
            .message(&screen, "frame/1", &body, number, (at, at - 1))
            .unwrap();
        let stored = writer
            .pixels(&screen, number, &pixels, (at, at - 1))
            .unwrap();
        assert_eq!(stored, number != 3);
        writer
            .message(&vision, "sighting/1", "{}", number, (at + 5, at - 1))
            .unwrap();
        let layout = BufferInfo::new("audio/pcm", Element::I16, &[8, 1]).unwrap();
        let sound = [shade; 16];
        let sound = Payload::Buffer(Elements::new(&layout, &sound).unwrap());
        let stored = writer
            .payload(&vision, number, &sound, (at + 5, at - 1))
            .unwrap();
        assert_eq!(stored, number != 3);
        writer
            .call(&Call {
                stage: "vision".into(),
                event: Event::Message,
                took: Some(Taken {
                    port: "in".into(),
                    from: "screen".into(),
                    output: "out".into(),
                    sequence: number,
                }),
                ended_ns: at + 6,
                emitted: vec![Emitted {
                    port: "out".into(),
                    sequence: number,
                    at_ns: at + 5,
                    origin: None,
                }],
                ..Call::default()
            })
            .unwrap();
        writer.flush().unwrap();
    }
    writer
        .dropped(&Dropped {
            from: "screen".into(),
            output: "out".into(),
            sequence: messages,
            to: ("vision".into(), "in".into()),
            at_ns: 9,
        })
        .unwrap();
    writer
        .problem(&Trouble {
            kind: "failed".into(),
            stage: "vision".into(),
            plugin: "vision-test".into(),
            text: "no".into(),
            at_ns: 10,
        })
        .unwrap();
    writer
        .extra("/vision/out/annotations", "x", b"{}", 11)
        .unwrap();
    writer.finish().unwrap()
}

/// Opens bytes as a file.
pub fn open(bytes: &[u8]) -> Result<Recording, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    std::fs::write(&path, bytes).unwrap();
    Recording::open(&path)
}

/// Reads everything that can be read.
pub fn read_all(recording: &Recording) -> usize {
    let mut pictures = 0;
    for entry in recording.entries() {
        if let Entry::Message(message) = entry {
            let (topic, sequence) = (message.topic(), message.sequence());
            let read = recording.payload(topic, sequence, |payload| payload.bytes().len());
            pictures += usize::from(matches!(read, Ok(Some(2400))));
            let _ = recording
                .buffer_info(topic, sequence)
                .map(BufferInfo::shape);
        }
    }
    pictures
}
