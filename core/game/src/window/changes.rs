//! What of an older picture has to be drawn again.

use crate::render::Area;

/// How many pictures back changes are remembered: as many as systems keep buffers.
const BUFFERS: usize = 3;

/// What changed from one of the last pictures to the next.
#[derive(Default)]
pub(super) struct Changes {
    /// Width and height of the pictures.
    size: (u32, u32),
    /// The newest first.
    list: Vec<Vec<Area>>,
}

impl Changes {
    /// Notes a picture of a size, and what changed in it; `None`: all. Returns what changed.
    pub(super) fn note(&mut self, size: (u32, u32), changed: Option<&[Area]>) -> Vec<Area> {
        if self.size != size {
            // Areas of other pictures may lie beyond these.
            *self = Self {
                size,
                list: Vec::new(),
            };
        }
        let changed = changed.map_or_else(|| vec![Area::whole(size)], <[Area]>::to_vec);
        self.list.insert(0, changed.clone());
        self.list.truncate(BUFFERS);
        changed
    }

    /// What differs between the newest picture and a buffer that holds what it held so many pictures ago; nothing, or
    /// nothing of use, at 0.
    pub(super) fn since(&self, age: usize) -> Vec<Area> {
        match self.list.get(..age) {
            None | Some([]) => vec![Area::whole(self.size)],
            Some(changes) => changes.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Area = Area {
        left: 1,
        top: 2,
        width: 3,
        height: 4,
    };

    #[test]
    fn an_older_buffer_misses_more() {
        let size = (800, 900);
        let whole = Area::whole(size);
        let mut changes = Changes::default();
        assert_eq!(changes.note(size, None), [whole]);
        assert_eq!(changes.note(size, Some(&[SMALL])), [SMALL]);
        assert_eq!(changes.since(0), [whole]);
        assert_eq!(changes.since(1), [SMALL]);
        assert_eq!(changes.since(2), [SMALL, whole]);
        assert_eq!(changes.since(3), [whole]);
    }

    #[test]
    fn nothing_of_a_larger_picture_is_drawn_in_a_smaller_one() {
        let (large, small) = ((800, 898), (800, 896));
        let mut changes = Changes::default();
        changes.note(large, None);
        changes.note(small, None);
        for age in 0..5 {
            let areas = changes.since(age);
            assert!(areas.iter().all(|area| area.bottom() <= small.1), "{age}");
        }
    }
}
