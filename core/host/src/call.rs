//! One `process` call: the functions of the host that a plugin may call while it processes.

use std::ffi::{CStr, c_char};

use flowpipe_abi as abi;

/// The caller's side of a call. Every function but [`Self::is_cancelled`] is called on the stage's thread.
pub trait CallContext {
    /// Sends a message on. `None`: the plugin emitted nothing, or an output that is too short.
    fn emit(&self, output: Option<&abi::Output>) -> abi::Status;

    /// Whether the work is cancelled. Any thread may call it.
    fn is_cancelled(&self) -> bool;

    /// Marks an event of that name for the current message. `at_ns`: its time by the run's clock, if not now.
    fn mark(&self, name: &str, at_ns: Option<i64>);

    /// Waits until that time of the run's clock, in nanoseconds, or until the work is cancelled.
    fn wait_until(&self, deadline_ns: i64) -> abi::Status;

    /// When the work was cancelled, in a replay of a recorded call. `None`: the call is not a replay.
    fn recorded_cancellation(&self) -> Option<Option<Cancellation>>;

    /// A stage in its own process has called `cancelled` this many times; the last result was this one.
    fn catch_up(&self, polls: u64, cancelled: Option<Cancellation>);
}

/// When and why work was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// The number of earlier calls of `cancelled`.
    pub after: u64,
    /// Why, as the engine numbers its reasons.
    pub reason: u32,
}

/// The target of the ABI's `flowpipe_context_t`. It is on the caller's stack during the call.
pub struct CallHandle<'a>(&'a dyn CallContext);

impl<'a> CallHandle<'a> {
    /// A handle for one call.
    #[must_use]
    pub fn new(context: &'a dyn CallContext) -> Self {
        Self(context)
    }

    /// The pointer that the plugin gets. It is valid as long as this handle.
    #[must_use]
    pub fn as_abi(&self) -> *mut abi::Context {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The context behind the ABI's pointer.
    ///
    /// # Safety
    /// `context` is null or was passed to the current process call.
    pub unsafe fn from_abi(context: *const abi::Context) -> Option<&'a dyn CallContext> {
        // SAFETY: by the contract above.
        unsafe { context.cast::<Self>().as_ref() }.map(|handle| handle.0)
    }
}

/// An output, unless it is null or shorter than this version's. No reference is created before the size is known:
/// a reference requires that the whole struct is valid.
///
/// # Safety
/// `output` is null, or points at an output that states its size and is readable up to it.
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
    // SAFETY: the ABI demands the context of the current call, and null or an output that is readable up to its
    // stated size.
    let (context, output) = unsafe { (CallHandle::from_abi(context), whole(output)) };
    context.map_or(abi::BAD_MESSAGE, |context| context.emit(output))
}

pub(crate) unsafe extern "C" fn cancelled(
    _: *const abi::Host,
    context: *const abi::Context,
) -> i32 {
    // SAFETY: the ABI demands the context of the current call.
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
    // SAFETY: the ABI demands the context of the current call and NUL-terminated text.
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
    // SAFETY: the ABI demands the context of the current call.
    let context = unsafe { CallHandle::from_abi(context) };
    context.map_or(abi::CANCELLED, |context| context.wait_until(deadline_ns))
}
