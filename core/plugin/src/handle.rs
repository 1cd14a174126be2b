//! A plugin's access to the host's table, which the host can revoke.

use std::ffi::CStr;
use std::sync::Mutex;

use flowpipe_abi as abi;
use flowpipe_sync::revocable::Slot;

use crate::error::Error;

/// The table of a host, until it is revoked. Cheap to copy.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    slot: &'static Slot<abi::Host>,
    generation: u32,
    lasting: Option<Lasting>,
}

/// The tables of functions that work also after the host is revoked.
#[derive(Clone, Copy)]
pub(crate) struct Lasting {
    pub frames: &'static abi::Frames,
    /// `None`: the host is older.
    pub buffers: Option<&'static abi::Buffers>,
}

/// Slots that are not granted now. They are never freed: there are as many as there were hosts at once.
static FREE: Mutex<Vec<&'static Slot<abi::Host>>> = Mutex::new(Vec::new());

impl Handle {
    /// Creates a handle to the table that the host passed, valid until [`Self::revoke`].
    ///
    /// # Safety
    /// `raw` points to a host table that stays valid until `revoke` has returned.
    pub(crate) unsafe fn grant(raw: *const abi::Host) -> Self {
        let free = FREE.lock().map_or(None, |mut free| free.pop());
        let slot = free.unwrap_or_else(|| Box::leak(Box::new(Slot::new())));
        // SAFETY: by the contract above. Every function of the table that a handle reaches is tagged [any-thread] in
        // flowpipe.h, and a slot that is free is not granted.
        unsafe {
            let lasting = extension(raw, abi::EXTENSION_FRAMES).map(|frames| Lasting {
                frames,
                buffers: extension(raw, abi::EXTENSION_BUFFER),
            });
            Self {
                generation: slot.grant(raw),
                slot,
                lasting,
            }
        }
    }

    /// Makes every copy of this handle invalid, and waits for calls in progress on other threads. Called once for each
    /// grant.
    pub(crate) fn revoke(self) {
        let is_free = self.slot.revoke();
        if is_free && let Ok(mut free) = FREE.lock() {
            free.push(self.slot);
        }
    }

    /// Calls a function of the table, which is not revoked meanwhile. `None`: it was revoked before.
    pub(crate) fn call<T>(self, function: impl FnOnce(&abi::Host) -> T) -> Option<T> {
        self.slot.enter(self.generation).map(|it| function(&it))
    }

    /// The functions that work also after it is revoked, if the host has them.
    pub(crate) fn lasting(self) -> Option<Lasting> {
        self.lasting
    }
}

/// An extension of the host, if the host has it with all functions of this version.
///
/// # Safety
/// `host` points to a host table. `T` is the table of the extension with this id, and starts with its size in a `u32`.
/// The host's table of it is valid for `'a`.
pub(crate) unsafe fn extension<'a, T>(host: *const abi::Host, id: &CStr) -> Option<&'a T> {
    // SAFETY: by the contract above. No reference to the table is created before its size is known: a reference
    // requires that the whole table is valid.
    unsafe {
        let table = ((*host).get_extension)(host, id.as_ptr());
        let has_all = !table.is_null() && *table.cast::<u32>() as usize >= size_of::<T>();
        has_all.then(|| &*table.cast::<T>())
    }
}

/// The error of a call through a revoked handle.
pub(crate) fn revoked() -> Error {
    Error::new("the stage that this was given to was destroyed")
}
