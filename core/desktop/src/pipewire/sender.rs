//! What the program that sends pictures calls its stream.

use std::ffi::{CStr, c_char, c_void};

use pipewire::spa::sys::{spa_dict, spa_hook, spa_interface};
use pipewire::sys::{
    PW_NODE_CHANGE_MASK_PROPS, PW_VERSION_NODE, PW_VERSION_REGISTRY, pw_core, pw_core_methods,
    pw_node_events, pw_node_info, pw_node_methods, pw_registry_methods,
};

const NODE: &CStr = c"PipeWire:Interface:Node";
const MEDIA_NAME: &CStr = c"media.name";
/// No list of properties is longer.
const MOST_PROPERTIES: u32 = 1 << 12;

/// Asks PipeWire for what it knows of a node. The answer comes before anything of a stream that is connected later: PipeWire
/// answers in order. What is made for it goes with the connection. `None`: it can't be asked.
///
/// # Safety
/// The core is there, and its loop does nothing meanwhile. The rest stays until its connection has ended, and the events take
/// the data.
pub(super) unsafe fn ask(
    core: *mut pw_core,
    node: u32,
    hook: *mut spa_hook,
    events: &'static pw_node_events,
    data: *mut c_void,
) -> Option<()> {
    // SAFETY: it is there, and a core.
    let (methods, object) = unsafe { functions::<pw_core_methods>(core.cast()) }?;
    // SAFETY: as above.
    let registry = unsafe { (methods.get_registry?)(object, PW_VERSION_REGISTRY, 0) };
    // SAFETY: it is null or a registry.
    let (methods, object) = unsafe { functions::<pw_registry_methods>(registry.cast()) }?;
    // SAFETY: as above, and the name is a text.
    let node = unsafe { (methods.bind?)(object, node, NODE.as_ptr(), PW_VERSION_NODE, 0) };
    // SAFETY: it is null or a node.
    let (methods, object) = unsafe { functions::<pw_node_methods>(node) }?;
    // SAFETY: as above. The hook, the events and the data stay as long as it.
    unsafe { (methods.add_listener?)(object, hook, events, data) };
    Some(())
}

/// The functions of one of the library's objects, and what they take. `None`: it is null.
///
/// # Safety
/// It is null, or an object that has such functions.
unsafe fn functions<T>(object: *mut c_void) -> Option<(&'static T, *mut c_void)> {
    // SAFETY: each object begins with what its functions are.
    let callbacks = unsafe { object.cast::<spa_interface>().as_ref() }?.cb;
    // SAFETY: the library never goes, and as the caller promises.
    let methods = unsafe { callbacks.funcs.cast::<T>().as_ref() }?;
    Some((methods, callbacks.data))
}

/// What a node's stream is called. `None`: nothing is said of it, as when something else has changed.
///
/// # Safety
/// All of it is there, and the texts end.
pub(super) unsafe fn media_name<'a>(info: *const pw_node_info) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    let info = unsafe { info.as_ref() }?;
    if info.change_mask & u64::from(PW_NODE_CHANGE_MASK_PROPS) == 0 {
        return None;
    }
    // SAFETY: as above.
    let properties: &spa_dict = unsafe { info.props.as_ref() }?;
    if properties.items.is_null() || properties.n_items > MOST_PROPERTIES {
        return None;
    }
    let count = properties.n_items as usize;
    // SAFETY: there are as many.
    let items = unsafe { std::slice::from_raw_parts(properties.items, count) };
    // SAFETY: as the caller promises.
    let text = |at: *const c_char| (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) });
    let item = items.iter().find(|it| text(it.key) == Some(MEDIA_NAME))?;
    text(item.value)
}
