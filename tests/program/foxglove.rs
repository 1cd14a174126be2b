//! A recording as Foxglove reads it: with MCAP's own reader, and validated against the schemas that Foxglove
//! publishes. Nothing here reads with flowpipe's own reader but to compare.

mod published;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use flowpipe_recording::{Entry, Recording};
use flowpipe_tests::record;
use mcap::read::Options;
use mcap::{Channel, Message, MessageStream, Summary};
use published::{Picture, Time};
use serde_json::{Value, json};

/// A recorded run of the ready pipeline, as a file.
fn recording() -> &'static [u8] {
    static RECORDING: OnceLock<Vec<u8>> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = record(folder.path(), "run.mcap", "pipelines/replay.toml");
        std::fs::read(path).unwrap()
    })
}

/// All messages, by a reader that lets nothing pass.
fn messages(file: &[u8]) -> Vec<Message<'_>> {
    let strict = Options::ValidateChunkCrcs.into();
    let stream = MessageStream::new_with_options(file, strict).unwrap();
    stream.map(Result::unwrap).collect()
}

/// Those whose schema has a name.
fn of_schema<'a>(file: &'a [u8], schema: &str) -> Vec<Message<'a>> {
    let has_it = |channel: &Channel<'_>| {
        let of = channel.schema.as_ref();
        of.is_some_and(|it| it.name == schema)
    };
    let mut all = messages(file);
    all.retain(|message| has_it(&message.channel));
    assert!(!all.is_empty(), "no {schema} at all");
    all
}

/// The pictures' sizes, by the time of their capture.
fn pictures() -> BTreeMap<Time, (f64, f64)> {
    let pictures = of_schema(recording(), "foxglove.RawImage");
    let pictures = pictures.iter().map(|message| {
        let picture = Picture::decode(&message.data);
        let size = (picture.width as f64, picture.height as f64);
        (picture.timestamp, size)
    });
    pictures.collect()
}

#[test]
fn the_file_is_whole_and_its_index_is_right() {
    let file = recording();
    let all = messages(file);
    let summary = Summary::read(file).unwrap().unwrap();
    let statistics = summary.stats.as_ref().unwrap();
    assert_eq!(statistics.message_count, all.len() as u64);
    assert_eq!(statistics.channel_count as usize, summary.channels.len());
    assert_eq!(statistics.schema_count as usize, summary.schemas.len());
    assert_eq!(statistics.chunk_count as usize, summary.chunk_indexes.len());
    assert_eq!(statistics.attachment_count, 2);
    let mut counted = BTreeMap::new();
    for message in &all {
        *counted.entry(message.channel.id).or_insert(0_u64) += 1;
    }
    assert_eq!(statistics.channel_message_counts, counted);
    let times = all.iter().map(|message| message.log_time);
    assert_eq!(times.clone().min(), Some(statistics.message_start_time));
    assert_eq!(times.max(), Some(statistics.message_end_time));

    // Each message is found by the index too, at its time.
    let mut found = 0;
    for chunk in &summary.chunk_indexes {
        for (channel, entries) in summary.read_message_indexes(file, chunk).unwrap() {
            for entry in entries {
                let message = summary.seek_message(file, chunk, &entry).unwrap();
                assert_eq!(message.channel.id, channel.id);
                assert_eq!(message.log_time, entry.log_time);
                let within = chunk.message_start_time..=chunk.message_end_time;
                assert!(within.contains(&message.log_time));
                found += 1;
            }
        }
    }
    assert_eq!(found, all.len());
    let mut attached: Vec<&str> = Vec::new();
    for index in &summary.attachment_indexes {
        attached.push(&index.name);
        let attachment = mcap::read::attachment(file, index).unwrap();
        assert!(!attachment.data.is_empty());
    }
    attached.sort_unstable();
    assert_eq!(attached, ["pipeline.toml", "run.json"]);
}

#[test]
fn pictures_are_raw_images_as_foxglove_has_them() {
    let pictures = of_schema(recording(), "foxglove.RawImage");
    assert_eq!(pictures.len(), 11);
    for message in &pictures {
        let schema = message.channel.schema.as_ref().unwrap();
        assert_eq!(schema.encoding, "protobuf");
        assert_eq!(message.channel.message_encoding, "protobuf");
        let own = published::fields(&schema.data);
        assert_eq!(own, published::fields(published::RAW_IMAGE));

        let picture = Picture::decode(&message.data);
        // As the documentation of its field `data` has them.
        let bytes = match picture.encoding.as_str() {
            "mono8" => 1,
            "rgb8" | "bgr8" => 3,
            "rgba8" | "bgra8" => 4,
            other => panic!("{other:?} is nothing that Foxglove shows"),
        };
        assert!(picture.width > 0 && picture.height > 0);
        assert!(picture.step >= picture.width * bytes);
        assert_eq!(picture.data.len() as u64, picture.step * picture.height);
        assert_eq!(picture.frame_id, "frames");
        // Viewers go by one of the two.
        let (sec, nsec) = picture.timestamp;
        let time = sec * 1_000_000_000 + nsec;
        assert_eq!(time, message.publish_time, "the time of the capture");
        assert!(message.log_time >= time);
    }
}

/// The same, without room for what Foxglove does not know: it would be passed over in silence.
fn without_more(mut schema: Value) -> Value {
    let Value::Object(map) = &mut schema else {
        return schema;
    };
    if map.contains_key("properties") {
        map.insert("additionalProperties".into(), json!(false));
    }
    for value in map.values_mut() {
        *value = without_more(value.take());
    }
    schema
}

