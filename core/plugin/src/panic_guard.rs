//! No panic crosses the border: each becomes an error with its text and place.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flowpipe_abi as abi;

use crate::error::{Error, Result};

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static GUARDED: RefCell<bool> = const { RefCell::new(false) };
}

/// [`install_hook`], once however often it is called.
pub(crate) fn install_hook_once() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(install_hook);
}

/// Makes panics inside [`guard`] silent and remembered instead of printed. Every plugin library has
/// a standard library, and so a panic hook, of its own: the host's is not seen here.
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

/// Runs a function; a panic in it comes back as an error of status [`abi::PANIC`].
///
/// # Errors
/// The function's own, or the panic.
pub fn guard<T>(function: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = GUARDED.replace(true);
    // What a panic may leave half done is dropped or made anew by the caller.
    let result = catch_unwind(AssertUnwindSafe(function));
    GUARDED.set(outer);
    result.unwrap_or_else(|payload| {
        // Dropping a payload may panic again, and that would leave the border.
        std::mem::forget(payload);
        let text = LAST_PANIC.take().unwrap_or_else(|| "panicked".to_owned());
        Err(Error::with_status(abi::PANIC, text))
    })
}
