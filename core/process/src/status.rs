//! An exit status in words.

use std::process::ExitStatus;

/// How a process ended, as what follows "its process".
#[must_use]
pub fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(number) = status.signal() {
            let dumped = match status.core_dumped() {
                true => ", core dumped",
                false => "",
            };
            return match signal_name(number) {
                Some("SIGABRT") => format!("aborted (SIGABRT{dumped})"),
                Some("SIGKILL") => "was killed by SIGKILL (out of memory?)".to_owned(),
                Some(name) => format!("was killed by {name}{dumped}"),
                None => format!("was killed by signal {number}{dumped}"),
            };
        }
    }
    let code = status.code().unwrap_or_default();
    format!("exited with code {code}")
}

/// The name of a signal that ends processes.
#[cfg(unix)]
#[must_use]
pub fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    Some(match Signal::from_named_raw(number)? {
        Signal::ABORT => "SIGABRT",
        Signal::ALARM => "SIGALRM",
        Signal::BUS => "SIGBUS",
        Signal::FPE => "SIGFPE",
        Signal::HUP => "SIGHUP",
        Signal::ILL => "SIGILL",
        Signal::INT => "SIGINT",
        Signal::KILL => "SIGKILL",
        Signal::PIPE => "SIGPIPE",
        Signal::QUIT => "SIGQUIT",
        Signal::SEGV => "SIGSEGV",
        Signal::SYS => "SIGSYS",
        Signal::TERM => "SIGTERM",
        Signal::TRAP => "SIGTRAP",
        Signal::XCPU => "SIGXCPU",
        Signal::XFSZ => "SIGXFSZ",
        _ => return None,
    })
}
