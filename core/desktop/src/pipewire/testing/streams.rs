//! What is received of a stream.

use std::time::{Duration, Instant};

use pipewire::spa::sys::spa_chunk;

use super::super::{Pictures, Remote};
use super::daemon::{Daemon, PATIENCE};
use super::memory::can_make_dma_buf;
use super::producer::{Kind, Producer, Sent, pixel};

/// How long it takes at most until a picture has come, unless it is lost because nobody received yet.
const SOON: Duration = Duration::from_millis(200);
/// Intel's tiles of kind X.
const TILES: i64 = 1 << 56 | 1;
/// A layout that only a driver knows.
const IMPLICIT: i64 = (1 << 56) - 1;

fn dma_buf(modifiers: &[i64], is_real: bool) -> Kind {
    let modifiers = modifiers.to_vec();
    Kind::DmaBuf { modifiers, is_real }
}

fn sent(size: [u32; 2], offset: u32, gap: u32, kind: &Kind) -> Sent {
    let kinds = vec![kind.clone()];
    Sent {
        size,
        offset,
        gap,
        kinds,
    }
}

fn open(daemon: &Daemon, producer: &Producer) -> Pictures {
    Pictures::open(producer.node, Remote::Socket(daemon.socket())).unwrap()
}

/// The newest picture of a size that is wanted.
fn newest(
    pictures: &Pictures,
    patience: Duration,
    size: [u32; 2],
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, String> {
    pictures.newest().with(
        patience,
        || false,
        |it| it.size == size && is_wanted(&it.pixels),
        |it| it.pixels.clone(),
    )
}

/// Draws a picture until it has come, and compares all of its pixels.
fn pass(producer: &Producer, pictures: &Pictures, sent: &Sent, picture: u32) {
    pass_at(producer, pictures, sent, picture, sent.chunk());
}

/// As [`pass`], with what is said of where it lies.
fn pass_at(producer: &Producer, pictures: &Pictures, sent: &Sent, picture: u32, chunk: spa_chunk) {
    let [width, height] = sent.size;
    let all = || (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let wanted: Vec<u8> = all().flat_map(|[x, y]| pixel(picture, x, y)).collect();
    let began = Instant::now();
    let seen = loop {
        producer.draw(picture, chunk);
        let is_it = |pixels: &[u8]| pixels[..4] == wanted[..4];
        match newest(pictures, SOON, sent.size, is_it) {
            Ok(seen) => break seen,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{sent:?}: {error}"),
        }
    };
    let wrong = seen.iter().zip(&wanted).filter(|(it, to)| it != to).count();
    assert_eq!([seen.len(), wrong], [wanted.len(), 0], "{sent:?}");
}

/// Waits for what is said instead of a picture.
fn refusal(producer: &Producer, pictures: &Pictures, size: [u32; 2], chunk: spa_chunk) -> String {
    let began = Instant::now();
    loop {
        producer.draw(7, chunk);
        let seen = newest(pictures, SOON, size, |_| true);
        match seen {
            Err(error) if !is_early(&error) => return error,
            seen => assert!(began.elapsed() < PATIENCE, "{:?}", seen.map(|it| it.len())),
        }
        // The one before is still there.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether nothing has come yet.
fn is_early(error: &str) -> bool {
    error.contains("sends no picture") || error.contains("has paused")
}

/// Real DMA-BUF, where the machine makes it.
fn real_dma_buf() -> Option<Kind> {
    match can_make_dma_buf() {
        Ok(()) => Some(dma_buf(&[0], true)),
        Err(why) => {
            flowpipe_testing::note!("skipped: this machine makes no DMA-BUF: {why}");
            None
        }
    }
}

/// Pictures of several sizes, with gaps between rows and before the first one, in one stream.
fn all_pixels_are_read(kind: &Kind) {
    let daemon = Daemon::start();
    let sizes = [
        sent([64, 48], 0, 0, kind),
        sent([800, 600], 0, 256, kind),
        sent([33, 7], 4096, 124, kind),
        sent([640, 480], 64, 0, kind),
        sent([1, 1], 12, 4, kind),
        sent([64, 48], 0, 64, kind),
    ];
    let producer = Producer::start(&daemon.socket(), sizes[0].clone());
    let pictures = open(&daemon, &producer);
    let mut picture = 0;
    for (index, sent) in sizes.iter().enumerate() {
        if index > 0 {
            producer.send(sent.clone());
        }
        for _ in 0..8 {
            picture += 1;
            pass(&producer, &pictures, sent, picture);
        }
    }
    let made = producer.made();
    let is_dma_buf = *kind != Kind::Memory;
    assert!(made.iter().all(|it| *it == is_dma_buf) && made.len() > 6);
}

#[test]
fn all_pixels_are_read_of_memory() {
    all_pixels_are_read(&Kind::Memory);
}

#[test]
fn all_pixels_are_read_of_a_device() {
    if let Some(kind) = real_dma_buf() {
        all_pixels_are_read(&kind);
    }
}

/// What lies elsewhere than in the buffer is an error, and the next picture is read.
fn wrong_places_are_refused(kind: &Kind) {
    let daemon = Daemon::start();
    // Not all of its pages: the memory is longer.
    let sent = sent([64, 48], 128, 64, kind);
    let producer = Producer::start(&daemon.socket(), sent.clone());
    let pictures = open(&daemon, &producer);
    pass(&producer, &pictures, &sent, 1);
    let good = sent.chunk();
    let wrong = [
        spa_chunk {
            stride: i32::MAX,
            ..good
        },
        spa_chunk {
            stride: i32::MIN,
            ..good
        },
        spa_chunk { stride: -1, ..good },
        // Rows that overlap.
        spa_chunk {
            stride: 64 * 4 - 1,
            ..good
        },
        // A row beyond the last page.
        spa_chunk {
            stride: 64 * 4 + 200,
            size: u32::MAX,
            ..good
        },
        spa_chunk {
            offset: u32::MAX,
            ..good
        },
        spa_chunk {
            offset: 1 << 20,
            ..good
        },
        spa_chunk { size: 1, ..good },
        spa_chunk {
            offset: u32::MAX,
            size: u32::MAX,
            stride: i32::MAX,
            ..good
        },
    ];
    for (chunk, picture) in wrong.into_iter().zip(2..) {
        let error = refusal(&producer, &pictures, sent.size, chunk);
        assert!(error.contains("64 x 48 pixels in"), "{chunk:?}: {error}");
        pass(&producer, &pictures, &sent, picture);
    }
}

#[test]
fn wrong_places_in_memory_are_refused() {
    wrong_places_are_refused(&Kind::Memory);
}

#[test]
fn wrong_places_in_a_device_are_refused() {
    if let Some(kind) = real_dma_buf() {
        wrong_places_are_refused(&kind);
    }
}

#[test]
fn of_a_device_the_size_may_be_left_out() {
    let Some(kind) = real_dma_buf() else { return };
    let daemon = Daemon::start();
    let sent = sent([64, 48], 0, 0, &kind);
    let producer = Producer::start(&daemon.socket(), sent.clone());
    let pictures = open(&daemon, &producer);
    let chunk = spa_chunk {
        size: 0,
        ..sent.chunk()
    };
    pass_at(&producer, &pictures, &sent, 1, chunk);
}

#[test]
fn memory_is_preferred() {
    let daemon = Daemon::start();
    let kinds = vec![dma_buf(&[TILES, 0], false), Kind::Memory];
    let sent = Sent {
        kinds,
        ..sent([64, 48], 0, 0, &Kind::Memory)
    };
    let producer = Producer::start(&daemon.socket(), sent.clone());
    let pictures = open(&daemon, &producer);
    pass(&producer, &pictures, &sent, 1);
    let made = producer.made();
    assert!(!made.is_empty() && !made.contains(&true), "{made:?}");
}

#[test]
fn other_layouts_are_not_read() {
    let daemon = Daemon::start();
    for modifiers in [&[TILES][..], &[IMPLICIT], &[TILES, IMPLICIT]] {
        let sent = sent([64, 48], 0, 0, &dma_buf(modifiers, false));
        let producer = Producer::start(&daemon.socket(), sent.clone());
        let pictures = open(&daemon, &producer);
        let began = Instant::now();
        let error = loop {
            producer.draw(1, sent.chunk());
            let error = newest(&pictures, SOON, sent.size, |_| true).unwrap_err();
            if began.elapsed() > Duration::from_secs(2) {
                break error;
            }
        };
        // What PipeWire says of it depends on its version.
        assert!(error.contains("PipeWire"), "{modifiers:?}: {error}");
        assert!(producer.made().is_empty());
    }
}

#[test]
fn other_memory_is_not_read_as_that_of_a_device() {
    let daemon = Daemon::start();
    let sent = sent([64, 48], 0, 0, &dma_buf(&[0], false));
    let producer = Producer::start(&daemon.socket(), sent.clone());
    let pictures = open(&daemon, &producer);
    let error = refusal(&producer, &pictures, sent.size, sent.chunk());
    assert!(error.contains("other memory as DMA-BUF"), "{error}");
    // It stays the reason, however PipeWire ends or pauses the stream then.
    std::thread::sleep(Duration::from_secs(1));
    let error = newest(&pictures, SOON, sent.size, |_| true).unwrap_err();
    assert!(error.contains("other memory as DMA-BUF"), "{error}");
}
