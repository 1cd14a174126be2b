#![allow(clippy::unwrap_used, reason = "tests end by panicking")]

use std::sync::{Arc, Mutex};

use flowpipe_recording::entry::{AboutEdge, AboutPlugin, Emitted, Event, Taken};
use flowpipe_recording::{Encoding, Payload, Pixels};
use proptest::prelude::*;

use super::*;
use crate::record::{Recorder, Settings};
use flowpipe_engine::run::Observer as _;

/// `camera` runs on another machine, `view` here.
fn about() -> About {
    let stage = |name: &str, inputs: &[&str]| AboutStage {
        name: name.to_owned(),
        role: String::new(),
        plugins: vec![AboutPlugin {
            name: name.to_owned(),
            version: String::new(),
            hash: String::new(),
            config: serde_json::Value::Null,
            deterministic: true,
        }],
        inputs: inputs.iter().map(|it| (*it).to_owned()).collect(),
        outputs: vec![("out".to_owned(), "test/1".to_owned())],
        timeout_ns: None,
        isolated: false,
        workers: 1,
        machine: None,
    };
    let names = |stage: &str, port: &str| (stage.to_owned(), port.to_owned());
    About {
        format: 1,
        flowpipe: String::new(),
        name: String::new(),
        file: String::new(),
        started_unix_ns: 0,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: vec![stage("camera", &[]), stage("view", &["in"])],
        edges: vec![AboutEdge {
            from: names("camera", "out"),
            to: names("view", "in"),
            capacity: 1,
            when_full: "latest".to_owned(),
        }],
    }
}

