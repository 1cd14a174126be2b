//! Detaches the guardian's process from everything that it inherits: session, signals, files, folder, name.

use std::ops::Range;

use rustix::io::Errno;

/// Data about this program that is collected before the fork, because collecting it allocates.
#[derive(Debug)]
pub(crate) struct InheritedState {
    /// The address of the command line in memory; empty if unknown.
    command_line: Range<usize>,
}

/// The process's name in lists. It differs from the program's: a kill by the program's name must not kill it.
const NAME: &std::ffi::CStr = c"mouse-guardian";

/// Signals of faults. They keep their default action, all others are ignored.
const FAULTS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];
const LAST_SIGNAL: i32 = 64;

impl InheritedState {
    /// Those of this process.
    pub(crate) fn of_this_process() -> Self {
        Self {
            command_line: command_line().unwrap_or_default(),
        }
    }
}

/// The address of the command line: the 48th and 49th value of the process's `stat` file.
fn command_line() -> Option<Range<usize>> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second value is a name in parentheses, which may contain any character.
    let (_, values) = stat.rsplit_once(") ")?;
    let mut values = values.split_ascii_whitespace().skip(48 - 3);
    let mut address = || values.next()?.parse::<usize>().ok();
    let (start, end) = (address()?, address()?);
    (start != 0 && start < end).then_some(start..end)
}

/// Detaches from everything but these files, which get these numbers. Neither allocates nor locks nor panics.
pub(crate) fn detach<const COUNT: usize>(
    files: [(i32, Option<i32>); COUNT],
    inherited_state: &InheritedState,
) -> Result<(), Errno> {
    // Ctrl-C, the end of the terminal and signals to the program's group don't reach another session.
    rustix::process::setsid()?;
    ignore_signals();
    keep_only(files)?;
    // A process's current folder can't be unmounted.
    rustix::process::chdir(c"/")?;
    // SAFETY: the name is NUL-terminated. It is for people alone, so that a failure is ignored.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    rename(&inherited_state.command_line);
    Ok(())
}

/// They have been blocked since before the fork, so that even SIGABRT has no effect.
fn ignore_signals() {
    for signal in 1..=LAST_SIGNAL {
        let handler = match FAULTS.contains(&signal) {
            true => libc::SIG_DFL,
            false => libc::SIG_IGN,
        };
        // SAFETY: no handler is set. It fails for signals that can't be ignored.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Gives files these numbers, which start at 0, and closes all others.
fn keep_only<const COUNT: usize>(files: [(i32, Option<i32>); COUNT]) -> Result<(), Errno> {
    /// Above all numbers in use.
    const ABOVE: i32 = 32;
    let mut kept = [None; COUNT];
    for (slot, (_, file)) in kept.iter_mut().zip(files) {
        *slot = match file {
            None => None,
            // SAFETY: duplicates a descriptor, whatever file it refers to.
            Some(file) => Some(checked(unsafe {
                libc::fcntl(file, libc::F_DUPFD_CLOEXEC, ABOVE)
            })?),
        };
    }
    for ((number, _), file) in files.into_iter().zip(kept) {
        match file {
            // SAFETY: nothing in this process uses the earlier file of this number.
            Some(file) => checked(unsafe { libc::dup3(file, number, libc::O_CLOEXEC) })?,
            // SAFETY: as above.
            None => unsafe { libc::close(number) },
        };
    }
    close_from(COUNT as i32);
    Ok(())
}

fn checked(result: i32) -> Result<i32, Errno> {
    match result {
        // SAFETY: the error of this thread's last call.
        -1 => Err(Errno::from_raw_os_error(unsafe {
            *libc::__errno_location()
        })),
        number => Ok(number),
    }
}

/// Closes all files from this number on.
fn close_from(first: i32) {
    /// For kernels that can't close many at once; more files need a raised limit.
    const MOST: u64 = 1 << 16;
    // SAFETY: nothing in this process uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or(MOST, |limit| limit.min(MOST)) as i32;
    for number in first..limit {
        // SAFETY: as above.
        unsafe { libc::close(number) };
    }
}

/// Overwrites the command line with the process's name, for tools that search by it.
fn rename(command_line: &Range<usize>) {
    let name = NAME.to_bytes();
    for (index, address) in command_line.clone().enumerate() {
        let letter = match command_line.len() > name.len() {
            true => name.get(index).copied().unwrap_or(0),
            false => 0,
        };
        // SAFETY: the kernel reports that the command line is here. It is this process's own copy, and nothing in it
        // reads it.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(letter) };
    }
}
