//! What only an administrator may do: a process that an administrator started gives it up.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Gives up all capabilities of this thread, for good. Threads that it starts and programs that it executes have none
/// either, once the process can gain no privileges.
///
/// # Errors
/// When the system refuses it.
pub(super) fn give_up() -> Result<(), String> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| format!("capabilities: {error}"))
}
