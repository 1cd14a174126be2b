//! The confinement of a process: it may do what its [`Access`] names, and no more. Landlock and seccomp enforce that on
//! Linux, for a process that confines itself and for a program that is started.
//!
//! # Layout
//! - `access`: what a process may do.
//! - `rules`: rules of the system, made before they are enforced: between fork and exec no memory may be allocated.
//! - `landlock`: rules for files, ports and other processes. `seccomp`: rules for calls of the system. `capabilities`:
//!   rights of an administrator.
//! - `absent`: other systems, without rules.

#[cfg(any(
    not(target_os = "linux"),
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    ))
))]
mod absent;
mod access;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod seccomp;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

#[cfg(not(target_os = "linux"))]
use absent as rules;
#[cfg(all(
    target_os = "linux",
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    ))
))]
use absent::seccomp;
pub use access::{Access, SYSTEM};
pub use rules::{Rules, gaps};
