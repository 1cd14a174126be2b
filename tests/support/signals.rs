//! Signals to the programs that tests start.

#![allow(dead_code, reason = "another crate's tests use a part of it")]

use std::process::Command;

/// Gives a program the default action for the signals that tests send. Shells, `nohup` and CI systems ignore some of
/// them for what they start in the background, and each process inherits that.
pub fn with_default_signals(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;

        let reset = || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                // SAFETY: the default action runs no code of this process.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: between fork and exec, `signal` alone is called, which is async-signal-safe.
        unsafe { command.pre_exec(reset) };
    }
    command
}

/// Sends a signal, by its name, to a process, or to the process group of the negative number.
///
/// # Panics
/// When there is no such process.
#[track_caller]
pub fn send_signal(name: &str, process: impl Into<i64>) {
    let process = process.into().to_string();
    let sent = Command::new("kill")
        .args(["-s", name, "--", &process])
        .status();
    assert!(
        sent.is_ok_and(|status| status.success()),
        "SIG{name} to {process}"
    );
}
