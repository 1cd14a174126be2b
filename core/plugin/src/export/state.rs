//! The C side of [`Stage::save`] and [`Stage::load`]: the extension `flowpipe.state/1`.

use std::ffi::{CStr, CString, c_char};

use flowpipe_abi as abi;

use super::exported;
use crate::error::{Error, Result};
use crate::stage::{Next, Stage};

/// The table of a stage.
pub(super) fn table<S: Stage>() -> &'static abi::State {
    const {
        &abi::State {
            struct_size: size_of::<abi::State>() as u32,
            reserved: 0,
            save: Some(save::<S>),
            load: Some(load::<S>),
        }
    }
}

unsafe extern "C" fn save<S: Stage>(
    stage: *mut abi::Stage,
    sink: *const abi::StateSink,
) -> abi::Status {
    // SAFETY: see `exported`.
    unsafe { exported::<S>(stage) }.with_stage(|stage, _, _| {
        let state = stage.save()?.to_string();
        let format = CString::new(S::STATE)?;
        // SAFETY: the host passes its sink, and the texts are valid for the call.
        unsafe { ((*sink).put)(sink, format.as_ptr(), state.as_ptr().cast(), state.len()) };
        Ok(Next::More)
    })
}

unsafe extern "C" fn load<S: Stage>(
    stage: *mut abi::Stage,
    format: *const c_char,
    json: *const c_char,
    length: usize,
    _: *const abi::Document,
) -> abi::Status {
    // SAFETY: the host passes a NUL-terminated format and `length` bytes of JSON.
    let (format, json) = unsafe {
        (
            CStr::from_ptr(format),
            std::slice::from_raw_parts(json.cast::<u8>(), length),
        )
    };
    let mut is_known = true;
    // SAFETY: see `exported`.
    let status = unsafe { exported::<S>(stage) }.with_stage(|stage, _, _| {
        is_known = load_json(stage, format, json)?;
        Ok(Next::More)
    });
    match (status, is_known) {
        (abi::OK, false) => abi::NOT_FOUND,
        (status, _) => status,
    }
}

fn load_json<S: Stage>(stage: &mut S, format: &CStr, json: &[u8]) -> Result<bool> {
    let broken =
        |error: &dyn std::fmt::Display| Error::new(format!("the state can't be read: {error}"));
    let format = format.to_str().map_err(|error| broken(&error))?;
    let state = serde_json::from_slice(json).map_err(|error| broken(&error))?;
    stage.load(format, state)
}
