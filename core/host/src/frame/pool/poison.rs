//! Marks for AddressSanitizer which bytes of the pool's memory belong to a frame (`./x check deep asan` sets `cfg(asan)`). Without
//! that it knows the blocks of the allocator alone: a plugin could use a picture that it has released, whose memory the pool
//! keeps, or the bytes beside it.

use std::ptr::NonNull;

/// These bytes belong to no frame: whoever uses them is reported.
pub(super) fn forbid(start: NonNull<u8>, size: usize) {
    #[cfg(asan)]
    // SAFETY: the bytes are the pool's, and the sanitizer changes only what it knows of them.
    unsafe {
        __asan_poison_memory_region(start.as_ptr().cast(), size);
    }
    #[cfg(not(asan))]
    let _ = (start, size);
}

/// These bytes may be used again.
pub(super) fn permit(start: NonNull<u8>, size: usize) {
    #[cfg(asan)]
    // SAFETY: as above.
    unsafe {
        __asan_unpoison_memory_region(start.as_ptr().cast(), size);
    }
    #[cfg(not(asan))]
    let _ = (start, size);
}

#[cfg(asan)]
unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const std::ffi::c_void, size: usize);
    fn __asan_unpoison_memory_region(start: *const std::ffi::c_void, size: usize);
}
