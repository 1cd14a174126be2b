//! Pictures with regions, as they are received: whatever happens to them, what is seen is what the screen shows.

use std::sync::Arc;
use std::time::Duration;

use pipewire::spa::sys::{
    SPA_CHUNK_FLAG_CORRUPTED, SPA_DATA_MemPtr, SPA_META_Header, SPA_META_VideoDamage, spa_buffer,
    spa_chunk, spa_data, spa_meta, spa_meta_header, spa_meta_region, spa_region,
};
use proptest::prelude::*;

use super::super::cut::Cut;
use super::super::format::Agreed;
use super::super::pictures::PictureReceiver;
use super::super::rows::Layout;
use super::super::stream::Receiver as _;
use super::super::tracking::NAMES_CHANGES;
use super::canvas::{Area, Canvas, Share, region, region_of, share, write};
use crate::rect::Rect;

/// A compositor beside a receiver. It has room for a few regions.
struct Screen {
    canvas: Canvas,
    receiver: PictureReceiver,
    sequence: u64,
    /// What has changed that was not sent yet.
    owed: Vec<spa_region>,
    room: usize,
}

/// What comes beside the pixels.
struct Beside<'a> {
    sequence: Option<u64>,
    regions: Option<&'a [spa_region]>,
    flags: i32,
    /// Of the chunk, in bytes. `None`: as many as there are.
    size: Option<u32>,
}

impl Screen {
    fn new(size: [u32; 2], name: &[u8]) -> Self {
        let receiver = PictureReceiver::new(Arc::default(), false);
        receiver.name_sender(name);
        // What is named is not compared.
        receiver.tracking.borrow_mut().check_every = Duration::MAX;
        let mut screen = Self {
            canvas: Canvas::new(size),
            receiver,
            sequence: 0,
            owed: Vec::new(),
            room: 4,
        };
        screen.agree(size);
        screen
    }

    fn agree(&mut self, size: [u32; 2]) {
        let layout = Layout::new(size[0], size[1], false).unwrap();
        let is_dma_buf = false;
        self.receiver.agree(Ok(Agreed { layout, is_dma_buf }));
        self.canvas = Canvas::new(size);
    }

    /// Receives a picture of the screen. Returns what is seen then.
    fn take(&mut self, beside: &Beside<'_>) -> Result<Vec<u8>, String> {
        let mut pixels = self.canvas.pixels.clone();
        let mut chunk = spa_chunk {
            offset: 0,
            size: beside.size.unwrap_or(pixels.len() as u32),
            stride: self.canvas.size[0] as i32 * 4,
            flags: beside.flags,
        };
        let mut data = spa_data {
            type_: SPA_DATA_MemPtr,
            flags: 0,
            fd: -1,
            mapoffset: 0,
            maxsize: pixels.len() as u32,
            data: pixels.as_mut_ptr().cast(),
            chunk: &raw mut chunk,
        };
        let mut header = spa_meta_header {
            flags: 0,
            offset: 0,
            pts: 0,
            dts_offset: 0,
            seq: beside.sequence.unwrap_or(0),
        };
        // As a buffer that was used before.
        let stale = region(-7, 3, u32::MAX, 1);
        let mut regions = vec![spa_meta_region { region: stale }; self.room];
        write(beside.regions.unwrap_or_default(), &mut regions);
        let bytes = |count: usize, one: usize| (count * one) as u32;
        let mut metas = Vec::new();
        if beside.sequence.is_some() {
            metas.push(spa_meta {
                type_: SPA_META_Header,
                size: bytes(1, size_of::<spa_meta_header>()),
                data: (&raw mut header).cast(),
            });
        }
        if beside.regions.is_some() {
            metas.push(spa_meta {
                type_: SPA_META_VideoDamage,
                size: bytes(regions.len(), size_of::<spa_meta_region>()),
                data: regions.as_mut_ptr().cast(),
            });
        }
        let buffer = spa_buffer {
            n_metas: metas.len() as u32,
            n_datas: 1,
            metas: metas.as_mut_ptr(),
            datas: &raw mut data,
        };
        // SAFETY: all that it names is there, and as long.
        unsafe { self.receiver.take(Some(&buffer)) };
        self.seen()
    }

