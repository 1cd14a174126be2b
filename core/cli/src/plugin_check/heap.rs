//! The memory, files and threads of this process.

/// The bytes allocated by the C library; `None` if it does not report them. Rust plugins and this program use its
/// allocator too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn bytes() -> Option<u64> {
    // SAFETY: it has no arguments and returns numbers.
    let info = unsafe { libc::mallinfo2() };
    Some((info.uordblks + info.hblkhd) as u64)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn bytes() -> Option<u64> {
    None
}

/// How many entries a folder of `/proc/self` has: `fd` for open files, `task` for threads.
pub fn count(what: &str) -> Option<usize> {
    std::fs::read_dir(format!("/proc/self/{what}"))
        .ok()
        .map(Iterator::count)
}
