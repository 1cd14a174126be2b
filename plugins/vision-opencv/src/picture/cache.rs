//! A cache of what was seen at places of a picture: where no pixel has changed since, it is not read again.
//!
//! Each entry depends only on its key and the pixels of an area. So a board whose picture is cached in part is read
//! as without a cache, only sooner.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use flowpipe_plugin::puzzle::Point;
use opencv::core::Rect;

use crate::picture::Rgb;
use crate::read::contents::drawings::Rail;
use crate::read::contents::numbers::Glyph;
use crate::read::contents::terminals::{Blob, CellColours};
use crate::read::shape::stretch::Stretch;

/// What was seen in a part of a picture, by kind.
#[derive(Default)]
pub struct Memory {
    /// Stretches of lines.
    pub stretches: Table<Stretch>,
    /// How far lines are aside of their stretches.
    pub shifts: Table<Option<f64>>,
    /// The colours of cells.
    pub cells: Table<CellColours>,
    /// Discs and blocks in cells.
    pub blobs: Table<Option<Blob>>,
    /// Numbers in cells.
    pub glyphs: Table<Option<Glyph>>,
    /// The noise in cells.
    pub noises: Table<Option<i32>>,
    /// What may be rails in cells.
    pub rails: Table<Rail>,
    /// How far thin drawings in cells stand out.
    pub drawings: Table<i32>,
    /// The colours where pipes may cross from cell to cell.
    pub crossings: Table<Option<[Rgb; 3]>>,
    part: Area,
    /// Whether something was examined beyond the part.
    went_beyond: Cell<bool>,
}

impl Memory {
    /// Of a part of a picture.
    #[must_use]
    pub fn of(part: Rect) -> Self {
        Self {
            part: Area {
                from: [part.x, part.y],
                to: [part.x + part.width - 1, part.y + part.height - 1],
            },
            ..Self::default()
        }
    }

    /// What is remembered by a key, or what a new reading gives. `area`: all pixels that it depends on, as far as they
    /// lie in the picture.
    pub fn recall<V: Clone>(
        &self,
        table: &Table<V>,
        key: Key,
        area: Area,
        look: impl FnOnce() -> V,
    ) -> V {
        if let Some(entry) = table.entries.borrow_mut().get_mut(&key) {
            entry.is_used = true;
            return entry.value.clone();
        }
        let value = look();
        if area.is_within(self.part) {
            let entry = Entry {
                area,
                value: value.clone(),
                is_used: true,
            };
            table.entries.borrow_mut().insert(key, entry);
        } else if !area.is_empty() {
            self.went_beyond.set(true);
        }
        value
    }

    /// Whether something was examined beyond the part since the last time that this was asked.
    pub fn went_beyond(&self) -> bool {
        self.went_beyond.take()
    }

    /// Forgets what was seen where something has changed, and what was not asked for since the last time.
    pub fn forget(&mut self, has_changed: impl Fn(Area) -> bool) {
        self.stretches.forget(&has_changed);
        self.shifts.forget(&has_changed);
        self.cells.forget(&has_changed);
        self.blobs.forget(&has_changed);
        self.glyphs.forget(&has_changed);
        self.noises.forget(&has_changed);
        self.rails.forget(&has_changed);
        self.drawings.forget(&has_changed);
        self.crossings.forget(&has_changed);
    }
}

/// What was seen of one kind.
pub struct Table<V> {
    entries: RefCell<HashMap<Key, Entry<V>, BuildHasherDefault<Mixer>>>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self {
            entries: RefCell::default(),
        }
    }
}

impl<V> Table<V> {
    fn forget(&mut self, has_changed: impl Fn(Area) -> bool) {
        self.entries
            .get_mut()
            .retain(|_, entry| std::mem::take(&mut entry.is_used) && !has_changed(entry.area));
    }
}

struct Entry<V> {
    area: Area,
    value: V,
    /// Since something was forgotten.
    is_used: bool,
}

/// What something is asked for by: all that it depends on but pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u64; 6]);

impl Key {
    /// Of some numbers, at most six.
    #[inline]
    #[must_use]
    pub fn new<const COUNT: usize>(values: [f64; COUNT]) -> Self {
        let mut key = [0; 6];
        for (key, value) in key.iter_mut().zip(values) {
            *key = value.to_bits();
        }
        Self(key)
    }
}

/// Frame pixels from one to another one, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The column and the row of the first ones; what is less than 0 is outside of the picture.
    pub from: [i32; 2],
    /// Of the last ones.
    pub to: [i32; 2],
}

impl Area {
    /// All within a distance of a place, in each direction.
    #[inline]
    #[must_use]
    pub fn around(place: Point, [across, down]: Point) -> Self {
        // A cast cuts off: one more may be too many.
        let end = |axis: usize, far: f64| (place[axis] + far) as i32;
        Self {
            from: [end(0, -across) - 1, end(1, -down) - 1],
            to: [end(0, across) + 1, end(1, down) + 1],
        }
    }

    /// The part of it that lies in a picture of a size.
    #[inline]
    #[must_use]
    pub fn clipped(self, size: [usize; 2]) -> Self {
        Self {
            from: self.from.map(|at| at.max(0)),
            to: [0, 1].map(|axis| self.to[axis].min(size[axis] as i32 - 1)),
        }
    }

    fn is_within(self, part: Self) -> bool {
        let within =
            |axis: usize| self.from[axis] >= part.from[axis] && self.to[axis] <= part.to[axis];
        !self.is_empty() && within(0) && within(1)
    }

    fn is_empty(self) -> bool {
        self.from[0] > self.to[0] || self.from[1] > self.to[1]
    }
}

/// Mixes the words of a key by multiplication, as rustc does: keys are many, and no attacker chooses them.
#[derive(Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The higher bits are mixed best, and tables look at the lower ones.
        self.0.rotate_left(26)
    }
}
