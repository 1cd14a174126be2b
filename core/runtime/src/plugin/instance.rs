//! One living stage of a plugin.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_abi as abi;
use serde_json::Value;

use crate::document::Document;
use crate::plugin::catalogue::Found;
use crate::plugin::host::Host;
use crate::plugin::loader::Library;

type Act = unsafe extern "C" fn(*mut abi::Stage) -> abi::Status;
type Extension = unsafe extern "C" fn(*mut abi::Stage, *const c_char) -> *const c_void;
type Part = unsafe extern "C" fn(*mut abi::Stage);

/// A stage that a plugin made. The functions are copied when it is made, so that a plugin that
/// scribbles over its table later harms nobody.
///
/// Dropping it without [`Self::destroy`] leaves the plugin's side alive: what is right for an
/// instance that hangs.
pub(crate) struct Instance {
    stage: NonNull<abi::Stage>,
    activate: Act,
    process: unsafe extern "C" fn(*mut abi::Stage, *const abi::Process) -> abi::Status,
    reset: Act,
    deactivate: Part,
    destroy: Part,
    get_extension: Extension,
    active: bool,
    host: Arc<Host>,
    library: &'static Library,
}

// SAFETY: the border lets the host move a stage to another thread between two calls.
unsafe impl Send for Instance {}

impl Instance {
    /// Makes a stage. [control-thread]
    pub(crate) fn create(found: &Found, config: &Value, host: Arc<Host>) -> Result<Self, String> {
        let document = Document::from(config);
        host.take_error();
        // SAFETY: the slot was checked when the library was loaded; the host lives in the instance,
        // and the config lives for the call.
        let stage = unsafe {
            (found.library.create)(
                host.as_abi(),
                found.index,
                document.as_c(),
                document.as_abi(),
            )
        };
        let Some(stage) = NonNull::new(stage) else {
            return Err(match host.take_error() {
                Some((abi::BAD_CONFIG, text)) => format!("the config can't be used: {text}"),
                Some((_, text)) => text,
                None => "it made no stage and did not say why".into(),
            });
        };
        // SAFETY: a plugin returns a stage that lives until destroy, and struct_size comes first.
        let size = unsafe { stage.cast::<u32>().read() };
        if (size as usize) < size_of::<abi::Stage>() {
            return Err(format!(
                "its stage table has {size} bytes, {} are needed",
                size_of::<abi::Stage>()
            ));
        }
        // SAFETY: as above, and the table was just seen to be long enough.
        let table = unsafe { stage.as_ref() };
        let (
            Some(activate),
            Some(process),
            Some(reset),
            Some(deactivate),
            Some(destroy),
            Some(get_extension),
        ) = (
            table.activate,
            table.process,
            table.reset,
            table.deactivate,
            table.destroy,
            table.get_extension,
        )
        else {
            return Err("a function is missing in its stage table".into());
        };
        found.library.living.fetch_add(1, Ordering::Relaxed);
        let library = found.library;
        Ok(Self {
            stage,
            activate,
            process,
            reset,
            deactivate,
            destroy,
            get_extension,
            active: false,
            host,
            library,
        })
    }

    /// Gets it ready. [control-thread]
    pub(crate) fn activate(&mut self) -> Result<(), String> {
        self.host.take_error();
        // SAFETY: the stage lives and is not active.
        let status = unsafe { (self.activate)(self.stage.as_ptr()) };
        self.active = status >= 0;
        if self.active {
            Ok(())
        } else {
            Err(reason(status, &self.host))
        }
    }

    /// Lets it work. [stage-thread, active]
    pub(crate) fn process(&mut self, process: &abi::Process) -> abi::Status {
        // SAFETY: the stage lives and is active, and `&mut` keeps other calls away.
        unsafe { (self.process)(self.stage.as_ptr(), process) }
    }

    /// Makes it forget what earlier messages left behind. [stage-thread, active]
    pub(crate) fn reset(&mut self) -> abi::Status {
        // SAFETY: the stage lives and is active, and `&mut` keeps other calls away.
        unsafe { (self.reset)(self.stage.as_ptr()) }
    }

    /// One of the stage's later tables.
    pub(super) fn extension(&self, id: &CStr) -> *const c_void {
        // SAFETY: the stage lives, and the id is NUL-terminated.
        unsafe { (self.get_extension)(self.stage.as_ptr(), id.as_ptr()) }
    }

    /// The stage behind the border's pointer.
    pub(super) fn as_abi(&mut self) -> *mut abi::Stage {
        self.stage.as_ptr()
    }

    /// Ends it. [control-thread]
    pub(crate) fn destroy(self) {
        // SAFETY: the stage lives; each is called once, deactivate only when active.
        unsafe {
            if self.active {
                (self.deactivate)(self.stage.as_ptr());
            }
            (self.destroy)(self.stage.as_ptr());
        }
        self.library.living.fetch_sub(1, Ordering::Relaxed);
    }

    /// The host that it sees.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }
}

/// A negative status in words, with what the plugin said.
pub(crate) fn reason(status: abi::Status, host: &Host) -> String {
    let said = host
        .take_error()
        .map(|(_, text)| text)
        .filter(|text| !text.trim().is_empty());
    let kind = match status {
        abi::ERROR => None,
        abi::CANCELLED => Some("it gave up though nothing was cancelled".to_owned()),
        abi::BAD_CONFIG => Some("the config can't be used".to_owned()),
        abi::BAD_MESSAGE => Some("it can't read the message".to_owned()),
        abi::PANIC => Some("it panicked".to_owned()),
        other => Some(format!(
            "it returned {other}, which is not a status for this call"
        )),
    };
    match (kind, said) {
        (None, None) => "it failed and did not say why".into(),
        (Some(kind), None) => kind,
        (None, Some(said)) => said,
        (Some(kind), Some(said)) => format!("{kind}: {said}"),
    }
}
