//! The stage's extension `flowpipe.state/1`: the transfer of a stage's state to its replacement.

use std::ffi::{CStr, CString, c_char};

use flowpipe_abi as abi;

use crate::document::Document;
use crate::instance::{InProcess, StageInstance};
use crate::table::status::reason;

/// A plugin's saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The id of its format, such as `referee-repair/1`.
    pub format: String,
    /// UTF-8 JSON.
    pub json: String,
}

impl State {
    /// The state that a plugin saved.
    ///
    /// # Errors
    /// When one of them is not UTF-8, or the second is not JSON.
    pub fn new(format: Vec<u8>, json: Vec<u8>) -> Result<Self, String> {
        let text = |bytes| String::from_utf8(bytes).map_err(|error| error.to_string());
        let (format, json) = (text(format)?, text(json)?);
        Document::new(json.as_bytes()).map_err(|error| format!("its state is {error}"))?;
        Ok(Self { format, json })
    }
}

type Save = unsafe extern "C" fn(*mut abi::Stage, *const abi::StateSink) -> abi::Status;
type Load = unsafe extern "C" fn(
    *mut abi::Stage,
    *const c_char,
    *const c_char,
    usize,
    *const abi::Document,
) -> abi::Status;

/// In this process, without limits.
impl InProcess {
    /// As [`StageInstance::has_state`].
    pub fn has_state_here(&self) -> bool {
        self.state_functions().is_some()
    }

    /// As [`StageInstance::save`].
    ///
    /// # Errors
    /// Why it failed.
    pub fn save_here(&mut self) -> Result<Option<State>, String> {
        let Some((save, _)) = self.state_functions() else {
            return Ok(None);
        };
        let mut saved: Option<Result<State, String>> = None;
        let sink = abi::StateSink {
            struct_size: size_of::<abi::StateSink>() as u32,
            reserved: 0,
            data: (&raw mut saved).cast(),
            put,
        };
        self.host().take_error();
        // SAFETY: the stage is valid, active and in no other call; the sink is valid for the call.
        let status = unsafe { save(self.as_abi(), &raw const sink) };
        match (status, saved) {
            (abi::OK, Some(saved)) => saved.map(Some),
            (abi::OK, None) => Err("it saved nothing".into()),
            (status, _) => Err(reason(status, self.host())),
        }
    }

    /// As [`StageInstance::load`].
    ///
    /// # Errors
    /// Why it failed.
    pub fn load_here(&mut self, state: &State) -> Result<bool, String> {
        let Some((_, load)) = self.state_functions() else {
            return Ok(false);
        };
        let format = CString::new(state.format.as_str()).map_err(|error| error.to_string())?;
        let document = Document::new(state.json.as_bytes()).map_err(|error| error.to_string())?;
        self.host().take_error();
        // SAFETY: the stage is valid, active and in no other call; texts and document are valid for the call.
        let status = unsafe {
            load(
                self.as_abi(),
                format.as_ptr(),
                document.as_c(),
                document.json_len(),
                document.as_abi(),
            )
        };
        match status {
            abi::OK => Ok(true),
            abi::NOT_FOUND => {
                self.host().take_error();
                Ok(false)
            }
            status => Err(reason(status, self.host())),
        }
    }

    fn state_functions(&self) -> Option<(Save, Load)> {
        let table = self.extension(abi::EXTENSION_STATE).cast::<abi::State>();
        if table.is_null() || !table.is_aligned() {
            return None;
        }
        // SAFETY: struct_size comes first; a table is valid as long as its stage.
        let size = unsafe { (*table).struct_size } as usize;
        if size < size_of::<abi::State>() {
            return None;
        }
        // SAFETY: as above, and the table is long enough.
        let table = unsafe { &*table };
        table.save.zip(table.load)
    }
}

unsafe extern "C" fn put(
    sink: *const abi::StateSink,
    format: *const c_char,
    json: *const c_char,
    length: usize,
) {
    if sink.is_null() || format.is_null() || json.is_null() {
        return;
    }
    // SAFETY: the ABI demands the sink of the current call, NUL-terminated and readable text.
    let (place, format, json) = unsafe {
        (
            (*sink)
                .data
                .cast::<Option<Result<State, String>>>()
                .as_mut(),
            CStr::from_ptr(format),
            std::slice::from_raw_parts(json.cast::<u8>(), length),
        )
    };
    if let Some(place) = place {
        *place = Some(State::new(format.to_bytes().to_vec(), json.to_vec()));
    }
}