    fn seen(&self) -> Result<Vec<u8>, String> {
        let newest = &self.receiver.newest;
        newest.with(Duration::ZERO, || false, |_| true, |it| it.pixels.clone())
    }

    /// Sends what is owed.
    fn send(&mut self) -> Result<Vec<u8>, String> {
        self.sequence += 1;
        let regions = std::mem::take(&mut self.owed);
        self.take(&Beside {
            sequence: Some(self.sequence),
            regions: Some(&regions),
            flags: 0,
            size: None,
        })
    }

    /// Paints a part, and names others.
    fn paint(&mut self, area: Area, picture: u32, named: &[spa_region]) {
        self.canvas.paint(area, picture);
        self.owed.extend_from_slice(named);
    }
}

const SIZE: [u32; 2] = [40, 30];
const LEFT: Area = [1, 2, 10, 10];
const RIGHT: Area = [21, 2, 10, 10];

/// A screen of which pictures were received, the last ones with what has changed in them.
fn begun(name: &[u8]) -> Screen {
    let mut screen = Screen::new(SIZE, name);
    let seen = screen.send();
    assert!(is(&seen, &screen.canvas));
    // Of these, the second is copied to memory that was used before, and compared.
    for picture in 1..4 {
        screen.paint(LEFT, picture, &[region_of(LEFT)]);
        let seen = screen.send();
        assert!(is(&seen, &screen.canvas));
    }
    screen
}

/// Whether a picture was seen that is the screen's.
fn is(seen: &Result<Vec<u8>, String>, canvas: &Canvas) -> bool {
    seen.as_ref() == Ok(&canvas.pixels)
}

#[test]
fn what_is_named_as_changed_is_copied_and_nothing_else() {
    let mut screen = begun(NAMES_CHANGES);
    let mut wanted = screen.canvas.clone();
    // A compositor that does not name all shows what is copied.
    screen.paint(LEFT, 7, &[region_of(LEFT)]);
    screen.paint(RIGHT, 7, &[]);
    wanted.paint(LEFT, 7);
    assert!(is(&screen.send(), &wanted));
    // Nothing is named: nothing is copied.
    screen.paint(LEFT, 8, &[]);
    assert!(is(&screen.send(), &wanted));
}

#[test]
fn only_a_sender_that_is_known_is_relied_on() {
    for name in [
        &b""[..],
        b"meta-screen-cast-src",
        b"kwin-screencast-Virtual-1",
        b"xdg-desktop-portal-wlr",
        b"meta-stream-source-source2",
    ] {
        let mut screen = begun(name);
        screen.paint(RIGHT, 7, &[]);
        let seen = screen.send();
        assert!(is(&seen, &screen.canvas), "{name:?}");
    }
}

#[test]
fn what_can_t_be_relied_on_means_that_all_has_changed() {
    let regions = [region_of(LEFT)];
    for (what, step, has_regions, is_relied_on) in [
        ("as it should be", Some(1), true, true),
        ("a gap", Some(2), true, false),
        ("the same number", Some(0), true, false),
        ("a step back", Some(u64::MAX), true, false),
        ("no number", None, true, false),
        ("no regions", Some(1), false, false),
    ] {
        let mut screen = begun(NAMES_CHANGES);
        screen.paint(RIGHT, 7, &[]);
        let seen = screen.take(&Beside {
            sequence: step.map(|step: u64| screen.sequence.wrapping_add(step)),
            regions: has_regions.then_some(&regions),
            flags: 0,
            size: None,
        });
        assert_eq!(is(&seen, &screen.canvas), !is_relied_on, "{what}");
    }
    let [width, height] = SIZE;
    for bad in [
        region(-1, 0, 5, 5),
        region(0, i32::MIN, 5, 5),
        region(0, 0, width + 1, 1),
        region(0, 1, 1, height),
        region(i32::MAX, 0, u32::MAX, 1),
        region(3, 3, 0, 1),
        region(3, 3, u32::MAX, 1),
    ] {
        let mut screen = begun(NAMES_CHANGES);
        screen.paint(RIGHT, 7, &[region_of(LEFT), bad]);
        let seen = screen.send();
        assert!(is(&seen, &screen.canvas), "{bad:?}");
    }
}

