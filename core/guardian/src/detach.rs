//! How the guardian's process lets go of everything that it inherits: its session, signals, files, folder, name.

use std::ops::Range;

use rustix::io::Errno;

/// What is found out about this program before the fork, since finding out allocates.
#[derive(Debug)]
pub(crate) struct Belongings {
    /// Where the words of the command line are in memory; empty when nobody says.
    command_line: Range<usize>,
}

/// What the process is called in lists. Not the program's name: whoever kills that by its name must not kill this.
const NAME: &std::ffi::CStr = c"mouse-guardian";

/// Signals of faults. They keep their meaning, all others are ignored.
const FAULTS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];
const LAST_SIGNAL: i32 = 64;

impl Belongings {
    /// Those of this process.
    pub(crate) fn of_this_process() -> Self {
        Self {
            command_line: command_line().unwrap_or_default(),
        }
    }
}

/// Where the command line is, by the 48th and 49th value that the kernel tells about this process.
fn command_line() -> Option<Range<usize>> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second value is a name in parentheses, in which anything may stand.
    let (_, values) = stat.rsplit_once(") ")?;
    let mut values = values.split_ascii_whitespace().skip(48 - 3);
    let mut address = || values.next()?.parse::<usize>().ok();
    let (start, end) = (address()?, address()?);
    (start != 0 && start < end).then_some(start..end)
}

/// Lets go of everything but these files, which get these numbers. Neither allocates nor locks nor panics.
pub(crate) fn detach<const COUNT: usize>(
    files: [(i32, Option<i32>); COUNT],
    belongings: &Belongings,
) -> Result<(), Errno> {
    // No Ctrl-C, no end of the terminal and no signal to the program's group reaches a session of its own.
    rustix::process::setsid()?;
    ignore_signals();
    keep_only(files)?;
    // A folder that is somebody's current one can't be unmounted.
    rustix::process::chdir(c"/")?;
    // SAFETY: the name is text that ends with a zero. It is for people alone, so that it may fail.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    rename(&belongings.command_line);
    Ok(())
}

/// They are also held back since before the fork, so that even SIGABRT does nothing.
fn ignore_signals() {
    for signal in 1..=LAST_SIGNAL {
        let handler = match FAULTS.contains(&signal) {
            true => libc::SIG_DFL,
            false => libc::SIG_IGN,
        };
        // SAFETY: no handler is set. It fails for signals that nobody can ignore.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Gives files these numbers, which start at 0, and closes all others.
fn keep_only<const COUNT: usize>(files: [(i32, Option<i32>); COUNT]) -> Result<(), Errno> {
    /// Above all numbers that are given.
    const ABOVE: i32 = 32;
    let mut kept = [None; COUNT];
    for (slot, (_, file)) in kept.iter_mut().zip(files) {
        *slot = match file {
            None => None,
            // SAFETY: copies a number, whatever it stands for.
            Some(file) => Some(checked(unsafe {
                libc::fcntl(file, libc::F_DUPFD_CLOEXEC, ABOVE)
            })?),
        };
    }
    for ((number, _), file) in files.into_iter().zip(kept) {
        match file {
            // SAFETY: nothing in this process uses what this number stood for before.
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
    /// Where the kernel can't close many at once; nobody has more files than that without asking for it.
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

/// Writes its name over the command line, for those who look for programs by that.
fn rename(command_line: &Range<usize>) {
    let name = NAME.to_bytes();
    for (index, address) in command_line.clone().enumerate() {
        let letter = match command_line.len() > name.len() {
            true => name.get(index).copied().unwrap_or(0),
            false => 0,
        };
        // SAFETY: the kernel says that the words lie here. They are this process's own copy, and nobody reads them in it.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(letter) };
    }
}
