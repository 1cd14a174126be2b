//! What has changed from one picture to the next, as a compositor names it. What it says is not trusted.

use pipewire::spa::sys::spa_region;

/// How many parts are kept at most. Mutter names up to as many of a picture.
const MOST_PARTS: usize = 32;

/// A part of a picture, in its pixels. It is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The first column and row.
    pub begin: [u32; 2],
    /// Those after the last ones.
    pub end: [u32; 2],
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Everything may have.
    All,
    /// Nothing else than these parts, of which there are few.
    Parts(Vec<Part>),
}

impl Part {
    /// `None`: it is empty, or does not lie in a picture of a size.
    fn of(region: spa_region, size: [u32; 2]) -> Option<Self> {
        let from = [region.position.x, region.position.y];
        let lengths = [region.size.width, region.size.height];
        let (mut begin, mut end) = ([0; 2], [0; 2]);
        for axis in 0..2 {
            begin[axis] = u32::try_from(from[axis]).ok()?;
            end[axis] = begin[axis].checked_add(lengths[axis])?;
            if lengths[axis] == 0 || end[axis] > size[axis] {
                return None;
            }
        }
        Some(Self { begin, end })
    }

    fn overlaps(self, other: Self) -> bool {
        (0..2).all(|axis| self.begin[axis] < other.end[axis] && other.begin[axis] < self.end[axis])
    }

    /// The smallest part that contains both.
    fn joined(self, other: Self) -> Self {
        let mut joined = self;
        for axis in 0..2 {
            joined.begin[axis] = self.begin[axis].min(other.begin[axis]);
            joined.end[axis] = self.end[axis].max(other.end[axis]);
        }
        joined
    }

    /// How many pixels it has.
    pub(super) fn pixels(self) -> u64 {
        let [width, height] = [0, 1].map(|axis| u64::from(self.end[axis] - self.begin[axis]));
        width * height
    }
}

impl Changes {
    pub(super) fn none() -> Self {
        Self::Parts(Vec::new())
    }

    /// What the regions beside a picture of a size say. One without a width and height ends them. `None`: there are none.
    pub(super) fn named(regions: Option<&[spa_region]>, size: [u32; 2]) -> Self {
        let Some(regions) = regions else {
            return Self::All;
        };
        let is_end = |it: &&spa_region| (it.size.width, it.size.height) == (0, 0);
        let mut named = Self::none();
        for region in regions.iter().take_while(|it| !is_end(it)) {
            match Part::of(*region, size) {
                Some(part) => named.add(&Self::Parts(vec![part])),
                None => return Self::All,
            }
        }
        named
    }

    pub(super) fn are_none(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.is_empty())
    }

    /// Adds those of another picture.
    pub(super) fn add(&mut self, other: &Self) {
        let (Self::Parts(parts), Self::Parts(others)) = (&mut *self, other) else {
            *self = Self::All;
            return;
        };
        parts.extend_from_slice(others);
        if parts.len() > MOST_PARTS {
            let joined = parts.drain(..).reduce(Part::joined);
            parts.extend(joined);
        }
    }

    /// Whether anything of a part may have changed.
    pub(super) fn touch(&self, part: Part) -> bool {
        match self {
            Self::All => true,
            Self::Parts(parts) => parts.iter().any(|it| it.overlaps(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use pipewire::spa::sys::{spa_point, spa_rectangle};
    use proptest::prelude::*;

    use super::*;

    const SIZE: [u32; 2] = [100, 50];

    fn region(x: i32, y: i32, width: u32, height: u32) -> spa_region {
        spa_region {
            position: spa_point { x, y },
            size: spa_rectangle { width, height },
        }
    }

    fn part(begin: [u32; 2], end: [u32; 2]) -> Part {
        Part { begin, end }
    }

    #[test]
    fn regions_are_parts_up_to_the_first_empty_one() {
        let whole = part([0, 0], SIZE);
        let corner = part([99, 49], SIZE);
        let end = region(7, -7, 0, 0);
        let regions = [region(0, 0, 100, 50), region(99, 49, 1, 1), end];
        let all = Changes::Parts(vec![whole, corner]);
        assert_eq!(Changes::named(Some(&regions), SIZE), all);
        assert_eq!(Changes::named(Some(&regions[..2]), SIZE), all);
        // What follows is what the buffer had before.
        let stale = [regions[1], end, region(-1, 0, 5, 5)];
        let one = Changes::Parts(vec![corner]);
        assert_eq!(Changes::named(Some(&stale), SIZE), one);
        assert!(Changes::named(Some(&[end]), SIZE).are_none());
        assert_eq!(Changes::named(None, SIZE), Changes::All);
    }

    #[test]
    fn regions_that_can_t_be_mean_that_all_has_changed() {
        for bad in [
            region(-1, 0, 5, 5),
            region(0, -1, 5, 5),
            region(i32::MIN, i32::MIN, u32::MAX, u32::MAX),
            region(96, 0, 5, 5),
            region(0, 46, 5, 5),
            region(100, 50, 1, 1),
            region(i32::MAX, i32::MAX, u32::MAX, u32::MAX),
            region(1, 1, u32::MAX, 1),
            region(0, 0, 0, 5),
            region(0, 0, 5, 0),
        ] {
            let regions = [region(0, 0, 1, 1), bad, region(0, 0, 0, 0)];
            assert_eq!(
                Changes::named(Some(&regions), SIZE),
                Changes::All,
                "{bad:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_change_is_lost_when_they_are_added(
            all in prop::collection::vec((0..90_u32, 0..40_u32, 1..10_u32, 1..10_u32), 0..100),
            asked in (0..90_u32, 0..40_u32, 1..10_u32, 1..10_u32),
        ) {
            let of = |(x, y, width, height): (u32, u32, u32, u32)| part([x, y], [x + width, y + height]);
            let mut changes = Changes::none();
            for it in &all {
                changes.add(&Changes::Parts(vec![of(*it)]));
            }
            let Changes::Parts(parts) = &changes else { panic!("not all") };
            prop_assert!(parts.len() <= MOST_PARTS);
            prop_assert!(parts.iter().all(|it| it.end[0] <= SIZE[0] && it.end[1] <= SIZE[1]));
            let is_touched = all.iter().any(|it| of(*it).overlaps(of(asked)));
            prop_assert!(changes.touch(of(asked)) || !is_touched);
            prop_assert!(all.len() > MOST_PARTS || changes.touch(of(asked)) == is_touched);
            changes.add(&Changes::All);
            prop_assert_eq!(changes, Changes::All);
        }
    }
}
