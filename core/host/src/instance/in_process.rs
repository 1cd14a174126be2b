//! An instance in this process.

use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_abi as abi;
use serde_json::Value;

use crate::catalogue::Found;
use crate::document::Document;
use crate::instance::{CreateError, Instance, Limits, StageInstance, State};
use crate::library::loader::Library;
use crate::run::RunContext;
use crate::table::Host;

type Act = unsafe extern "C" fn(*mut abi::Stage) -> abi::Status;
type Extension = unsafe extern "C" fn(*mut abi::Stage, *const c_char) -> *const c_void;
type Teardown = unsafe extern "C" fn(*mut abi::Stage);

/// Judges a message, of an extension `flowpipe.check/1`.
pub(crate) type JudgeFunction = unsafe extern "C" fn(
    *mut abi::Stage,
    *const abi::Message,
    *const abi::Message,
    *mut abi::Judgement,
) -> abi::Status;

/// A stage that a plugin created. The functions are copied at creation, so that later writes of the plugin to its table
/// have no effect.
pub struct InProcess {
    stage: NonNull<abi::Stage>,
    activate: Act,
    process: unsafe extern "C" fn(*mut abi::Stage, *const abi::Process) -> abi::Status,
    reset: Act,
    deactivate: Teardown,
    destroy: Teardown,
    get_extension: Extension,
    active: bool,
    library: &'static Library,
    /// Released in [`StageInstance::destroy`] alone: until then the plugin may use it, on any thread.
    host: ManuallyDrop<Arc<Host>>,
}

// SAFETY: the ABI lets the host move a stage to another thread between two calls.
unsafe impl Send for InProcess {}

impl InProcess {
    /// Creates a stage. [control-thread]
    ///
    /// # Errors
    /// Why it failed.
    pub fn create(found: &Found, config: &Value, host: Arc<Host>) -> Result<Instance, CreateError> {
        let library = found.file.library()?;
        let made = Self::create_raw(library, found.index, config, host);
        let made = made.map_err(|(status, text)| match status {
            abi::BAD_CONFIG => CreateError::BadConfig(text),
            _ => CreateError::Failed(text),
        })?;
        Ok(Box::new(made))
    }

    /// As [`Self::create`], with the plugin's own text and status.
    ///
    /// # Errors
    /// The plugin's status and its error text.
    pub fn create_raw(
        library: &'static Library,
        index: u32,
        config: &Value,
        host: Arc<Host>,
    ) -> Result<Self, (abi::Status, String)> {
        let failed = |text: String| (abi::ERROR, text);
        let document = Document::from(config);
        host.take_error();
        // A refused stage is never destroyed, so its host must stay.
        let kept = ManuallyDrop::new(host.clone());
        // SAFETY: the slot was checked when the library was loaded; the instance owns the host, and the config is valid
        // for the call.
        let stage =
            unsafe { (library.create)(host.show(), index, document.as_c(), document.as_abi()) };
        let Some(stage) = NonNull::new(stage) else {
            host.revoke();
            drop(ManuallyDrop::into_inner(kept));
            return Err(match host.take_error() {
                Some((abi::BAD_CONFIG, text)) => (abi::BAD_CONFIG, text),
                Some((_, text)) => failed(text),
                None => failed("it created no stage and gave no reason".into()),
            });
        };
        if !stage.is_aligned() {
            return Err(failed("its stage table is not aligned".into()));
        }
        // SAFETY: a plugin returns a stage that is valid until destroy, and struct_size comes first.
        let size = unsafe { stage.cast::<u32>().read() };
        if (size as usize) < size_of::<abi::Stage>() {
            return Err(failed(format!(
                "its stage table has {size} bytes, {} are needed",
                size_of::<abi::Stage>()
            )));
        }
        // SAFETY: as above, and the table is long enough.
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
            return Err(failed("a function is missing in its stage table".into()));
        };
        library.live.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            stage,
            activate,
            process,
            reset,
            deactivate,
            destroy,
            get_extension,
            active: false,
            library,
            host: kept,
        })
    }

    /// As [`StageInstance::activate`], with the plugin's own status.
    pub fn activate_raw(&mut self) -> abi::Status {
        self.host.take_error();
        // SAFETY: the stage is valid and is not active.
        let status = unsafe { (self.activate)(self.stage.as_ptr()) };
        self.active = status >= 0;
        status
    }

    /// One of the stage's extension tables.
    pub(super) fn extension(&self, id: &CStr) -> *const c_void {
        // SAFETY: the stage is valid, and the id is NUL-terminated.
        unsafe { (self.get_extension)(self.stage.as_ptr(), id.as_ptr()) }
    }

    /// The function of its extension `flowpipe.check/1`.
    pub(crate) fn judge_function(&self) -> Option<JudgeFunction> {
        let table = self.extension(abi::EXTENSION_CHECK).cast::<abi::Check>();
        if table.is_null() || !table.is_aligned() {
            return None;
        }
        // SAFETY: struct_size comes first; a table is valid as long as its stage.
        let size = unsafe { (*table).struct_size } as usize;
        if size < size_of::<abi::Check>() {
            return None;
        }
        // SAFETY: as above, and the table is long enough.
        unsafe { (*table).judge }
    }

    /// The stage behind the ABI's pointer.
    pub(crate) fn as_abi(&mut self) -> *mut abi::Stage {
        self.stage.as_ptr()
    }
}

impl StageInstance for InProcess {
    fn activate(&mut self, _: &dyn RunContext) -> Result<(), CreateError> {
        match self.activate_raw() {
            0.. => Ok(()),
            status => Err(CreateError::of_activation(status, &self.host)),
        }
    }

    unsafe fn process(&mut self, process: &abi::Process) -> abi::Status {
        // SAFETY: by the contract above; the stage is valid and active, and `&mut` keeps other calls away.
        unsafe { (self.process)(self.stage.as_ptr(), process) }
    }

    fn reset(&mut self) -> abi::Status {
        // SAFETY: the stage is valid and active, and `&mut` keeps other calls away.
        unsafe { (self.reset)(self.stage.as_ptr()) }
    }

    fn destroy(self: Box<Self>) {
        // SAFETY: the stage is valid; each is called once, deactivate only when active.
        unsafe {
            if self.active {
                (self.deactivate)(self.stage.as_ptr());
            }
            (self.destroy)(self.stage.as_ptr());
        }
        self.host.revoke();
        self.library.live.fetch_sub(1, Ordering::Relaxed);
        drop(ManuallyDrop::into_inner(self.host));
    }

    fn host(&self) -> &Host {
        &self.host
    }

    fn has_state(&mut self, _: &Limits<'_>) -> Result<bool, String> {
        Ok(self.has_state_here())
    }

    fn save(&mut self, _: &Limits<'_>) -> Result<Option<State>, String> {
        self.save_here()
    }

    fn load(&mut self, state: &State, _: &Limits<'_>) -> Result<bool, String> {
        self.load_here(state)
    }
}