#[test]
fn a_comparison_ends_the_trust_in_a_sender_that_names_too_little() {
    let check = |screen: &mut Screen, every| {
        screen.receiver.tracking.borrow_mut().check_every = every;
    };
    let mut screen = begun(NAMES_CHANGES);
    screen.paint(RIGHT, 7, &[]);
    let seen = screen.send();
    assert!(!is(&seen, &screen.canvas));
    check(&mut screen, Duration::ZERO);
    // Also of a picture that is said to be the same.
    let seen = screen.send();
    assert!(is(&seen, &screen.canvas));
    check(&mut screen, Duration::MAX);
    for picture in 8..12 {
        screen.paint(RIGHT, picture, &[]);
        let seen = screen.send();
        assert!(is(&seen, &screen.canvas));
    }
    // The first one that names something is compared.
    let mut screen = Screen::new(SIZE, NAMES_CHANGES);
    for picture in 1..12 {
        screen.paint(RIGHT, picture, &[]);
        let seen = screen.send();
        assert!(is(&seen, &screen.canvas));
    }
}

/// What happens to a picture, or beside it.
#[derive(Clone, Debug)]
enum Fate {
    Sent,
    /// The compositor had no buffer for it.
    Skipped,
    /// PipeWire replaces it with the next one.
    Replaced,
    /// It only says where the pointer is, with what the buffer named before.
    PointerOnly(Vec<Share>),
    Failed,
    /// It lies beyond its memory.
    Unreadable,
    WithoutNumber,
    WithoutRegions,
    Paused,
    /// Another size is agreed on: the other way round, or the same.
    Agreed(bool),
}

fn fate() -> impl Strategy<Value = Fate> {
    let shares = prop::collection::vec(share(), 0..3);
    prop_oneof![
        12 => Just(Fate::Sent),
        4 => Just(Fate::Skipped),
        4 => Just(Fate::Replaced),
        4 => shares.prop_map(Fate::PointerOnly),
        1 => Just(Fate::Failed),
        1 => Just(Fate::Unreadable),
        1 => Just(Fate::WithoutNumber),
        1 => Just(Fate::WithoutRegions),
        1 => Just(Fate::Paused),
        1 => any::<bool>().prop_map(Fate::Agreed),
    ]
}

/// One who looks at a part of the screen, now and then.
#[derive(Default)]
struct Reader {
    cut: Cut,
    /// The last number, with the pixels that it stands for.
    before: Option<(u64, Vec<u8>)>,
    copies: usize,
}

impl Reader {
    /// Compares what is seen of a part with the screen.
    fn look(&mut self, screen: &Screen, share: Share) {
        let [x, y, width, height] = screen.canvas.area(share);
        let rect = |x: u32, y: u32, width, height| Rect {
            x: x as i32,
            y: y as i32,
            width,
            height,
        };
        let monitor = rect(0, 0, screen.canvas.size[0], screen.canvas.size[1]);
        let part = rect(x, y, width, height);
        let newest = &screen.receiver.newest;
        let take = |whole: &_| self.cut.take(whole, monitor, part);
        let Ok(size) = newest.with(Duration::ZERO, || false, |_| true, take) else {
            return;
        };
        let picture = self.cut.picture(part, size);
        assert_eq!([picture.width, picture.height], [width, height]);
        let wanted = screen.canvas.cut([x, y, width, height]);
        assert!(picture.pixels == wanted, "{share:?}");
        let number = picture.number.unwrap();
        if let Some((before, pixels)) = &self.before
            && *before == number
        {
            assert_eq!(*pixels, wanted);
        } else {
            self.copies += 1;
        }
        self.before = Some((number, wanted));
    }
}

