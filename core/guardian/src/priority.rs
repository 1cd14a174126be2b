//! How soon a thread runs once it has something to do, on a machine that is busy.

/// Asks for short slices of time for this thread, which come sooner, since Linux 6.12. Anybody may. The thread must need next
/// to no time. Neither allocates nor locks nor panics.
pub(crate) fn raise() {
    /// In nanoseconds: the shortest.
    const SLICE: u64 = 100_000;
    /// `struct sched_attr` in its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let policy = libc::SCHED_OTHER.cast_unsigned();
    let mut attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 0,
        deadline: 0,
        period: 0,
    };
    let place = &raw mut attributes;
    let size = attributes.size;
    // SAFETY: the kernel writes as many bytes as the argument says that there are.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, place, size, 0) };
    // Whoever has chosen another policy for this program has chosen when it runs.
    if got == 0 && attributes.policy == policy {
        attributes.runtime = SLICE;
        attributes.flags = 0;
        // SAFETY: the kernel reads as many bytes as `size` says. An older one ignores the runtime.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}
