//! What only an administrator may do: a process that an administrator started gives it up.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Gives up all capabilities of this thread, for good. Threads that it starts and programs that it executes have none
/// either, once the process can gain no privileges. Allocates no memory.
///
/// # Errors
/// When the system refuses it.
pub fn give_up() -> io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}
