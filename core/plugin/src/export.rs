//! The C side of a plugin: `flowpipe_entry`, the factory, and one set of thunks for every stage.

mod check;
mod state;

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use flowpipe_abi as abi;

use crate::context::{Context, Message};
use crate::error::{Error, Result};
use crate::host::{Host, set_error};
use crate::logging;
use crate::manifest::manifest;
use crate::panic_guard::{guard, install_hook_once};
use crate::stage::{Input, Next, Stage};

/// Exports one or more stages of a library: types that implement [`crate::Capture`],
/// [`crate::Vision`], [`crate::Solver`], [`crate::Planner`], [`crate::Actuator`], [`crate::Check`] or
/// [`crate::Stage`]. Used once in a library of crate type `cdylib`.
#[macro_export]
macro_rules! export {
    ($($stage:ty),+ $(,)?) => {
        const _: () = {
            fn descriptors() -> ::std::vec::Vec<$crate::export::Descriptor> {
                #[allow(unused_imports, reason = "a lookup of one role needs no other traits")]
                use $crate::export::by_role::*;
                ::std::vec![$(
                    (&&&&&&&$crate::export::Probe::<$stage>::new())
                        .describe(::core::env!("CARGO_PKG_VERSION"))
                ),+]
            }

            static LIBRARY: $crate::export::Library = $crate::export::Library::new(descriptors);

            unsafe extern "C" fn init(host: *const $crate::abi::Host) -> $crate::abi::Status {
                // SAFETY: the host passes its table, valid until deinit.
                unsafe { LIBRARY.init(host) }
            }

            unsafe extern "C" fn deinit() {
                LIBRARY.deinit()
            }

            unsafe extern "C" fn get_factory(
                id: *const ::core::ffi::c_char,
            ) -> *const ::core::ffi::c_void {
                static FACTORY: $crate::abi::StageFactory = $crate::abi::StageFactory {
                    struct_size: ::core::mem::size_of::<$crate::abi::StageFactory>() as u32,
                    reserved: 0,
                    count: Some(count),
                    manifest: Some(manifest),
                    create: Some(create),
                };
                // SAFETY: the host passes a NUL-terminated id.
                unsafe { $crate::export::factory_by_id(id, &FACTORY) }
            }

            unsafe extern "C" fn count() -> u32 {
                LIBRARY.count()
            }

            unsafe extern "C" fn manifest(index: u32) -> *const ::core::ffi::c_char {
                LIBRARY.manifest(index)
            }

            unsafe extern "C" fn create(
                host: *const $crate::abi::Host,
                index: u32,
                config: *const ::core::ffi::c_char,
                _document: *const $crate::abi::Document,
            ) -> *mut $crate::abi::Stage {
                // SAFETY: the host passes its table and a NUL-terminated config.
                unsafe { LIBRARY.create(host, index, config) }
            }

            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals, reason = "flowpipe.h gives the symbol its name")]
            pub static flowpipe_entry: $crate::abi::Entry = $crate::abi::Entry {
                magic: $crate::abi::MAGIC,
                abi_major: $crate::abi::ABI_MAJOR,
                abi_minor: $crate::export::ABI_MINOR_NEEDED,
                struct_size: ::core::mem::size_of::<$crate::abi::Entry>() as u32,
                reserved: 0,
                init: Some(init),
                deinit: Some(deinit),
                get_factory: Some(get_factory),
            };
        };
    };
}

/// The lowest ABI minor that a plugin made with this SDK needs. Raised when the SDK starts to use
/// something newer, not with every release.
pub const ABI_MINOR_NEEDED: u32 = 1;

/// One exported stage of a library.
pub struct Descriptor {
    manifest: CString,
    create: unsafe fn(*const abi::Host, Host, &CStr) -> Result<*mut abi::Stage>,
}

impl Descriptor {
    /// Describes a stage. `version` is the plugin's release.
    #[must_use]
    pub fn of<S: Stage>(version: &str) -> Self {
        // A NUL can come from doc comments only; it is dropped.
        let manifest = CString::new(manifest::<S>(version).replace('\0', "")).unwrap_or_default();
        Self {
            manifest,
            create: create_stage::<S>,
        }
    }

