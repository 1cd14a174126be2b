//! Runs a stage without a pipeline, through the same C ABI as the host: for a plugin's tests.
//!
//! ```
//! # use flowpipe_plugin::{Context, Host, Input, Next, Port, Result, Stage};
//! # use serde_json::{Value, json};
//! struct Echo;
//! impl Stage for Echo {
//!     const NAME: &'static str = "echo";
//!     type Config = ();
//!     # fn inputs() -> Vec<Port> { vec![Port::new("in", "*")] }
//!     # fn outputs() -> Vec<Port> { vec![Port::new("out", "*")] }
//!     // …
//!     # fn new(_: (), _: &Host) -> Result<Self> { Ok(Self) }
//!     # fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
//!     #     if let Input::Message(message) = input { context.emit(0, &message.parse::<Value>()?)?; }
//!     #     Ok(Next::More)
//!     # }
//! }
//!
//! let mut harness = flowpipe_plugin::harness!(Echo, json!(null))?;
//! let emitted = harness.send(0, "any/1", &json!({ "hello": 1 }))?;
//! assert_eq!(emitted[0].body, json!({ "hello": 1 }));
//! # Ok::<(), flowpipe_plugin::Error>(())
//! ```

mod c_message;
mod host_table;
mod judge;
#[cfg(feature = "flowfree")]
pub mod samples;
mod state;
#[cfg(test)]
#[cfg(feature = "flowfree")]
mod tests;

use std::ffi::CString;
use std::path::Path;
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flowpipe_abi as abi;
use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::export::Descriptor;
use crate::frame::{Format, Frame};
use crate::harness::c_message::CMessage;
use crate::host::{Ending, Host};

/// Creates a [`Harness`] for a type of any role and a config (a `serde_json::Value`).
#[macro_export]
macro_rules! harness {
    ($stage:ty, $config:expr) => {{
        #[allow(unused_imports, reason = "a lookup of one role needs no other traits")]
        use $crate::export::by_role::*;
        $crate::harness::Harness::new(
            (&&&&&&&$crate::export::Probe::<$stage>::new()).describe("test"),
            &$config,
        )
    }};
}

/// One stage, created and active, with its own host.
pub struct Harness {
    /// From a box, freed when the stage is destroyed and the handle revoked. The stage and its threads read it too.
    shared: NonNull<Shared>,
    /// The handle of [`Harness::host`].
    host: Host,
    stage: *mut abi::Stage,
    is_active: bool,
    sequence: u64,
    marks: Vec<String>,
}

/// A message that the stage emitted.
#[non_exhaustive]
pub struct Emitted {
    /// The index of the output.
    pub port: usize,
    /// Its body.
    pub body: Value,
    /// Its pixels or its buffer, if any.
    pub frame: Option<Frame>,
    /// The capture time that the stage gave; 0: now.
    pub captured_ns: i64,
}

impl Emitted {
    /// Its buffer, if any.
    #[must_use]
    pub fn buffer(&self) -> Option<Buffer> {
        self.frame.clone().and_then(Buffer::of)
    }
}

/// A line of a file for [`Harness::run_file`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    port: usize,
    schema: String,
    body: Value,
}

/// The state behind the host's functions, for all threads.
struct Shared {
    table: abi::Host,
    state: State,
}

struct State {
    began: Instant,
    error: Mutex<Option<(i32, String)>>,
    emitted: Mutex<Vec<Emitted>>,
    marks: Mutex<Vec<String>>,
    log: Mutex<Vec<String>>,
    cancel: Mutex<Arc<dyn Fn() -> bool + Send + Sync>>,
    dry: AtomicBool,
    ended: Mutex<Option<(Ending, String)>>,
}