/// A message of the camera.
fn message(number: u64) -> Message {
    let mut message = Message::detached("test/1", br#"{"n": 1}"#).unwrap();
    message.lineage.sequence = number;
    message.lineage.origin = Some(Origin {
        stage: 0,
        sequence: number,
        captured_ns: 5,
    });
    message.lineage.hops = Hops::from_slice(&[flowpipe_abi::Hop {
        stage: 0,
        reserved: 0,
        taken_ns: 6,
        emitted_ns: 7,
    }]);
    message
}

fn packed() -> Picture {
    let packed = Packed::new(&Payload::Picture(Pixels {
        encoding: Encoding::Grey8,
        width: 4,
        height: 2,
        stride: 4,
        bytes: &[1, 2, 3, 4, 5, 6, 7, 8],
    }));
    Picture::Packed(packed.unwrap().into())
}

fn call() -> Call {
    Call {
        stage: "camera".into(),
        event: Event::Tick,
        taken_ns: 6,
        ended_ns: 8,
        clock: vec![6, 7],
        emitted: vec![Emitted {
            port: "out".into(),
            sequence: 1,
            at_ns: 7,
            origin: Some(flowpipe_recording::entry::Origin {
                stage: "camera".into(),
                sequence: 1,
                captured_ns: 5,
            }),
        }],
        ..Call::default()
    }
}

fn dropped() -> Dropped {
    Dropped {
        from: "camera".into(),
        output: "out".into(),
        sequence: 1,
        to: ("view".into(), "in".into()),
        at_ns: 8,
    }
}

fn trouble() -> Trouble {
    Trouble {
        kind: "slow".into(),
        stage: "camera".into(),
        plugin: "camera".into(),
        text: "on purpose".to_owned(),
        at_ns: 9,
    }
}

fn item(number: u64, picture: Picture) -> Item {
    Item::Message(Topic::new("camera", "out"), message(number).into(), picture)
}

/// What a sink sends.
fn parts(items: Vec<Item>) -> Vec<Vec<u8>> {
    sent(items, true)
}

fn sent(items: Vec<Item>, messages: bool) -> Vec<Vec<u8>> {
    let sent: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let to = sent.clone();
    let send = Box::new(move |part: &[u8]| {
        to.lock().unwrap().push(part.to_vec());
        true
    });
    let mut sink = TransferSink::new(send, messages);
    for item in items {
        sink.put(item).unwrap();
    }
    Box::new(sink).finish().unwrap();
    std::mem::take(&mut *sent.lock().unwrap())
}

fn reader() -> TransferReader {
    TransferReader::new(about(), [0].into())
}

/// Reads everything, until the end or an error.
fn read(reader: &mut TransferReader, part: &[u8]) -> Result<(Vec<Item>, bool), TransferError> {
    let mut items = Vec::new();
    let has_ended = reader.read(part, |item| items.push(item))?;
    Ok((items, has_ended))
}

#[test]
fn entries_arrive_as_they_were_sent() {
    let sent = parts(vec![
        item(1, packed()),
        Item::Call(call().into()),
        item(2, Picture::None),
        item(4, Picture::LeftOut(PayloadKind::Buffer)),
        Item::Dropped(dropped()),
        Item::Problem(trouble()),
    ]);
    assert_eq!(sent.len(), 1);
    let (items, has_ended) = read(&mut reader(), &sent[0]).unwrap();
    assert!(has_ended);
    let mut items = items.into_iter();
    let Some(Item::Message(topic, read, Picture::Packed(packed))) = items.next() else {
        panic!("the message with a picture");
    };
    let sent = message(1);
    assert_eq!(topic, Topic::new("camera", "out"));
    assert_eq!((read.schema(), read.json()), (sent.schema(), sent.json()));
    assert_eq!((read.key(), read.emitted_ns()), (sent.key(), 7));
    assert_eq!(read.lineage.origin, sent.lineage.origin);
    packed
        .unpack(|it| assert_eq!(it.bytes(), [1, 2, 3, 4, 5, 6, 7, 8]))
        .unwrap();
    assert!(matches!(items.next(), Some(Item::Call(it)) if *it == call()));
    for (number, left_out) in [(2, false), (4, true)] {
        let Some(Item::Message(_, read, picture)) = items.next() else {
            panic!("message {number}");
        };
        assert_eq!(read.lineage.sequence, number);
        let is_left_out = matches!(picture, Picture::LeftOut(PayloadKind::Buffer));
        assert_eq!(is_left_out, left_out);
    }
    assert!(matches!(items.next(), Some(Item::Dropped(it)) if it == dropped()));
    assert!(matches!(items.next(), Some(Item::Problem(it)) if it == trouble()));
    assert!(items.next().is_none());
}

#[test]
fn many_entries_are_sent_in_several_parts() {
    let items = (1..=3_000).map(|number| item(number, packed())).collect();
    let sent = parts(items);
    assert!(sent.len() > 1);
    assert!(sent.iter().all(|it| it.len() <= PART));
    let mut reader = reader();
    let read = sent.iter().map(|part| read(&mut reader, part).unwrap());
    let read: Vec<_> = read.collect();
    assert_eq!(
        read.iter().map(|(items, _)| items.len()).sum::<usize>(),
        3_000
    );
    let ends: Vec<_> = read.iter().map(|(_, has_ended)| *has_ended).collect();
    assert_eq!(ends.iter().filter(|it| **it).count(), 1);
    assert_eq!(ends.last(), Some(&true));
}

/// Why a call of the camera is refused.
fn refused_call(change: impl FnOnce(&mut Call)) -> TransferError {
    let mut call = call();
    change(&mut call);
    let sent = parts(vec![Item::Call(call.into())]);
    read(&mut reader(), &sent[0]).err().unwrap()
}

/// Why a message of the camera is refused.
fn refused_message(change: impl FnOnce(&mut Message)) -> TransferError {
    let mut message = message(1);
    change(&mut message);
    let topic = Topic::new("camera", "out");
    let sent = parts(vec![Item::Message(topic, message.into(), Picture::None)]);
    read(&mut reader(), &sent[0]).err().unwrap()
}

#[test]
fn forged_entries_are_refused() {
    let is_other =
        |error: TransferError| matches!(error, TransferError::Stage(name) if name == "view");
    assert!(is_other(refused_message(|it| it.source.stage = 1)));
    assert!(is_other(refused_call(|it| it.stage = "view".into())));
    let late = LATEST_TIME + 1;
    for error in [
        refused_message(|it| it.source.stage = 2),
        refused_message(|it| it.source.port = 1),
        refused_message(|it| it.schema = Arc::from(c"test/2")),
        refused_call(|it| it.stage = "nobody".into()),
        refused_call(|it| it.emitted[0].port = "other".into()),
        refused_call(|it| it.emitted[0].origin.as_mut().unwrap().stage = "nobody".into()),
        refused_call(|it| {
            it.event = Event::Message;
            it.took = Some(Taken {
                port: "in".into(),
                from: "camera".into(),
                output: "out".into(),
                sequence: 1,
            });
        }),
    ] {
        assert!(matches!(error, TransferError::Unknown(_)), "{error}");
    }
    for error in [
        refused_message(|it| it.lineage.sequence = 0),
        refused_message(|it| it.lineage.sequence = u64::from(u32::MAX) + 1),
        refused_message(|it| it.lineage.hops[0].emitted_ns = late),
        refused_message(|it| it.lineage.origin.as_mut().unwrap().captured_ns = -late),
        refused_message(|it| it.lineage.origin.as_mut().unwrap().stage = 2),
        refused_call(|it| it.taken_ns = late),
        refused_call(|it| it.clock.push(late)),
        refused_call(|it| it.worker = 1),
        refused_call(|it| it.plugin = 1),
    ] {
        assert_eq!(error, TransferError::Range);
    }
    for event in [Event::Message, Event::Tick] {
        let error = refused_call(|it| {
            it.event = event;
            it.took = match event {
                Event::Message => None,
                _ => Some(Taken {
                    port: "in".into(),
                    from: "camera".into(),
                    output: "out".into(),
                    sequence: 1,
                }),
            };
        });
        assert!(matches!(error, TransferError::Contradiction(_)), "{error}");
    }
    for (forged, is_it) in [
        (
            Item::Dropped(Dropped {
                from: "view".into(),
                ..dropped()
            }),
            is_other as fn(_) -> _,
        ),
        (
            Item::Problem(Trouble {
                stage: "view".into(),
                ..trouble()
            }),
            is_other,
        ),
        (
            Item::Dropped(Dropped {
                output: "x".into(),
                ..dropped()
            }),
            |error| error == TransferError::Unknown("an edge"),
        ),
        (
            Item::Problem(Trouble {
                at_ns: late,
                ..trouble()
            }),
            |error| error == TransferError::Range,
        ),
    ] {
        let sent = parts(vec![forged]);
        assert!(is_it(read(&mut reader(), &sent[0]).err().unwrap()));
    }
}

#[test]
fn numbers_of_an_output_rise() {
    let sent = parts(vec![item(3, Picture::None), item(3, Picture::None)]);
    let error = read(&mut reader(), &sent[0]).err().unwrap();
    let text = "it sent message 3 after message 3 of /camera/out";
    assert_eq!(error.to_string(), text);
}

#[test]
fn malformed_batches_are_refused() {
    let sent = parts(vec![item(1, packed())]).remove(0);
    for cut in 1..sent.len() {
        let mut reader = reader();
        let (items, has_ended) = read(&mut reader, &sent[..cut]).unwrap();
        assert!(items.len() <= 1 && !has_ended, "{cut}");
        // The rest comes later.
        let (rest, has_ended) = read(&mut reader, &sent[cut..]).unwrap();
        assert!(items.len() + rest.len() == 1 && has_ended, "{cut}");
    }
    let more = [&sent[..], &[0]].concat();
    let length = number(&sent[..4]) as u32 + 1;
    let beyond = [&length.to_le_bytes(), &sent[4..]].concat();
    let long = [u32::MAX.to_le_bytes().as_slice(), &sent[4..]].concat();
    // A layout of pixels that there is not.
    let mut other = sent.clone();
    let is_name = |it: &[u8]| it == b"grey" || it == b"mono";
    let name = other.windows(4).position(is_name).unwrap();
    other[name + 2] = b'a';
    for bad in [&[0; 8][..], &long, &more, &beyond, &other] {
        assert!(read(&mut reader(), bad).is_err());
    }
}

#[test]
fn a_long_entry_is_sent_in_parts() {
    let mut long = call();
    long.failed = Some("x".repeat(3 * PART));
    let sent = parts(vec![
        Item::Call(call().into()),
        Item::Call(long.clone().into()),
    ]);
    assert!(sent.len() >= 4 && sent.iter().all(|it| it.len() <= PART));
    let mut reader = reader();
    let read = sent
        .iter()
        .flat_map(|part| read(&mut reader, part).unwrap().0);
    let read: Vec<_> = read.collect();
    assert!(matches!(&read[..], [Item::Call(_), Item::Call(it)] if **it == long));
}

#[test]
fn without_messages_only_calls_are_sent() {
    let sent = sent(vec![item(1, packed()), Item::Call(call().into())], false);
    let (items, has_ended) = read(&mut reader(), &sent[0]).unwrap();
    assert!(matches!(&items[..], [Item::Call(_)]) && has_ended);
}

#[test]
fn an_arrived_message_without_a_number_of_recordings_is_not_recorded() {
    let noted: Arc<Mutex<Vec<_>>> = Arc::default();
    let settings = Settings {
        lossless: true,
        has_others: true,
        ..Settings::default()
    };
    let sink = Box::new(NotingSink(noted.clone()));
    let (recorder, recording) = Recorder::start(about(), sink, settings).unwrap();
    for number in [1, LAST_NUMBER + 1, u64::MAX, 2] {
        recorder.arrived(0, 0, &message(number).into());
    }
    recording.finish().unwrap();
    assert_eq!(*noted.lock().unwrap(), [1, 2, 0]);
}

#[test]
fn an_entry_that_is_too_long_ends_the_recording() {
    let mut sink = TransferSink::new(Box::new(|_| true), true);
    let mut long = call();
    long.failed = Some("x".repeat(LONGEST_HEAD));
    let error = sink.put(Item::Call(long.into())).unwrap_err();
    assert!(
        error.to_string().contains("is too long to be sent"),
        "{error}"
    );
}

/// Notes what it is given: the numbers of messages, and whether it ended early.
struct NotingSink(Arc<Mutex<Vec<u64>>>);

impl Sink for NotingSink {
    fn put(&mut self, item: Item) -> Result<Put, WriteError> {
        if let Item::Message(_, message, _) = item {
            self.0.lock().unwrap().push(message.lineage.sequence);
        }
        Ok(Put::Plain)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        self.0.lock().unwrap().push(0);
        Ok(())
    }

    fn end_early(self: Box<Self>) -> Result<(), WriteError> {
        Ok(())
    }
}

/// The numbers of what a recorder writes to which a batch and messages come; 0: it was whole.
fn recorded(has_others: bool, ends_early: bool) -> Vec<u64> {
    let noted: Arc<Mutex<Vec<_>>> = Arc::default();
    let sink = Box::new(NotingSink(noted.clone()));
    let settings = Settings {
        lossless: true,
        has_others,
        ..Settings::default()
    };
    let (recorder, recording) = Recorder::start(about(), sink, settings).unwrap();
    // Its edge was faster than its recorder, and slower.
    recorder.arrived(0, 0, &message(1).into());
    if has_others {
        let sent = parts(vec![item(1, packed()), item(2, Picture::None)]);
        let added = reader().add(&sent[0], Some(&recorder), None);
        assert_eq!(added, Ok(true));
    }
    recorder.arrived(0, 0, &message(2).into());
    if ends_early {
        recorder.end_early("it died", 9);
    }
    recording.finish().unwrap();
    std::mem::take(&mut *noted.lock().unwrap())
}

#[test]
fn a_message_that_comes_twice_is_recorded_once() {
    assert_eq!(recorded(true, false), [1, 2, 0]);
    // A flight recorder has what arrives.
    assert_eq!(recorded(false, false), [1, 2, 0]);
    assert_eq!(recorded(true, true), [1, 2]);
}

proptest! {
    #[test]
    fn fuzz_parts(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut sent = parts(vec![
            item(1, packed()),
            Item::Call(call().into()),
            Item::Dropped(dropped()),
            Item::Problem(trouble()),
        ]).remove(0);
        for (index, byte) in changes {
            let index = index.index(sent.len());
            sent[index] = byte;
        }
        for item in read(&mut reader(), &sent).into_iter().flat_map(|(items, _)| items) {
            if let Item::Message(_, _, Picture::Packed(packed)) = item {
                let _ = packed.unpack(|pixels| pixels.bytes().len());
            }
        }
        let cut = cut.index(sent.len());
        let _ = read(&mut reader(), &sent[..cut]);
    }
}
