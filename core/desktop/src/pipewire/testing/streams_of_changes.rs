//! What is received of a stream whose pictures come with what has changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pipewire::spa::sys::spa_region;

use super::super::pictures::PictureReceiver;
use super::super::tracking::NAMES_CHANGES;
use super::super::{Pictures, Remote, Whole};
use super::canvas::{Area, Canvas, region_of};
use super::daemon::{Daemon, PATIENCE};
use super::memory::can_make_dma_buf;
use super::producer::{Kind, Painted, Producer, Sent};

/// How long it takes at most until a picture has come, unless it is lost because nobody received yet.
const SOON: Duration = Duration::from_millis(200);
const SIZE: [u32; 2] = [64, 48];
const LEFT: Area = [3, 5, 20, 20];
const RIGHT: Area = [40, 5, 20, 20];

fn known() -> &'static str {
    std::str::from_utf8(NAMES_CHANGES).unwrap()
}

fn memory(size: [u32; 2]) -> Sent {
    Sent {
        size,
        offset: 64,
        gap: 128,
        kinds: vec![Kind::Memory],
    }
}

/// A stream, with what its screen shows.
struct Show {
    producer: Producer,
    pictures: Pictures,
    canvas: Canvas,
    /// What is sent ends before what sends.
    _daemon: Daemon,
}

impl Show {
    /// Begins one whose sender calls it so. What is named as changed is never compared.
    fn begin(name: &'static str, sent: &Sent) -> Self {
        let daemon = Daemon::start();
        let producer = Producer::start_as(name, &daemon.socket(), sent.clone());
        let receiver = PictureReceiver::new(Arc::default(), false);
        receiver.tracking.borrow_mut().check_every = Duration::MAX;
        let remote = Remote::Socket(daemon.socket());
        let pictures = Pictures::receive(producer.node, remote, receiver).unwrap();
        let mut show = Self {
            producer,
            pictures,
            canvas: Canvas::new(sent.size),
            _daemon: daemon,
        };
        show.settle();
        // Of these, the second is copied to memory that was used before, and compared.
        for picture in 1..4 {
            show.paint(LEFT, picture);
            show.settle();
        }
        show
    }

    fn paint(&mut self, area: Area, picture: u32) {
        self.paint_all(&[area], picture, &[region_of(area)]);
    }

    fn paint_all(&mut self, areas: &[Area], picture: u32, regions: &[spa_region]) {
        for area in areas {
            self.canvas.paint(*area, picture);
        }
        self.producer.show(Painted {
            areas: areas.iter().map(|area| (*area, picture)).collect(),
            regions: regions.to_vec(),
            is_replaced: false,
        });
    }

    /// Waits until a picture is the newest one.
    fn wait_for(&self, canvas: &Canvas, patience: Duration) -> Result<(), String> {
        let is_it = |it: &Whole| it.size == canvas.size && it.pixels == canvas.pixels;
        let newest = self.pictures.newest();
        newest.with(patience, || false, is_it, |_| ())
    }

    /// Waits until the screen is seen as it is. Sends more pictures meanwhile, which name nothing.
    fn settle(&mut self) {
        let began = Instant::now();
        while let Err(error) = self.wait_for(&self.canvas, SOON) {
            assert!(began.elapsed() < PATIENCE, "{error}");
            self.producer.show(Painted::default());
        }
    }
}

#[test]
fn regions_are_wanted_of_a_known_sender_alone() {
    let (long, many) = (Duration::from_secs(10), 7..17);
    for (name, are_wanted, patience, mut tries) in [
        (known(), true, long, many),
        ("producer", false, SOON, 7..10),
    ] {
        let mut show = Show::begin(name, &memory(SIZE));
        // PipeWire may lose a picture, so that the next one is copied whole.
        let is_believed = tries.any(|picture| {
            // What the last picture has changed is copied with the next one: they have other memory.
            for area in [RIGHT, LEFT] {
                show.paint(area, 1_000 + picture);
                show.settle();
            }
            let mut believed = show.canvas.clone();
            believed.paint(LEFT, picture);
            // The right part is not named.
            show.paint_all(&[LEFT, RIGHT], picture, &[region_of(LEFT)]);
            show.wait_for(&believed, patience).is_ok()
        });
        assert_eq!(is_believed, are_wanted, "{name}");
        let have_room = show.producer.shown();
        assert!(have_room.iter().all(|it| *it == are_wanted), "{name}");
        assert!(have_room.len() > 2, "{name}");
    }
}

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as u32 % end
    }

    fn area(&mut self, [width, height]: [u32; 2]) -> Area {
        let (x, y) = (self.below(width), self.below(height));
        let longest = if self.below(4) > 0 { 8 } else { 64 };
        let mut length = |rest: u32| 1 + self.below(rest.min(longest));
        [x, y, length(width - x), length(height - y)]
    }
}

/// Random parts change, some pictures are lost, many come at once, and sizes change.
fn all_changes_are_seen(kind: &Kind) {
    let sent = |size| Sent {
        kinds: vec![kind.clone()],
        ..memory(size)
    };
    let sizes = [SIZE, [48, 64], [200, 120], SIZE];
    let mut numbers = Numbers(1);
    let mut show = Show::begin(known(), &sent(sizes[0]));
    let mut picture = 10;
    for (index, size) in sizes.into_iter().enumerate() {
        if index > 0 {
            show.producer.send(sent(size));
            show.canvas = Canvas::new(size);
            show.settle();
        }
        for _ in 0..25 {
            for _ in 0..=numbers.below(12) {
                let mut painted = Painted {
                    is_replaced: numbers.below(8) == 0,
                    ..Painted::default()
                };
                for _ in 0..numbers.below(5) {
                    picture += 1;
                    let area = numbers.area(size);
                    show.canvas.paint(area, picture);
                    painted.areas.push((area, picture));
                    painted.regions.push(region_of(area));
                }
                show.producer.show(painted);
            }
            show.settle();
        }
    }
    let shown = show.producer.shown();
    assert!(shown.len() > 100 && shown.iter().all(|it| *it));
}

#[test]
fn all_changes_are_seen_of_memory() {
    all_changes_are_seen(&Kind::Memory);
}

#[test]
fn all_changes_are_seen_of_a_device() {
    if let Err(why) = can_make_dma_buf() {
        flowpipe_testing::note!("skipped: this machine makes no DMA-BUF: {why}");
        return;
    }
    all_changes_are_seen(&Kind::DmaBuf {
        modifiers: vec![0],
        is_real: true,
    });
}