impl Harness {
    /// Creates and activates a stage, for [`crate::harness!`].
    ///
    /// # Errors
    /// The stage's error for its config or its activation.
    #[doc(hidden)]
    pub fn new(descriptor: Descriptor, config: &Value) -> Result<Self> {
        let config = CString::new(config.to_string())?;
        let state = State {
            began: Instant::now(),
            error: Mutex::default(),
            emitted: Mutex::default(),
            marks: Mutex::default(),
            log: Mutex::default(),
            cancel: Mutex::new(Arc::new(|| false)),
            dry: AtomicBool::new(false),
            ended: Mutex::default(),
        };
        let shared = host_table::shared(state);
        crate::panic_guard::install_hook_once();
        // SAFETY: shared outlives the stage and the handle, see `drop`.
        let (table, host) = unsafe {
            let table = &raw const (*shared.as_ptr()).table;
            (table, Host::grant(table))
        };
        // SAFETY: as above.
        let stage = unsafe { descriptor.create(table, &config) };
        let mut harness = Self {
            shared,
            host,
            stage,
            is_active: false,
            sequence: 0,
            marks: Vec::new(),
        };
        if stage.is_null() {
            return Err(harness.take_error(abi::ERROR));
        }
        // SAFETY: a stage of the SDK has every slot, and is activated once here.
        let status = harness.slot(
            |raw| raw.activate,
            |activate, stage| unsafe { activate(stage) },
        );
        if status < abi::OK {
            return Err(harness.take_error(status));
        }
        harness.is_active = true;
        Ok(harness)
    }

    /// The harness's host, for example to allocate frames. It is revoked when the harness is dropped.
    #[must_use]
    pub fn host(&self) -> Host {
        self.host
    }

    fn state(&self) -> &State {
        // SAFETY: it is valid until `drop`, and there is no mutable reference.
        unsafe { &(*self.shared.as_ptr()).state }
    }

    /// Sets a function that decides whether work is cancelled and the run is ending.
    pub fn cancel_when(&mut self, function: impl Fn() -> bool + Send + Sync + 'static) {
        *lock(&self.state().cancel) = Arc::new(function);
    }

    /// Makes the run a dry run: the stage must not touch anything outside of the program.
    pub fn make_dry(&mut self) {
        self.state().dry.store(true, Ordering::Relaxed);
    }

    /// Whether the stage ended the run, how, and why.
    #[must_use]
    pub fn ended(&self) -> Option<(Ending, String)> {
        lock(&self.state().ended).clone()
    }

