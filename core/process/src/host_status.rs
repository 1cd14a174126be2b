//! In the process of a stage: the kernel's status of the program that started it, which shows whether that program is
//! stopped or writes a core dump.
//!
//! A confined process can't open it. It is opened before, and libraries of plugins find it by an environment variable.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::fd::{BorrowedFd, IntoRawFd as _};

/// Holds the number of the open file.
const VARIABLE: &str = "FLOWPIPE_HOST_STATUS";

/// Opens the status of the parent process for [`find`], and leaves it open. Without it, stages work as well.
///
/// # Safety
/// This process has no other thread.
pub unsafe fn share() {
    let Some(host) = rustix::process::getppid() else {
        return;
    };
    let path = format!("/proc/{}/status", host.as_raw_nonzero());
    if let Ok(file) = File::open(path) {
        // SAFETY: no other thread reads the environment now, as the caller guarantees.
        unsafe { std::env::set_var(VARIABLE, file.into_raw_fd().to_string()) };
    }
}

/// The status of the program that started this process, if it is the process of a stage.
#[must_use]
pub fn find() -> Option<File> {
    let number: i32 = std::env::var(VARIABLE).ok()?.parse().ok()?;
    if number < 3 {
        return None;
    }
    // SAFETY: the file stays open. Another number, which only a user could have set, fails or names another file, of
    // which only a copy is made.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_dupfd_cloexec(file, 3)
        .ok()
        .map(File::from)
}