    /// Creates the stage, or returns null after `set_error`.
    ///
    /// # Safety
    /// The host outlives the stage.
    pub(crate) unsafe fn create(&self, host: *const abi::Host, config: &CStr) -> *mut abi::Stage {
        // SAFETY: by the contract above; revoked below, or when the stage is destroyed.
        let handle = unsafe { Host::grant(host) };
        let entered = logging::enter(handle);
        // SAFETY: as above.
        let created = guard(|| unsafe { (self.create)(host, handle, config) });
        drop(entered);
        created.unwrap_or_else(|error| {
            // There will be no `destroy`: copies of the handle that the stage has kept become invalid here.
            handle.revoke();
            // SAFETY: the host is valid for this call at least.
            set_error(unsafe { &*host }, &error);
            std::ptr::null_mut()
        })
    }
}

/// The stages of one library, described on first access.
pub struct Library {
    describe: fn() -> Vec<Descriptor>,
    descriptors: OnceLock<Vec<Descriptor>>,
    /// Between `init` and `deinit`.
    host: Mutex<Option<Host>>,
}

impl Library {
    /// An empty library. Runs no code of the plugin.
    #[must_use]
    pub const fn new(describe: fn() -> Vec<Descriptor>) -> Self {
        Self {
            describe,
            descriptors: OnceLock::new(),
            host: Mutex::new(None),
        }
    }

    fn descriptors(&self) -> &[Descriptor] {
        self.descriptors.get_or_init(|| {
            guard(|| Ok((self.describe)())).unwrap_or_else(|error| {
                // The panic's own message was not printed.
                let host = *self.host();
                if let Some(host) = host {
                    let text = format!("its stages can't be described: {error}");
                    host.log(tracing::Level::ERROR, &text);
                }
                Vec::new()
            })
        })
    }

    /// The entry's `init`.
    ///
    /// # Safety
    /// `host` points to a host table that stays valid until [`Self::deinit`] has returned.
    pub unsafe fn init(&self, host: *const abi::Host) -> abi::Status {
        // SAFETY: by the contract above.
        let (handle, table) = unsafe { (Host::grant(host), &*host) };
        *self.host() = Some(handle);
        install_hook_once();
        status(
            table,
            guard(|| {
                logging::install(handle);
                Ok(Next::More)
            }),
        )
    }

    /// The entry's `deinit`: threads that still run can't log afterwards.
    pub fn deinit(&self) {
        let host = self.host().take();
        if let Some(host) = host {
            host.revoke();
        }
    }

    fn host(&self) -> MutexGuard<'_, Option<Host>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The factory's `count`.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.descriptors().len() as u32
    }

    /// The factory's `manifest`.
    #[must_use]
    pub fn manifest(&self, index: u32) -> *const c_char {
        self.descriptors()
            .get(index as usize)
            .map_or(std::ptr::null(), |descriptor| descriptor.manifest.as_ptr())
    }

    /// The factory's `create`.
    ///
    /// # Safety
    /// `host` points to a host table that outlives the stage, `config` to a NUL-terminated text.
    pub unsafe fn create(
        &self,
        host: *const abi::Host,
        index: u32,
        config: *const c_char,
    ) -> *mut abi::Stage {
        let Some(descriptor) = self.descriptors().get(index as usize) else {
            let error = Error::new(format!("this library has no stage number {index}"));
            // SAFETY: by the contract above.
            set_error(unsafe { &*host }, &error);
            return std::ptr::null_mut();
        };
        // SAFETY: by the contract above.
        unsafe { descriptor.create(host, CStr::from_ptr(config)) }
    }
}

/// The entry's `get_factory`.
///
/// # Safety
/// `id` points to a NUL-terminated text.
pub unsafe fn factory_by_id(
    id: *const c_char,
    factory: &'static abi::StageFactory,
) -> *const c_void {
    // SAFETY: by the contract above.
    if unsafe { CStr::from_ptr(id) } == abi::FACTORY_STAGES {
        std::ptr::from_ref(factory).cast()
    } else {
        std::ptr::null()
    }
}

/// A stage with its C table. `raw` comes first: the host's pointer to it is a pointer to this.
#[repr(C)]
struct Exported<S> {
    raw: abi::Stage,
    /// The handle that the stage gets.
    host: Host,
    /// The table that the SDK uses during a call.
    table: *const abi::Host,
    config: CString,
    /// `None` after a panic: recreated from the config at the next call.
    stage: Option<S>,
    active: bool,
    buffer: Vec<u8>,
}

