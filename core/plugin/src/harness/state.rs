//! The host's side of `flowpipe.state/1` for tests.

use std::ffi::{CStr, CString, c_char};

use flowpipe_abi as abi;
use serde_json::Value;

use super::Harness;
use crate::error::{Error, Result};

type Saved = Option<(String, String)>;

pub(super) fn save(harness: &mut Harness) -> Result<(String, Value)> {
    let mut saved = Saved::None;
    let sink = abi::StateSink {
        struct_size: size_of::<abi::StateSink>() as u32,
        reserved: 0,
        data: (&raw mut saved).cast(),
        put,
    };
    let save = table(harness)?.save;
    let save = save.ok_or_else(|| Error::new("it has no save"))?;
    // SAFETY: the stage is valid and active; the sink is valid for the call.
    let status = unsafe { save(harness.stage, &raw const sink) };
    if status < abi::OK {
        return Err(harness.take_error(status));
    }
    let (format, json) = saved.ok_or_else(|| Error::new("it saved nothing"))?;
    Ok((format, serde_json::from_str(&json)?))
}

pub(super) fn load(harness: &mut Harness, (format, state): &(String, Value)) -> Result<bool> {
    let load = table(harness)?.load;
    let load = load.ok_or_else(|| Error::new("it has no load"))?;
    let (format, json) = (CString::new(format.as_str())?, state.to_string());
    // SAFETY: the stage is valid and active; the texts are valid for the call. The SDK does not read the document.
    let status = unsafe {
        load(
            harness.stage,
            format.as_ptr(),
            json.as_ptr().cast(),
            json.len(),
            std::ptr::null(),
        )
    };
    if status == abi::NOT_FOUND {
        return Ok(false);
    }
    if status < abi::OK {
        return Err(harness.take_error(status));
    }
    Ok(true)
}

fn table(harness: &Harness) -> Result<&'static abi::State> {
    // SAFETY: the stage is valid; its tables are static.
    unsafe {
        let get = (*harness.stage).get_extension;
        let table = get.map(|get| get(harness.stage, abi::EXTENSION_STATE.as_ptr()));
        let table = table.and_then(|table| table.cast::<abi::State>().as_ref());
        table.ok_or_else(|| Error::new("it does not support state transfer: STATE is empty"))
    }
}

unsafe extern "C" fn put(
    sink: *const abi::StateSink,
    format: *const c_char,
    json: *const c_char,
    length: usize,
) {
    // SAFETY: the SDK passes back the sink of this call, a NUL-terminated format and `length` bytes of UTF-8.
    let (saved, format, json) = unsafe {
        (
            &mut *(*sink).data.cast::<Saved>(),
            CStr::from_ptr(format),
            std::slice::from_raw_parts(json.cast::<u8>(), length),
        )
    };
    let text = String::from_utf8_lossy(json).into_owned();
    *saved = Some((format.to_string_lossy().into_owned(), text));
}
