//! One living stage of a plugin.

use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_abi as abi;
use serde_json::Value;

use crate::document::Document;
use crate::isolation::page::Page;
use crate::isolation::process::{Death, Lifeline};
#[cfg(unix)]
use crate::isolation::stage::{Apart, Start};
use crate::plugin::catalogue::Found;
use crate::plugin::host::Host;
use crate::plugin::loader::Library;
use crate::problem::ProblemKind;
use crate::run::shared::Shared;

type Act = unsafe extern "C" fn(*mut abi::Stage) -> abi::Status;
type Extension = unsafe extern "C" fn(*mut abi::Stage, *const c_char) -> *const c_void;
type Part = unsafe extern "C" fn(*mut abi::Stage);

/// A stage, in this process or in one of its own.
pub(crate) struct Instance {
    kind: Kind,
    host: Arc<Host>,
}

enum Kind {
    Here(Here),
    #[cfg(unix)]
    Apart(Box<Apart>),
}

/// A stage that a plugin made. The functions are copied when it is made, so that a plugin that
/// scribbles over its table later harms nobody.
///
/// Dropping it without [`Self::destroy`] leaves the plugin's side alive: what is right for an
/// instance that hangs.
struct Here {
    stage: NonNull<abi::Stage>,
    activate: Act,
    process: unsafe extern "C" fn(*mut abi::Stage, *const abi::Process) -> abi::Status,
    reset: Act,
    deactivate: Part,
    destroy: Part,
    get_extension: Extension,
    active: bool,
    library: &'static Library,
    /// Let go in [`Self::destroy`] alone: until then the plugin may use it, on any thread.
    host: ManuallyDrop<Arc<Host>>,
}

// SAFETY: the border lets the host move a stage to another thread between two calls.
unsafe impl Send for Here {}

impl Instance {
    /// Makes a stage. [control-thread]
    pub(crate) fn create(found: &Found, config: &Value, host: Arc<Host>) -> Result<Self, String> {
        let library = found.file.library()?;
        Self::create_raw(library, found.index, config, host).map_err(
            |(status, text)| match status {
                abi::BAD_CONFIG => format!("the config can't be used: {text}"),
                _ => text,
            },
        )
    }

    /// Makes a stage in a process of its own.
    #[cfg(unix)]
    pub(crate) fn create_apart(
        found: &Found,
        config: &Value,
        host: Arc<Host>,
        start: &Start<'_>,
    ) -> Result<Self, String> {
        let apart = Apart::create(found, config, host.clone(), start)?;
        Ok(Self {
            kind: Kind::Apart(Box::new(apart)),
            host,
        })
    }

    /// As [`Self::create`], with the plugin's own words and status.
    pub(crate) fn create_raw(
        library: &'static Library,
        index: u32,
        config: &Value,
        host: Arc<Host>,
    ) -> Result<Self, (abi::Status, String)> {
        let failed = |text: String| (abi::ERROR, text);
        let document = Document::from(config);
        host.take_error();
        // Of a stage that is refused nothing is destroyed, so that its host has to stay.
        let kept = ManuallyDrop::new(host.clone());
        // SAFETY: the slot was checked when the library was loaded; the host lives in the instance,
        // and the config lives for the call.
        let stage =
            unsafe { (library.create)(host.show(), index, document.as_c(), document.as_abi()) };
        let Some(stage) = NonNull::new(stage) else {
            host.revoke();
            drop(ManuallyDrop::into_inner(kept));
            return Err(match host.take_error() {
                Some((abi::BAD_CONFIG, text)) => (abi::BAD_CONFIG, text),
                Some((_, text)) => failed(text),
                None => failed("it made no stage and did not say why".into()),
            });
        };
        if !stage.is_aligned() {
            return Err(failed("its stage table is not aligned".into()));
        }
        // SAFETY: a plugin returns a stage that lives until destroy, and struct_size comes first.
        let size = unsafe { stage.cast::<u32>().read() };
        if (size as usize) < size_of::<abi::Stage>() {
            return Err(failed(format!(
                "its stage table has {size} bytes, {} are needed",
                size_of::<abi::Stage>()
            )));
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
            return Err(failed("a function is missing in its stage table".into()));
        };
        library.living.fetch_add(1, Ordering::Relaxed);
        let here = Here {
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
        };
        Ok(Self {
            kind: Kind::Here(here),
            host,
        })
    }

    /// Gets it ready. `run` is what it is part of. [control-thread]
    pub(crate) fn activate(&mut self, run: &Shared) -> Result<(), String> {
        let status = match &mut self.kind {
            Kind::Here(_) => self.activate_raw(),
            #[cfg(unix)]
            Kind::Apart(apart) => apart.activate(run),
        };
        let _ = run;
        match (status, self.death()) {
            (0.., _) => Ok(()),
            (_, Some(death)) => Err(death.text.clone()),
            (status, None) => Err(reason(status, &self.host)),
        }
    }