fn new_stage<S: Stage>(host: &Host, config: &CStr) -> Result<S> {
    // Errors of a value name no place in the text, which the user has not written.
    let config = serde_json::from_slice::<serde_json::Value>(config.to_bytes())
        .and_then(serde_json::from_value)
        .map_err(|error| Error::bad_config(format!("the config can't be read: {error}")))?;
    S::new(config, host)
}

/// # Safety
/// The table outlives the stage.
unsafe fn create_stage<S: Stage>(
    table: *const abi::Host,
    host: Host,
    config: &CStr,
) -> Result<*mut abi::Stage> {
    let stage = new_stage::<S>(&host, config)?;
    let raw = abi::Stage {
        struct_size: size_of::<abi::Stage>() as u32,
        reserved: 0,
        data: std::ptr::null_mut(),
        activate: Some(activate::<S>),
        process: Some(process::<S>),
        reset: Some(reset::<S>),
        deactivate: Some(deactivate::<S>),
        destroy: Some(destroy::<S>),
        get_extension: Some(get_extension::<S>),
    };
    let exported = Exported {
        raw,
        host,
        table,
        config: config.to_owned(),
        stage: Some(stage),
        active: false,
        buffer: Vec::new(),
    };
    Ok(Box::into_raw(Box::new(exported)).cast())
}

impl<S: Stage> Exported<S> {
    /// Runs a function on the stage. After a panic the stage is dropped; the next call recreates it.
    fn with_stage(
        &mut self,
        function: impl FnOnce(&mut S, (Host, &abi::Host), &mut Vec<u8>) -> Result<Next>,
    ) -> abi::Status {
        let host = self.host;
        // SAFETY: the host is valid until `destroy`, see `create_stage`.
        let table = unsafe { &*self.table };
        let _entered = logging::enter(host);
        let result = guard(|| {
            if self.stage.is_none() {
                let mut stage = new_stage::<S>(&host, &self.config)?;
                if self.active {
                    stage.activate()?;
                }
                self.stage = Some(stage);
            }
            match &mut self.stage {
                Some(stage) => function(stage, (host, table), &mut self.buffer),
                None => Err(Error::new("the stage could not be recreated")),
            }
        });
        if matches!(&result, Err(error) if error.status() == abi::PANIC) {
            let broken = self.stage.take();
            // Its drop may panic as well; then it leaks.
            let _ = guard(|| {
                drop(broken);
                Ok(())
            });
        }
        status(table, result)
    }
}

fn status(table: &abi::Host, result: Result<Next>) -> abi::Status {
    match result {
        Ok(Next::More) => abi::OK,
        Ok(Next::End) => abi::END,
        Err(error) => {
            set_error(table, &error);
            error.status()
        }
    }
}

/// # Safety
/// For all thunks: the host passes a stage from `create_stage::<S>` that is not destroyed, and calls no two of them at
/// once.
unsafe fn exported<'a, S>(stage: *mut abi::Stage) -> &'a mut Exported<S> {
    // SAFETY: by the contract above; `raw` is the first field of a repr(C) struct.
    unsafe { &mut *stage.cast() }
}

unsafe extern "C" fn activate<S: Stage>(stage: *mut abi::Stage) -> abi::Status {
    // SAFETY: see `exported`.
    let exported = unsafe { exported::<S>(stage) };
    let status = exported.with_stage(|stage, _, _| stage.activate().map(|()| Next::More));
    exported.active = status >= abi::OK;
    status
}

unsafe extern "C" fn process<S: Stage>(
    stage: *mut abi::Stage,
    process: *const abi::Process,
) -> abi::Status {
    // SAFETY: see `exported`; the process table is valid for the call.
    let (exported, call) = unsafe { (exported::<S>(stage), &*process) };
    exported.with_stage(|stage, (host, table), buffer| {
        let input = match call.event {
            abi::EVENT_TICK => Input::Tick,
            abi::EVENT_FINISH => Input::Finish,
            // SAFETY: with this event the message is set, and valid for the call.
            abi::EVENT_MESSAGE => Input::Message(unsafe { Message::new(host, &*call.message) }),
            // An event of a later minor that this stage need not know.
            _ => return Ok(Next::More),
        };
        // SAFETY: the host passes the context of this call.
        let mut context = unsafe { Context::new(host, table, call.context, buffer) };
        stage.process(input, &mut context)
    })
}

