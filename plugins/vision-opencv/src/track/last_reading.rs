//! The last reading in place: the pixels that it was read from, and which of them have changed since.

use flowpipe_plugin::PixelInfo;
use flowpipe_plugin::puzzle::message::Reading;
use opencv::core::Rect;

use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::cache::{Area, Cache};

/// The size of the blocks by which changes are noted: bytes of a row.
const BYTES: usize = 64;
/// The rows of such a block.
const ROWS: usize = 16;

/// What was read last in place, all the pixels that it was read from, and what was seen in them.
#[derive(Default)]
pub struct LastReading {
    seen: Option<Seen>,
    /// Its memory is used again.
    bytes: Vec<u8>,
    changed: Vec<Bounds>,
}

struct Seen {
    part: Rect,
    info: PixelInfo,
    grid: Grid,
    /// `None` where no board could be read.
    reading: Option<Reading>,
    cache: Cache,
}

impl LastReading {
    /// Examines what has changed in the part. Gives the last reading, if nothing has.
    pub fn reading(&mut self, picture: &Picture<'_>) -> Option<&Reading> {
        let seen = self.seen.as_mut()?;
        if seen.info != picture.info() {
            return None;
        }
        let changed = Changed::update(picture, seen.part, &mut self.bytes, &mut self.changed);
        if let Some(changed) = changed {
            seen.reading = None;
            seen.cache.forget(|area| changed.touches(area));
        }
        seen.reading.as_ref()
    }

    /// The picture with what is remembered of it, where that is of a grid.
    #[must_use]
    pub fn remembered<'a>(&'a self, picture: &Picture<'a>, grid: &Grid) -> Option<Picture<'a>> {
        let seen = self.seen.as_ref()?;
        let is_it = seen.info == picture.info() && seen.grid == *grid;
        is_it.then(|| picture.with_cache(&seen.cache))
    }

    /// Begins to remember a part of a picture, in which a grid lies.
    pub fn begin(&mut self, picture: &Picture<'_>, part: Rect, grid: &Grid) {
        self.bytes.clear();
        for row in rows(picture, part) {
            self.bytes.extend_from_slice(row);
        }
        self.seen = Some(Seen {
            part,
            info: picture.info(),
            grid: grid.clone(),
            reading: None,
            cache: Cache::of(part),
        });
    }

    /// Keeps what was read in the picture that is remembered, if that depends on nothing else.
    pub fn keep(&mut self, reading: &Reading) {
        if let Some(seen) = &mut self.seen {
            let is_all = !seen.cache.went_beyond();
            seen.reading = is_all.then(|| reading.clone());
        }
    }

    /// Forgets it.
    pub fn clear(&mut self) {
        self.seen = None;
    }
}

/// All that has changed in a block lies in a box: bytes of rows, from the part's first ones on.
#[derive(Clone, Copy)]
struct Bounds {
    /// The first byte of a row, and the first row.
    from: [u32; 2],
    /// The last ones; before the first ones where nothing has changed.
    to: [u32; 2],
}

impl Bounds {
    const EMPTY: Self = Self {
        from: [u32::MAX; 2],
        to: [0; 2],
    };

    fn widen(&mut self, bytes: [usize; 2], row: usize) {
        let [first, last] = bytes.map(|byte| byte as u32);
        let row = row as u32;
        self.from = [self.from[0].min(first), self.from[1].min(row)];
        self.to = [self.to[0].max(last), self.to[1].max(row)];
    }

    fn meets(&self, other: &Self) -> bool {
        let meet =
            |axis: usize| self.from[axis] <= other.to[axis] && other.from[axis] <= self.to[axis];
        meet(0) && meet(1)
    }
}

/// What has changed in a part.
struct Changed<'a> {
    blocks: &'a [Bounds],
    /// Blocks from left to right.
    wide: usize,
    part: Rect,
    /// Bytes of one pixel.
    step: usize,
}

impl<'a> Changed<'a> {
    /// Compares a part with the bytes that it had, and takes over those that have changed. `None` where none have.
    fn update(
        picture: &Picture<'_>,
        part: Rect,
        bytes: &mut [u8],
        blocks: &'a mut Vec<Bounds>,
    ) -> Option<Self> {
        let step = picture.info().format.bytes_per_pixel();
        let length = part.width as usize * step;
        let wide = length.div_ceil(BYTES);
        blocks.clear();
        let old = bytes.chunks_exact_mut(length.max(1));
        for (row, (old, new)) in old.zip(rows(picture, part)).enumerate() {
            if old == new {
                continue;
            }
            blocks.resize(wide * (part.height as usize).div_ceil(ROWS), Bounds::EMPTY);
            let blocks = blocks[row / ROWS * wide..].iter_mut();
            let pieces = old.chunks(BYTES).zip(new.chunks(BYTES));
            for (index, (block, (old, new))) in blocks.zip(pieces).enumerate() {
                if old == new {
                    continue;
                }
                let differs = |(old, new): (&u8, &u8)| old != new;
                let first = old.iter().zip(new).position(differs).unwrap_or(0);
                let last = old.iter().zip(new).rposition(differs).unwrap_or(BYTES);
                block.widen([first, last].map(|byte| index * BYTES + byte), row);
            }
            old.copy_from_slice(new);
        }
        (!blocks.is_empty()).then_some(Self {
            blocks,
            wide,
            part,
            step,
        })
    }

    /// Whether something has changed in an area, which must lie in the part.
    fn touches(&self, area: Area) -> bool {
        let byte = |x: i32| (x - self.part.x) as u32 * self.step as u32;
        let row = |y: i32| (y - self.part.y) as u32;
        let area = Bounds {
            from: [byte(area.from[0]), row(area.from[1])],
            to: [byte(area.to[0] + 1) - 1, row(area.to[1])],
        };
        let [left, right] = [area.from[0], area.to[0]].map(|byte| byte as usize / BYTES);
        let [top, bottom] = [area.from[1], area.to[1]].map(|row| row as usize / ROWS);
        (top..=bottom).any(|row| {
            let blocks = &self.blocks[row * self.wide..][left..=right];
            blocks.iter().any(|block| block.meets(&area))
        })
    }
}

fn rows<'a>(picture: &Picture<'a>, part: Rect) -> impl Iterator<Item = &'a [u8]> {
    let (left, top) = (part.x as usize, part.y as usize);
    let columns = left..left + part.width as usize;
    let picture = *picture;
    (top..top + part.height as usize).map(move |y| picture.row(y, columns.clone()))
}
