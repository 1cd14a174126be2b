//! The host's extension `flowpipe.run/1`: the run as a stage sees it.

use std::ffi::c_char;
use std::sync::{Arc, Weak};

use flowpipe_abi as abi;

use crate::run::{Ended, Ending, Mode, RunContext};
use crate::table::{Host, text};

/// The table of every stage. The host that it passes back identifies the stage and the run.
pub(crate) static TABLE: abi::Run = abi::Run {
    struct_size: size_of::<abi::Run>() as u32,
    reserved: 0,
    is_ending,
    is_dry,
    end,
};

/// # Safety
/// `host` is null or a host's table.
unsafe fn run(host: *const abi::Host) -> Option<Arc<dyn RunContext>> {
    // SAFETY: by the contract above.
    unsafe { Host::from_abi(host) }?.run()?.upgrade()
}

unsafe extern "C" fn is_ending(host: *const abi::Host) -> i32 {
    // SAFETY: the ABI demands the host's table. A host without a run, or that is revoked, is at its end.
    let run = unsafe { run(host) };
    run.is_none_or(|run| run.mode() > Mode::Run).into()
}

unsafe extern "C" fn is_dry(host: *const abi::Host) -> i32 {
    // SAFETY: the ABI demands the host's table.
    let run = unsafe { run(host) };
    run.is_none_or(|run| run.is_dry()).into()
}

unsafe extern "C" fn end(
    host: *const abi::Host,
    how: abi::Ending,
    pointer: *const c_char,
    length: usize,
) {
    // SAFETY: the ABI demands the host's table and readable text.
    let (host, reason) = unsafe { (Host::from_abi(host), text(pointer, length)) };
    if let Some(host) = host {
        end_run(&host, how, reason);
    }
}

/// Ends the run that a stage is part of.
pub fn end_run(host: &Host, how: abi::Ending, reason: String) {
    if let Some(run) = host.run().and_then(Weak::upgrade) {
        run.end(Ended {
            stage: host.name().to_owned(),
            // An ending that this host does not know counts as the more careful one.
            how: if how == abi::ENDING_DONE {
                Ending::Done
            } else {
                Ending::Stopped
            },
            reason,
        });
    }
}