unsafe extern "C" fn reset<S: Stage>(stage: *mut abi::Stage) -> abi::Status {
    // SAFETY: see `exported`.
    unsafe { exported::<S>(stage) }.with_stage(|stage, _, _| stage.reset().map(|()| Next::More))
}

unsafe extern "C" fn deactivate<S: Stage>(stage: *mut abi::Stage) {
    // SAFETY: see `exported`.
    let exported = unsafe { exported::<S>(stage) };
    exported.active = false;
    if exported.stage.is_some() {
        exported.with_stage(|stage, _, _| {
            stage.deactivate();
            Ok(Next::More)
        });
    }
}

unsafe extern "C" fn destroy<S: Stage>(stage: *mut abi::Stage) {
    // SAFETY: see `exported`; the host does not use the stage after this call.
    let exported: Box<Exported<S>> = unsafe { Box::from_raw(stage.cast()) };
    let (host, table) = (exported.host, exported.table);
    let entered = logging::enter(host);
    let dropped = guard(|| {
        drop(exported);
        Ok(Next::More)
    });
    drop(entered);
    // Threads and statics that have kept the handle can't reach the table any more.
    host.revoke();
    // SAFETY: the host is valid until this returns.
    status(unsafe { &*table }, dropped);
}

unsafe extern "C" fn get_extension<S: Stage>(
    _: *mut abi::Stage,
    id: *const c_char,
) -> *const c_void {
    // SAFETY: the host passes a NUL-terminated id.
    let id = unsafe { CStr::from_ptr(id) };
    if !S::STATE.is_empty() && id == abi::EXTENSION_STATE {
        return std::ptr::from_ref(state::table::<S>()).cast();
    }
    match S::check_table() {
        Some(table) if id == abi::EXTENSION_CHECK => std::ptr::from_ref(table).cast(),
        _ => std::ptr::null(),
    }
}

/// Finds a type's role at compile time: method lookup takes the first of the traits in [`by_role`]
/// that fits, by the number of references (autoref specialisation).
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// A probe of a type. It has no data.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "only the macros create a probe")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// One trait for each role, implemented for as many references as its place in the lookup needs.
pub mod by_role {
    use super::check::CheckStage;
    use super::{Descriptor, Probe};
    #[cfg(feature = "flowfree")]
    use crate::actuator::{Actuator, ActuatorStage};
    use crate::capture::{Capture, CaptureStage};
    use crate::check::Check;
    #[cfg(feature = "flowfree")]
    use crate::planner::{Planner, PlannerStage};
    #[cfg(feature = "flowfree")]
    use crate::solver::{Solver, SolverStage};
    use crate::stage::Stage;
    #[cfg(feature = "flowfree")]
    use crate::vision::{Vision, VisionStage};

    macro_rules! role {
        ($by:ident, $role:ident, $stage:ty, $probe:ty) => {
            #[doc = concat!("Describes a [`", stringify!($role), "`].")]
            pub trait $by {
                /// The stage as the library exports it.
                fn describe(&self, version: &str) -> Descriptor;
            }

            impl<T: $role> $by for $probe {
                fn describe(&self, version: &str) -> Descriptor {
                    Descriptor::of::<$stage>(version)
                }
            }
        };
    }

    role!(ByCheck, Check, CheckStage<T>, &&&&&&Probe<T>);
    role!(ByCapture, Capture, CaptureStage<T>, &&&&&Probe<T>);
    #[cfg(feature = "flowfree")]
    role!(ByVision, Vision, VisionStage<T>, &&&&Probe<T>);
    #[cfg(feature = "flowfree")]
    role!(BySolver, Solver, SolverStage<T>, &&&Probe<T>);
    #[cfg(feature = "flowfree")]
    role!(ByPlanner, Planner, PlannerStage<T>, &&Probe<T>);
    #[cfg(feature = "flowfree")]
    role!(ByActuator, Actuator, ActuatorStage<T>, &Probe<T>);
    role!(ByStage, Stage, T, Probe<T>);
}
