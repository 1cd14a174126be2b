//! What is pressed, in shared memory: a single store records it, before the press is sent.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::input::Input;
use crate::robust_futex::RobustFutex;

/// Words with a bit for each of 256 numbers.
const WORDS: usize = 8;

/// The content of the memory. Zero is a valid value of each field.
#[repr(C)]
#[derive(Debug)]
struct Page {
    buttons: [AtomicU32; WORDS],
    keys: [AtomicU32; WORDS],
    presses: AtomicU32,
    is_ready: AtomicU32,
    is_dismissed: AtomicU32,
    player: RobustFutex,
}

/// A page of memory that a forked process shares.
#[derive(Debug)]
pub(crate) struct Record(NonNull<Page>);

// SAFETY: all that is in the page is atomic.
unsafe impl Send for Record {}
// SAFETY: as above.
unsafe impl Sync for Record {}

/// What is pressed at a moment: a bit for each number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressed {
    buttons: [u32; WORDS],
    keys: [u32; WORDS],
    /// How often something was pressed until then.
    pub presses: u32,
}

impl Record {
    /// # Errors
    /// When the system has no memory left.
    pub(crate) fn new(pressed: Pressed) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at a place of the system's choice.
        let page =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<Page>(), protection, flags)? };
        let page = NonNull::new(page.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let record = Self(page);
        let all = record.page().buttons.iter().zip(pressed.buttons);
        for (word, bits) in all.chain(record.page().keys.iter().zip(pressed.keys)) {
            word.store(bits, Ordering::SeqCst);
        }
        Ok(record)
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is as long as a page, aligned to the system's pages, zero at first, and valid as long as
        // this; the other process uses atomics too.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn add(&self, input: Input) {
        let (word, bit) = self.slot(input);
        word.fetch_or(bit, Ordering::SeqCst);
        self.page().presses.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, input: Input) {
        let (word, bit) = self.slot(input);
        word.fetch_and(!bit, Ordering::SeqCst);
    }

    /// Nothing is pressed, and nothing was.
    pub(crate) fn clear(&self) {
        let page = self.page();
        let words = page.buttons.iter().chain(&page.keys);
        for word in words.chain([&page.presses]) {
            word.store(0, Ordering::SeqCst);
        }
    }

    fn slot(&self, input: Input) -> (&AtomicU32, u32) {
        let page = self.page();
        let (words, number) = match input {
            Input::Button(number) => (&page.buttons, number),
            Input::Key(number) => (&page.keys, number),
        };
        // A number has 8 bits: the upper 3 name one of 8 words.
        (&words[usize::from(number >> 5)], 1 << (number & 31))
    }

    pub(crate) fn pressed(&self) -> Pressed {
        let load =
            |words: &[AtomicU32; WORDS]| words.each_ref().map(|it| it.load(Ordering::SeqCst));
        let page = self.page();
        Pressed {
            buttons: load(&page.buttons),
            keys: load(&page.keys),
            presses: page.presses.load(Ordering::SeqCst),
        }
    }

    /// Held by the player.
    pub(crate) fn player(&self) -> &RobustFutex {
        &self.page().player
    }

    /// Reports that the guardian is ready.
    pub(crate) fn set_ready(&self) {
        self.page().is_ready.store(1, Ordering::SeqCst);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.page().is_ready.load(Ordering::SeqCst) != 0
    }

    /// Reports that the player lives, and needs the guardian no more.
    pub(crate) fn dismiss(&self) {
        self.page().is_dismissed.store(1, Ordering::SeqCst);
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.page().is_dismissed.load(Ordering::SeqCst) != 0
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the page any more. It can only fail for what is no mapping.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Page>()) };
    }
}

impl Pressed {
    pub(crate) fn is_empty(&self) -> bool {
        // How often something was pressed does not count.
        self.buttons == [0; WORDS] && self.keys == [0; WORDS]
    }

    /// All that is pressed, keys after buttons.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Input> + '_ {
        self.buttons()
            .map(Input::Button)
            .chain(self.keys().map(Input::Key))
    }

    /// The codes of the keys that are pressed.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|&number| has(&self.keys, number))
    }

    /// The numbers of the buttons that are pressed.
    pub(crate) fn buttons(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|&number| has(&self.buttons, number))
    }
}

fn has(words: &[u32; WORDS], number: u8) -> bool {
    words[usize::from(number >> 5)] & (1 << (number & 31)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_what_is_pressed() {
        let record = Record::new(Pressed::default()).unwrap();
        assert!(record.pressed().is_empty());
        let all = [Input::Button(1), Input::Button(255), Input::Key(32)];
        for input in all {
            record.add(input);
        }
        assert_eq!(record.pressed().inputs().collect::<Vec<_>>(), all);
        record.remove(Input::Button(1));
        record.remove(Input::Button(2));
        assert!(!record.pressed().is_empty());
        let next = Record::new(record.pressed()).unwrap();
        assert_eq!(next.pressed().inputs().collect::<Vec<_>>(), all[1..]);
        assert!(!next.is_ready());
        record.clear();
        assert!(record.pressed().is_empty());
        record.add(Input::Key(32));
        record.remove(Input::Key(32));
        assert!(record.pressed().is_empty());
        assert!(!next.pressed().is_empty());
    }
}
