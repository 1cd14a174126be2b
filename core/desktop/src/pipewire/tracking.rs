//! Which pixels of a picture have to be copied, by what the compositor says has changed.
//!
//! A change that is missed would leave a part of a picture as it was, and the mouse would act on it. So the regions count
//! only of a sender whose code was read ([`NAMES_CHANGES`]), only while its pictures are numbered without a gap, and only
//! until a comparison shows once that they are wrong. Pictures that were not copied hand their changes on.

use std::time::{Duration, Instant};

use pipewire::spa::sys::spa_region;

use super::changes::{Changes, Part};
use super::rows::{Chunk, Layout};
use crate::grabber::BYTES_PER_PIXEL;

/// What Mutter calls its streams from its version 51 on. Its code keeps the changes of a picture that it could not send,
/// and draws into its own buffers by the same regions. Of a monitor, it names the whole picture all the same, because its
/// stage does not pass on what it redraws; of a virtual monitor, it names parts. None of the others can be relied on:
/// - Mutter 48 names the whole picture of a monitor, and counts the regions of a virtual one from the corner of the desktop
///   and in its units. Up to version 50, streams are called "meta-screen-cast-src", which does not distinguish them.
/// - KWin forgets the changes of a picture for which it has no buffer, and leaves no gap in their numbers.
/// - The portal of wlroots' compositors names a change to one session of a monitor only, and leaves no gap either.
pub(super) const NAMES_CHANGES: &[u8] = b"meta-stream-source-source";

/// How often a whole picture is compared at least, while pictures come.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// What is known of the pictures of one stream.
pub(super) struct Tracking {
    /// Whether the sender names all changes.
    names_changes: bool,
    /// Whether it has failed to.
    is_wrong: bool,
    /// Of the last picture that came.
    sequence: Option<u64>,
    /// What has changed since the newest picture that was copied.
    unread: Changes,
    /// What the memory for the next picture lacks of the newest one.
    lacking: Changes,
    /// When a whole picture was compared.
    checked: Option<Instant>,
    /// [`CHECK_EVERY`].
    pub(super) check_every: Duration,
}

/// What is to be copied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Nothing,
    Parts {
        parts: Vec<Part>,
        /// Whether the whole picture is compared then.
        is_checked: bool,
    },
    Whole,
}

impl Default for Tracking {
    fn default() -> Self {
        Self {
            names_changes: false,
            is_wrong: false,
            sequence: None,
            unread: Changes::All,
            lacking: Changes::All,
            checked: None,
            check_every: CHECK_EVERY,
        }
    }
}

impl Tracking {
    /// What the sender calls its stream.
    pub(super) fn name(&mut self, name: &[u8]) {
        self.names_changes = name == NAMES_CHANGES;
    }

    /// Whether the regions are used.
    pub(super) fn uses_regions(&self) -> bool {
        self.names_changes && !self.is_wrong
    }

    /// Nothing is known any more: another format, a pause, or a picture that can't be read.
    pub(super) fn forget(&mut self) {
        self.sequence = None;
        self.unread = Changes::All;
        self.lacking = Changes::All;
    }

    /// A picture has come, which may be read or not. `size`: as was agreed on.
    pub(super) fn come(
        &mut self,
        sequence: Option<u64>,
        regions: Option<&[spa_region]>,
        size: Option<[u32; 2]>,
    ) {
        // PipeWire replaces a picture that was not fetched in time with the next one.
        let follows =
            sequence.is_some() && self.sequence.and_then(|it| it.checked_add(1)) == sequence;
        self.sequence = sequence;
        match size {
            Some(size) if follows && self.uses_regions() => {
                self.unread.add(&Changes::named(regions, size));
            }
            _ => self.unread = Changes::All,
        }
    }

    /// What of the picture that has come last is to be copied to memory for a picture. `is_there`: whether the newest picture
    /// is still there. `length`: how many bytes the memory has.
    pub(super) fn plan(&self, layout: Layout, is_there: bool, length: usize) -> Plan {
        let is_checked = self
            .checked
            .is_none_or(|it| it.elapsed() >= self.check_every);
        if is_there && !is_checked && self.unread.are_none() {
            return Plan::Nothing;
        }
        let mut changes = self.lacking.clone();
        changes.add(&self.unread);
        let pixels = layout.pixels();
        match changes {
            Changes::Parts(parts)
                if is_there
                    && length == pixels as usize * BYTES_PER_PIXEL
                    && parts.iter().map(|it| it.pixels()).sum::<u64>() < pixels =>
            {
                Plan::Parts { parts, is_checked }
            }
            _ => Plan::Whole,
        }
    }

    /// A picture was copied. `is_as_named`: whether what has changed was named, as far as it was compared. Returns what has
    /// changed.
    pub(super) fn copied(&mut self, plan: &Plan, is_as_named: bool) -> Changes {
        let changes = std::mem::replace(&mut self.unread, Changes::none());
        if !is_as_named {
            self.is_wrong = true;
            tracing::warn!(
                "the compositor does not name all that has changed on the screen: its pictures are copied whole from now on"
            );
        }
        if matches!(
            plan,
            Plan::Parts {
                is_checked: true,
                ..
            }
        ) {
            self.checked = Some(Instant::now());
        }
        match is_as_named {
            true => changes,
            false => Changes::All,
        }
    }

    /// The memory for the next picture is that of the one before the newest.
    pub(super) fn swapped(&mut self, changes: Changes) {
        self.lacking = changes;
    }
}

impl Plan {
    /// Copies what it says out of memory. Returns whether the copy has been found to be the picture, or was not compared;
    /// otherwise it is then copied whole.
    ///
    /// # Errors
    /// When the picture does not lie in this memory. Then the copy is of no use.
    pub(super) fn copy(
        &self,
        layout: Layout,
        memory: &[u8],
        chunk: Chunk,
        to: &mut Vec<u8>,
    ) -> Result<bool, String> {
        if let Self::Parts { parts, is_checked } = self {
            layout.copy_parts(memory, chunk, parts, to)?;
            if !is_checked || layout.shows(memory, chunk, to)? {
                return Ok(true);
            }
        }
        layout.copy(memory, chunk, to)?;
        Ok(*self == Self::Whole)
    }
}
