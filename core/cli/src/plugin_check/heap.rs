//! What this process holds, to the byte.

/// Bytes that the C library has handed out and not got back; `None` where it does not tell. Rust plugins and
/// this program take their memory from there too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn bytes() -> Option<u64> {
    // SAFETY: it takes nothing and returns numbers.
    let told = unsafe { libc::mallinfo2() };
    Some((told.uordblks + told.hblkhd) as u64)
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
