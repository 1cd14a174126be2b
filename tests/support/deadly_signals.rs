//! The signals that end a process.

use rustix::process::Signal;

/// Every signal whose default is to end a process, but for SIGPIPE, which Rust's programs ignore.
pub const DEADLY: [Signal; 17] = [
    Signal::KILL,
    Signal::ABORT,
    Signal::SEGV,
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::BUS,
    Signal::ILL,
    Signal::FPE,
    Signal::TRAP,
    Signal::SYS,
    Signal::ALARM,
    Signal::USR1,
    Signal::XCPU,
    Signal::VTALARM,
    Signal::PROF,
];
