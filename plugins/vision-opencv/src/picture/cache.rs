//! A cache of measurements at places of a picture: where no pixel has changed, nothing is measured again.
//!
//! An entry depends only on its key and on the pixels of an area. A reading with a cache therefore equals one without.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use flowpipe_plugin::puzzle::Point;
use opencv::core::Rect;

/// What is measured at places of a picture, and is cached. Each type has a table of its own.
pub trait Measurement: 'static {
    /// What is cached of it.
    type Value: Clone + Send + 'static;
}

/// What was measured in a part of a picture.
#[derive(Default)]
pub struct Cache {
    /// By the type of measurement.
    tables: RefCell<Vec<(TypeId, Box<dyn AnyTable>)>>,
    part: Area,
    /// Whether something was examined beyond the part.
    went_beyond: Cell<bool>,
}

impl Cache {
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

    /// What is cached by a key, or what a new measurement gives. `area`: all pixels that it depends on, as far as they
    /// lie in the picture.
    pub fn recall<M: Measurement>(
        &self,
        key: CacheKey,
        area: Area,
        measure: impl FnOnce() -> M::Value,
    ) -> M::Value {
        if let Some(value) = self.table::<M>().and_then(|mut table| table.cached(&key)) {
            return value;
        }
        let value = measure();
        if area.is_within(self.part) {
            if let Some(mut table) = self.table::<M>() {
                let entry = Entry {
                    area,
                    value: value.clone(),
                    is_used: true,
                };
                table.entries.insert(key, entry);
            }
        } else if !area.is_empty() {
            self.went_beyond.set(true);
        }
        value
    }

    /// Whether something was examined beyond the part since the last time that this was asked.
    pub fn went_beyond(&self) -> bool {
        self.went_beyond.take()
    }

    /// Forgets what was measured where something has changed, and what was not asked for since the last time.
    pub fn forget(&mut self, has_changed: impl Fn(Area) -> bool) {
        for (_, table) in self.tables.get_mut() {
            table.forget(&has_changed);
        }
    }

    /// The table of a measurement, a new one where there is none.
    #[inline]
    fn table<M: Measurement>(&self) -> Option<RefMut<'_, MeasurementTable<M>>> {
        let table = RefMut::filter_map(self.tables.borrow_mut(), |tables| {
            let id = TypeId::of::<M>();
            let own = tables.iter().position(|(other, _)| *other == id);
            let index = own.unwrap_or_else(|| {
                tables.push((id, Box::new(MeasurementTable::<M>::default())));
                tables.len() - 1
            });
            // Most often the next measurement is of the same type: its table is found first then.
            if index > 0 {
                tables.swap(0, index);
            }
            let (_, table) = tables.first_mut()?;
            let table: &mut dyn Any = &mut **table;
            table.downcast_mut()
        });
        table.ok()
    }
}

/// A table of any measurement.
trait AnyTable: Any + Send {
    fn forget(&mut self, has_changed: &dyn Fn(Area) -> bool);
}

/// What was measured of one kind.
struct MeasurementTable<M: Measurement> {
    entries: HashMap<CacheKey, Entry<M::Value>, BuildHasherDefault<Mixer>>,
}

impl<M: Measurement> Default for MeasurementTable<M> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
        }
    }
}

impl<M: Measurement> MeasurementTable<M> {
    fn cached(&mut self, key: &CacheKey) -> Option<M::Value> {
        let entry = self.entries.get_mut(key)?;
        entry.is_used = true;
        Some(entry.value.clone())
    }
}

impl<M: Measurement> AnyTable for MeasurementTable<M> {
    fn forget(&mut self, has_changed: &dyn Fn(Area) -> bool) {
        self.entries
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
pub struct CacheKey([u64; 6]);

impl CacheKey {
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
struct Mixer(u64);

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