    /// The lines that the stage logged through [`Host::log`].
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        lock(&self.state().log).clone()
    }

    /// The names that the stage marked.
    #[must_use]
    pub fn marks(&self) -> &[String] {
        &self.marks
    }

    /// Calls `process` of a source.
    ///
    /// # Errors
    /// The stage's error.
    pub fn tick(&mut self) -> Result<Vec<Emitted>> {
        self.process(abi::EVENT_TICK, null())
    }

    /// Reports the end of all inputs to the stage.
    ///
    /// # Errors
    /// The stage's error.
    pub fn finish(&mut self) -> Result<Vec<Emitted>> {
        self.process(abi::EVENT_FINISH, null())
    }

    /// Sends a message to the stage and returns its output.
    ///
    /// # Errors
    /// The stage's error.
    pub fn send<T: Serialize>(
        &mut self,
        port: usize,
        schema: &str,
        body: &T,
    ) -> Result<Vec<Emitted>> {
        self.send_with(port, schema, body, None)
    }

    /// Sends a message with pixels to the stage: rows without gaps.
    ///
    /// # Errors
    /// The stage's error, or that the pixels do not fit the size.
    pub fn send_picture<T: Serialize>(
        &mut self,
        schema: &str,
        body: &T,
        (format, width, height): (Format, u32, u32),
        pixels: &[u8],
    ) -> Result<Vec<Emitted>> {
        let mut frame = self.host().new_frame(format, width, height)?;
        let into = frame.pixels_mut()?;
        if into.len() != pixels.len() {
            let (given, wanted) = (pixels.len(), into.len());
            return Err(Error::new(format!(
                "{given} bytes of pixels instead of {wanted}"
            )));
        }
        into.copy_from_slice(pixels);
        self.send_with(0, schema, body, Some(&frame))
    }

    /// Sends a message with a buffer to the stage.
    ///
    /// # Errors
    /// The stage's error.
    pub fn send_buffer<T: Serialize>(
        &mut self,
        port: usize,
        schema: &str,
        body: &T,
        buffer: &Buffer,
    ) -> Result<Vec<Emitted>> {
        self.send_with(port, schema, body, Some(buffer.as_frame()))
    }

    /// Saves the stage's state: the format, and the state.
    ///
    /// # Errors
    /// When it fails, or the stage does not support state transfer.
    pub fn save(&mut self) -> Result<(String, Value)> {
        state::save(self)
    }

    /// Loads the state of another instance. `false`: the stage does not know the format.
    ///
    /// # Errors
    /// When it fails, or the stage does not support state transfer.
    pub fn load(&mut self, state: &(String, Value)) -> Result<bool> {
        state::load(self, state)
    }

    /// Sends messages from a file, one JSON object a line:
    /// `{"schema": "flowpipe.sighting/1", "body": {…}, "port": 0}` (port may be left out).
    ///
    /// # Errors
    /// The stage's error, or that of the file, with the line.
    pub fn run_file(&mut self, path: &Path) -> Result<Vec<Emitted>> {
        let named = |number: usize| format!("{}:{}", path.display(), number + 1);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::from(error).context(path.display()))?;
        let mut all = Vec::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| Error::from(error).context(named(number)))?;
            let emitted = self
                .send(line.port, &line.schema, &line.body)
                .map_err(|error| error.context(named(number)))?;
            all.extend(emitted);
        }
        Ok(all)
    }

    fn send_with<T: Serialize>(
        &mut self,
        port: usize,
        schema: &str,
        body: &T,
        frame: Option<&Frame>,
    ) -> Result<Vec<Emitted>> {
        let (sequence, captured_ns) = (self.sequence + 1, self.host().now_ns());
        let given = CMessage::new(schema, serde_json::to_vec(body)?, sequence, captured_ns)?;
        self.sequence = sequence;
        let message = given.as_abi(u32::try_from(port)?, frame);
        self.process(abi::EVENT_MESSAGE, &raw const message)
    }

    fn process(&mut self, event: abi::Event, message: *const abi::Message) -> Result<Vec<Emitted>> {
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event,
            message,
            // The harness needs no data of a call.
            context: self.shared.as_ptr().cast(),
        };
        let status = self.slot(
            |raw| raw.process,
            // SAFETY: the stage is active, and all that `process` points at is valid here.
            |function, stage| unsafe { function(stage, &raw const process) },
        );
        let marks = std::mem::take(&mut *lock(&self.state().marks));
        self.marks.extend(marks);
        if status < abi::OK {
            Err(self.take_error(status))
        } else {
            Ok(std::mem::take(&mut *lock(&self.state().emitted)))
        }
    }

    fn take_error(&mut self, status: abi::Status) -> Error {
        let (status, text) = lock(&self.state().error)
            .take()
            .unwrap_or((status, "failed and gave no reason".to_owned()));
        Error::with_status(status, text)
    }

    fn slot<F>(
        &self,
        slot: impl Fn(&abi::Stage) -> Option<F>,
        call: impl Fn(F, *mut abi::Stage) -> abi::Status,
    ) -> abi::Status {
        // SAFETY: the stage is not destroyed before `drop`.
        slot(unsafe { &*self.stage }).map_or(abi::ERROR, |function| call(function, self.stage))
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if !self.stage.is_null() {
            // SAFETY: the stage is valid until destroy, and not used after it.
            unsafe {
                let raw = std::ptr::read(self.stage);
                if let Some(deactivate) = raw.deactivate.filter(|_| self.is_active) {
                    deactivate(self.stage);
                }
                if let Some(destroy) = raw.destroy {
                    destroy(self.stage);
                }
            }
        }
        self.host.revoke();
        // SAFETY: from a box. All handles are revoked, so nothing refers to it any more.
        drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
    }
}
