//! No panic crosses the ABI: each becomes an error with its text and place.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flowpipe_abi as abi;

use crate::error::{Error, Result};

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static GUARDED: RefCell<bool> = const { RefCell::new(false) };
}

/// Calls [`install_hook`] once.
pub(crate) fn install_hook_once() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(install_hook);
}

/// Records panics inside [`guard`] instead of printing them. Every plugin library has its own standard library, and so
/// its own panic hook: the host's is not called here.
fn install_hook() {
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if GUARDED.with_borrow(|guarded| *guarded) {
            let place = info.location().map_or_else(String::new, |place| {
                format!(" at {}:{}:{}", place.file(), place.line(), place.column())
            });
            let text = info.payload_as_str().unwrap_or("a value that is no text");
            LAST_PANIC.set(Some(format!("panicked{place}: {text}")));
        } else {
            earlier(info);
        }
    }));
}

/// Runs a function; a panic in it becomes an error of status [`abi::PANIC`].
///
/// # Errors
/// The function's own, or the panic.
pub(crate) fn guard<T>(function: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = GUARDED.replace(true);
    // The caller drops or recreates what a panic may leave half done.
    let result = catch_unwind(AssertUnwindSafe(function));
    GUARDED.set(outer);
    result.unwrap_or_else(|payload| {
        // Dropping a payload may panic again, and that panic would cross the ABI.
        std::mem::forget(payload);
        let text = LAST_PANIC.take().unwrap_or_else(|| "panicked".to_owned());
        Err(Error::with_status(abi::PANIC, text))
    })
}
