//! One `process` call: what a plugin may ask of the host while it works.

use std::ffi::{CStr, c_char};

use flowpipe_abi as abi;

/// What a call asks of whoever made it. Everything but [`Self::is_cancelled`] is called on the stage's thread.
pub trait CallContext {
    /// Sends a message on. `None`: the plugin emitted nothing, or an output that is too short.
    fn emit(&self, output: Option<&abi::Output>) -> abi::Status;

    /// The plugin asks whether its work is still wanted. Any thread may ask.
    fn is_cancelled(&self) -> bool;

    /// Something of that name happens to the message in hand. `at_ns`: when, by the run's clock, if not now.
    fn mark(&self, name: &str, at_ns: Option<i64>);

    /// Waits until that time of the run's clock, or until the work is cancelled.
    fn wait_until(&self, deadline_ns: i64) -> abi::Status;

    /// Where a recorded call runs again: when its work was cancelled. `None`: the call is a new one.
    fn recorded_cancellation(&self) -> Option<Option<Cancellation>>;

    /// A process of its own has asked so often whether its work is wanted, and got this answer.
    fn catch_up(&self, asked: u64, cancelled: Option<Cancellation>);
}

/// The answer that work is not wanted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// How often the plugin had asked before.
    pub after: u64,
    /// Why, as the engine numbers its reasons.
    pub reason: u32,
}

/// What the ABI's `flowpipe_context_t` points at. It lives on the caller's stack during the call.
pub struct CallHandle<'a>(&'a dyn CallContext);

impl<'a> CallHandle<'a> {
    /// A handle for one call.
    #[must_use]
    pub fn new(context: &'a dyn CallContext) -> Self {
        Self(context)
    }

    /// What the plugin gets. It is valid as long as this handle.
    #[must_use]
    pub fn as_abi(&self) -> *mut abi::Context {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The context behind the ABI's pointer.
    ///
    /// # Safety
    /// `context` is null or was handed to the process call that runs now.
    pub unsafe fn from_abi(context: *const abi::Context) -> Option<&'a dyn CallContext> {
        // SAFETY: by the contract above.
        unsafe { context.cast::<Self>().as_ref() }.map(|handle| handle.0)
    }
}

/// An output, unless it is null or shorter than this version's. There is no reference before the size is known, for a
/// reference stands for the whole struct.
///
/// # Safety
/// `output` is null, or points at an output that says its size and is readable as far as that.
pub unsafe fn whole<'a>(output: *const abi::Output) -> Option<&'a abi::Output> {
    // SAFETY: by the contract above; struct_size comes first.
    unsafe {
        let is_whole =
            !output.is_null() && (*output).struct_size as usize >= size_of::<abi::Output>();
        is_whole.then(|| &*output)
    }
}

pub(crate) unsafe extern "C" fn emit(
    _: *const abi::Host,
    context: *mut abi::Context,
    output: *const abi::Output,
) -> abi::Status {
    // SAFETY: the ABI demands the context of the call that runs now, and null or an output that is readable as far as
    // it says.
    let (context, output) = unsafe { (CallHandle::from_abi(context), whole(output)) };
    context.map_or(abi::BAD_MESSAGE, |context| context.emit(output))
}

pub(crate) unsafe extern "C" fn cancelled(
    _: *const abi::Host,
    context: *const abi::Context,
) -> i32 {
    // SAFETY: the ABI demands the context of the call that runs now.
    let context = unsafe { CallHandle::from_abi(context) };
    context.is_none_or(CallContext::is_cancelled).into()
}

pub(crate) unsafe extern "C" fn mark(
    _: *const abi::Host,
    context: *mut abi::Context,
    name: *const c_char,
) {
    if name.is_null() {
        return;
    }
    // SAFETY: the ABI demands the context of the call that runs now and NUL-terminated text.
    let (context, name) = unsafe { (CallHandle::from_abi(context), CStr::from_ptr(name)) };
    if let Some(context) = context {
        context.mark(&name.to_string_lossy(), None);
    }
}

pub(crate) unsafe extern "C" fn wait_until(
    _: *const abi::Host,
    context: *mut abi::Context,
    deadline_ns: i64,
) -> abi::Status {
    // SAFETY: the ABI demands the context of the call that runs now.
    let context = unsafe { CallHandle::from_abi(context) };
    context.map_or(abi::CANCELLED, |context| context.wait_until(deadline_ns))
}