#[test]
fn annotations_keep_the_schema_that_foxglove_publishes() {
    let schema = without_more(published::image_annotations());
    let validator = jsonschema::draft7::new(&schema).unwrap();
    // It finds what is wrong.
    let good = json!({ "circles": [], "points": [], "texts": [] });
    assert!(validator.is_valid(&good));
    assert!(!validator.is_valid(&json!({ "circles": [], "points": [], "texts": [], "text": [] })));
    assert!(
        !validator
            .is_valid(&json!({ "circles": [{ "diameter": "wide" }], "points": [], "texts": [] }))
    );

    let annotations = of_schema(recording(), "foxglove.ImageAnnotations");
    for message in &annotations {
        let schema = message.channel.schema.as_ref().unwrap();
        assert_eq!(message.channel.message_encoding, "json");
        assert_eq!(schema.encoding, "jsonschema");
        let body: Value = serde_json::from_slice(&message.data).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&body)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", message.channel.topic);
        // The file's own schemas match too.
        let own: Value = serde_json::from_slice(&schema.data).unwrap();
        assert!(jsonschema::draft7::new(&own).unwrap().is_valid(&body));
    }
}

#[test]
fn grid_terminals_and_strokes_lie_over_their_pictures() {
    let pictures = pictures();
    assert_eq!(pictures.len(), 11);
    let mut shown: BTreeMap<String, BTreeSet<Time>> = BTreeMap::new();
    for message in of_schema(recording(), "foxglove.ImageAnnotations") {
        let body: Value = serde_json::from_slice(&message.data).unwrap();
        let list = |name: &str| body[name].as_array().unwrap().clone();
        let (circles, points, texts) = (list("circles"), list("points"), list("texts"));
        match message.channel.topic.as_str() {
            "/vision/out/annotations" => {
                assert_eq!(points.len(), 1, "the grid");
                assert!(points[0]["points"].as_array().unwrap().len() >= 2 * 60);
                assert!(circles.len() >= 8 && circles.len() == texts.len());
            }
            "/planner/out/annotations" => {
                assert!(!points.is_empty() && circles.is_empty(), "the strokes");
            }
            other => panic!("{other}"),
        }
        for one in circles.iter().chain(&points).chain(&texts) {
            let time = |part: &str| one["timestamp"][part].as_u64().unwrap();
            let time = (time("sec"), time("nsec"));
            let (width, height) = pictures
                .get(&time)
                .unwrap_or_else(|| panic!("no picture was taken at {time:?}"));
            let within = |point: &Value| {
                let at = |axis: &str| point[axis].as_f64().unwrap();
                (0.0..=*width).contains(&at("x")) && (0.0..=*height).contains(&at("y"))
            };
            for point in one.get("position").into_iter().chain(path(one)) {
                assert!(within(point), "{point} in {width} x {height}");
            }
            let topic = message.channel.topic.clone();
            shown.entry(topic).or_default().insert(time);
        }
    }
    // Every picture has both.
    let all: BTreeSet<Time> = pictures.into_keys().collect();
    assert_eq!(shown.len(), 2);
    for (topic, times) in shown {
        assert_eq!(times, all, "{topic}");
    }
}

fn path(one: &Value) -> impl Iterator<Item = &Value> {
    one.get("points")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

#[test]
fn of_a_file_that_is_cut_off_everything_whole_is_read() {
    let file = recording();
    let whole = messages(file);
    let summary = Summary::read(file).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut counts = Vec::new();
    for percent in [30, 60, 90] {
        let cut = &file[..file.len() * percent / 100];
        // With any other reader: up to where it breaks off.
        let stream = MessageStream::new_with_options(cut, Options::IgnoreEndMagic.into()).unwrap();
        let mut read = Vec::new();
        let mut broken = false;
        for message in stream {
            match message {
                Ok(message) => read.push(message),
                Err(_) => {
                    broken = true;
                    break;
                }
            }
        }
        assert!(broken, "{percent} %: nobody noticed");
        assert_eq!(read, whole[..read.len()], "{percent} %");
        counts.push(read.len());

        // And with ours: everything in chunks that are whole, only those have a checksum.
        let chunks = summary.chunk_indexes.iter();
        let chunks =
            chunks.filter(|it| it.chunk_start_offset + it.chunk_length <= cut.len() as u64);
        let count = chunks.map(|chunk| {
            let channels = summary.read_message_indexes(file, chunk).unwrap();
            channels.values().map(Vec::len).sum::<usize>()
        });
        let count = count.sum();
        assert!(count > 0 && count <= read.len(), "{percent} %");
        let path = folder.path().join("cut.mcap");
        std::fs::write(&path, cut).unwrap();
        assert_eq!(ours(&path), entries(&whole[..count]), "{percent} %");
    }
    assert!(counts.is_sorted() && counts[0] < counts[2], "{counts:?}");
}

/// How many messages and calls flowpipe's own reader finds.
fn ours(path: &Path) -> usize {
    let recording = Recording::open(path).unwrap();
    assert!(recording.is_cut_off());
    let entries = recording.entries().iter();
    entries
        .filter(|entry| matches!(entry, Entry::Message(_) | Entry::Call(_)))
        .count()
}

/// How many of MCAP's messages are such.
fn entries(messages: &[Message<'_>]) -> usize {
    let holds = |message: &&Message<'_>| {
        let holds = message.channel.metadata.get("flowpipe.holds");
        holds.is_some_and(|holds| holds == "messages" || holds == "calls")
    };
    messages.iter().filter(holds).count()
}
