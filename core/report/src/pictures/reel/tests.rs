use std::path::Path;

use flowpipe_recording::entry::{About, AboutStage};
use flowpipe_recording::{Encoding, Pixels, Schemas, Writer};

use super::*;

const SIZE: (u32, u32) = (1920, 1080);

/// A recording of a source that captured these pictures, one every sixtieth of a second.
fn recorded(path: &Path, pictures: impl Iterator<Item = Vec<u8>>) -> Recording {
    let about = About {
        format: flowpipe_recording::FORMAT,
        flowpipe: "0".into(),
        name: "test".into(),
        file: "test.toml".into(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: vec![AboutStage {
            name: "screen".into(),
            role: "capture".into(),
            plugins: Vec::new(),
            inputs: Vec::new(),
            outputs: vec![("out".into(), "flowpipe.frame/1".into())],
            timeout_ns: None,
            isolated: false,
            workers: 1,
            machine: None,
        }],
        edges: Vec::new(),
    };
    let mut writer = Writer::new(
        std::fs::File::create(path).unwrap(),
        &about,
        "",
        Schemas::new(),
    )
    .unwrap();
    let topic = Topic::new("screen", "out");
    for (index, bytes) in pictures.enumerate() {
        let (sequence, at) = (index as u64 + 1, index as i64 * 16_666_667);
        let body = "{\"source\":\"test\"}";
        writer
            .message(&topic, "flowpipe.frame/1", body, sequence, (at, at))
            .unwrap();
        let pixels = Pixels {
            encoding: Encoding::Rgb8,
            width: SIZE.0,
            height: SIZE.1,
            stride: SIZE.0 * 3,
            bytes: &bytes,
        };
        writer.pixels(&topic, sequence, &pixels, (at, at)).unwrap();
    }
    writer.finish().unwrap();
    Recording::open(path).unwrap()
}

/// Stripes all over, other ones in each picture.
fn stripes(seed: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SIZE.0 as usize * SIZE.1 as usize * 3);
    for y in 0..SIZE.1 as usize {
        for x in 0..SIZE.0 as usize {
            let value = (x * (seed % 5 + 1) / 16 + y * (seed % 7 + 1) / 24) % 2 * 200;
            bytes.extend([value as u8, seed as u8, 255 - value as u8]);
        }
    }
    bytes
}

/// One picture, with a spot that wanders.
fn spot(place: usize) -> Vec<u8> {
    let mut bytes = stripes(3);
    for y in 400..440 {
        for x in 100 + 10 * place..140 + 10 * place {
            let at = (y * SIZE.0 as usize + x) * 3;
            bytes[at..at + 3].copy_from_slice(&[255, 255, 255]);
        }
    }
    bytes
}

fn reel(recording: &Recording, limit: usize) -> Reel {
    Reel::of(recording, &Frames::of(recording), limit)
}

#[test]
fn pictures_stay_within_their_limit_and_are_left_out_evenly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stripes.mcap");
    let recording = recorded(&path, (0..40).map(stripes));
    let all = reel(&recording, usize::MAX);
    assert_eq!((all.distinct, all.kept, all.of.len()), (40, 40, 40));
    let needed = all.characters();
    let (mut kept, mut width) = (40, u32::MAX);
    for share in [2, 6, 20, 80] {
        let limit = needed / share;
        let less = reel(&recording, limit);
        assert!(
            less.characters() <= limit,
            "{} of {limit}",
            less.characters()
        );
        // With less room there are fewer of one size, or smaller ones.
        let smaller = less.shots[0].size.0;
        assert!(smaller <= width, "{share}: {smaller} after {width}");
        assert!(
            0 < less.kept && (smaller < width || less.kept <= kept),
            "{share}"
        );
        (kept, width) = (less.kept, smaller);
        // Every frame shows something, and from one own picture to the next it is nowhere more than twice as far: what was chosen
        // evenly may be thinned evenly again.
        assert!(less.of.iter().all(|&shot| shot >= 0));
        let own: Vec<usize> = (0..40).filter(|&frame| less.own[frame]).collect();
        assert_eq!(own.len(), less.kept);
        let steps = own.windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = (steps.clone().min(), steps.max());
        assert!(most.unwrap_or(0) <= 2 * least.unwrap_or(0), "{own:?}");
    }
    let none = reel(&recording, 0);
    assert_eq!((none.distinct, none.kept), (40, 0));
    assert!(none.of.iter().all(|&shot| shot == -1));
}

#[test]
fn of_what_hardly_changes_only_the_change_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spot.mcap");
    let pictures = [0, 1, 2, 3, 4, 5, 0, 6].into_iter().map(spot);
    let recording = recorded(&path, pictures);
    let reel = reel(&recording, usize::MAX);
    assert_eq!((reel.distinct, reel.kept), (7, 7));
    assert_eq!(reel.of[6], reel.of[0], "the same picture again");
    let tiles: Vec<usize> = reel
        .shots
        .iter()
        .filter_map(|shot| Some(shot.over.as_ref()?.0))
        .collect();
    // Each thread begins with a whole picture.
    assert!(tiles.len() >= 7 - std::thread::available_parallelism().map_or(1, NonZero::get));
    let key = reel.data[reel.shots[0].key].characters();
    for tiles in tiles {
        assert!(reel.data[tiles].characters() * 10 < key, "{tiles}");
    }
}