#[test]
fn a_part_in_which_nothing_has_changed_is_not_copied() {
    let mut screen = begun(NAMES_CHANGES);
    let mut reader = Reader::default();
    // The left and the right half.
    let halves: [Share; 2] = [[0.0, 0.0, 0.5, 1.0], [0.55, 0.0, 0.45, 1.0]];
    let mut copies = |screen: &Screen, half: usize| {
        reader.look(screen, halves[half]);
        reader.copies
    };
    assert_eq!(copies(&screen, 0), 1);
    // No new picture, and one without a change.
    assert_eq!(copies(&screen, 0), 1);
    screen.send().unwrap();
    assert_eq!(copies(&screen, 0), 1);
    for picture in 2..9 {
        screen.paint(RIGHT, picture, &[region_of(RIGHT)]);
        screen.send().unwrap();
        assert_eq!(copies(&screen, 0), 1);
    }
    screen.paint(LEFT, 9, &[region_of(LEFT)]);
    screen.send().unwrap();
    assert_eq!(copies(&screen, 0), 2);
    // Another part is another one.
    assert_eq!(copies(&screen, 1), 3);
    assert_eq!(copies(&screen, 1), 3);
    assert_eq!(copies(&screen, 0), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// Nothing that is known of changes is ever wrong while the compositor names all of them.
    #[test]
    fn what_is_seen_is_what_the_screen_shows(
        steps in prop::collection::vec(
            (prop::collection::vec(share(), 0..6), fate(), any::<[bool; 2]>()), 1..40
        ),
        parts in [share(), share()],
        room in 1..8_usize,
        size in [1..24_u32, 1..16_u32],
    ) {
        let mut screen = Screen::new(size, NAMES_CHANGES);
        screen.room = room;
        let mut readers = [Reader::default(), Reader::default()];
        for (picture, (painted, fate, looks)) in (1..).zip(steps) {
            for share in painted {
                let area = screen.canvas.area(share);
                screen.paint(area, picture, &[region_of(area)]);
            }
            // Whether what is seen now is what the screen shows.
            let mut is_shown = false;
            let regions = std::mem::take(&mut screen.owed);
            let take = |screen: &mut Screen, number: bool, regions: Option<&[spa_region]>, flags, size| {
                screen.sequence += 1;
                let sequence = number.then_some(screen.sequence);
                screen.take(&Beside { sequence, regions, flags, size })
            };
            match fate {
                Fate::Sent => {
                    let seen = take(&mut screen, true, Some(&regions), 0, None);
                    prop_assert!(is(&seen, &screen.canvas));
                    is_shown = true;
                }
                Fate::WithoutNumber | Fate::WithoutRegions => {
                    let number = matches!(fate, Fate::WithoutRegions);
                    let regions = (!number).then_some(&*regions);
                    let seen = take(&mut screen, number, regions, 0, None);
                    prop_assert!(is(&seen, &screen.canvas));
                    is_shown = true;
                }
                Fate::Skipped => screen.owed = regions,
                Fate::Replaced => screen.sequence += 1,
                Fate::PointerOnly(stale) => {
                    let stale: Vec<_> = stale.into_iter().map(|it| region_of(screen.canvas.area(it))).collect();
                    let flag = SPA_CHUNK_FLAG_CORRUPTED as i32;
                    let _ = take(&mut screen, true, Some(&stale), flag, Some(0));
                    screen.owed = regions;
                }
                Fate::Failed => {
                    let _ = take(&mut screen, true, Some(&regions), SPA_CHUNK_FLAG_CORRUPTED as i32, None);
                }
                Fate::Unreadable => {
                    let seen = take(&mut screen, true, Some(&regions), 0, Some(1));
                    // Where nothing has changed, it is not read.
                    prop_assert!(seen.is_err() || is(&seen, &screen.canvas));
                }
                Fate::Paused => {
                    screen.receiver.runs(false);
                    prop_assert!(screen.seen().is_err());
                    screen.receiver.runs(true);
                    screen.owed = regions;
                }
                // What has changed then is not named.
                Fate::Agreed(is_turned) => {
                    let [width, height] = screen.canvas.size;
                    screen.agree(if is_turned { [height, width] } else { [width, height] });
                    screen.canvas.paint([0, 0, 1, 1], picture);
                    let seen = take(&mut screen, true, Some(&[]), 0, None);
                    prop_assert!(is(&seen, &screen.canvas));
                    is_shown = true;
                }
            }
            for ((reader, part), looks) in readers.iter_mut().zip(parts).zip(looks) {
                if looks && is_shown {
                    reader.look(&screen, part);
                }
            }
        }
    }
}