    /// As [`Self::activate`], in this process, with the plugin's own status.
    pub(crate) fn activate_raw(&mut self) -> abi::Status {
        self.host.take_error();
        match &mut self.kind {
            Kind::Here(here) => {
                // SAFETY: the stage lives and is not active.
                let status = unsafe { (here.activate)(here.stage.as_ptr()) };
                here.active = status >= 0;
                status
            }
            #[cfg(unix)]
            Kind::Apart(_) => abi::ERROR,
        }
    }

    /// Lets it work. [stage-thread, active]
    pub(crate) fn process(&mut self, process: &abi::Process) -> abi::Status {
        match &mut self.kind {
            // SAFETY: the stage lives and is active, and `&mut` keeps other calls away.
            Kind::Here(here) => unsafe { (here.process)(here.stage.as_ptr(), process) },
            #[cfg(unix)]
            Kind::Apart(apart) => apart.process(process),
        }
    }

    /// Makes it forget what earlier messages left behind. [stage-thread, active]
    pub(crate) fn reset(&mut self) -> abi::Status {
        match &mut self.kind {
            // SAFETY: the stage lives and is active, and `&mut` keeps other calls away.
            Kind::Here(here) => unsafe { (here.reset)(here.stage.as_ptr()) },
            #[cfg(unix)]
            Kind::Apart(apart) => apart.reset(),
        }
    }

    /// One of the stage's later tables.
    pub(super) fn extension(&self, id: &CStr) -> *const c_void {
        match &self.kind {
            // SAFETY: the stage lives, and the id is NUL-terminated.
            Kind::Here(here) => unsafe { (here.get_extension)(here.stage.as_ptr(), id.as_ptr()) },
            // Its tables lie in another process, and are asked for there.
            #[cfg(unix)]
            Kind::Apart(_) => std::ptr::null(),
        }
    }

    /// What it is made of in a process of its own.
    #[cfg(unix)]
    pub(super) fn apart(&mut self) -> Option<&mut Apart> {
        match &mut self.kind {
            Kind::Here(_) => None,
            Kind::Apart(apart) => Some(apart),
        }
    }

    /// The stage behind the border's pointer.
    pub(super) fn as_abi(&mut self) -> *mut abi::Stage {
        match &self.kind {
            Kind::Here(here) => here.stage.as_ptr(),
            #[cfg(unix)]
            Kind::Apart(_) => std::ptr::null_mut(),
        }
    }

    /// Ends it. [control-thread]
    pub(crate) fn destroy(self) {
        match self.kind {
            Kind::Here(here) => here.destroy(),
            #[cfg(unix)]
            Kind::Apart(apart) => apart.destroy(),
        }
    }

    /// The host that it sees.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// The number of its process, where it has one of its own.
    pub(crate) fn process_id(&self) -> Option<u32> {
        match &self.kind {
            Kind::Here(_) => None,
            #[cfg(unix)]
            Kind::Apart(apart) => Some(apart.process_id()),
        }
    }

    /// How its process ended, where it has one of its own that has.
    pub(crate) fn death(&self) -> Option<&Death> {
        match &self.kind {
            Kind::Here(_) => None,
            #[cfg(unix)]
            Kind::Apart(apart) => apart.death(),
        }
    }

    /// As [`Self::death`], as a problem.
    pub(crate) fn crash(&self) -> Option<(ProblemKind, &str)> {
        let death = self.death()?;
        let kind = match death.hung {
            true => ProblemKind::Hang,
            false => ProblemKind::Crashed,
        };
        Some((kind, &death.text))
    }

    /// For killing its process, where it has one of its own.
    pub(crate) fn lifeline(&self) -> Option<Arc<Lifeline>> {
        match &self.kind {
            Kind::Here(_) => None,
            #[cfg(unix)]
            Kind::Apart(apart) => Some(apart.lifeline().clone()),
        }
    }

    /// Where its process sees whether its work is wanted.
    pub(crate) fn page(&self) -> Option<Arc<Page>> {
        match &self.kind {
            Kind::Here(_) => None,
            #[cfg(unix)]
            Kind::Apart(apart) => Some(apart.page().clone()),
        }
    }
}

impl Here {
    fn destroy(self) {
        // SAFETY: the stage lives; each is called once, deactivate only when active.
        unsafe {
            if self.active {
                (self.deactivate)(self.stage.as_ptr());
            }
            (self.destroy)(self.stage.as_ptr());
        }
        self.host.revoke();
        self.library.living.fetch_sub(1, Ordering::Relaxed);
        drop(ManuallyDrop::into_inner(self.host));
    }
}

/// How the words begin in which a panic is told.
pub(crate) const PANICKED: &str = "it panicked";

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
        abi::PANIC => Some(PANICKED.to_owned()),
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
