//! The functions of libpipewire that are used. The library is loaded when pictures are wanted: it is there wherever
//! GNOME and the desktop portal are, and need not be elsewhere. The crate pipewire links it, so that only its types are used here.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library as File, RTLD_LOCAL, RTLD_NOW};
use pipewire::spa::sys::spa_hook;
use pipewire::spa::sys::{spa_dict, spa_direction, spa_pod};
use pipewire::sys::{
    pw_buffer, pw_context, pw_core, pw_loop, pw_properties, pw_stream, pw_stream_events,
    pw_stream_flags, pw_thread_loop,
};

const NAME: &str = "libpipewire-0.3.so.0";

macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The library's functions, by their names.
        pub(super) struct Library {
            $($(#[$attribute])* pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn load() -> Result<Self, libloading::Error> {
                // SAFETY: the library's initialisers do nothing to this program.
                let file = unsafe { File::open(Some(NAME), RTLD_NOW | RTLD_LOCAL)? };
                // SAFETY: these are the functions' types, as a test compares with the library's headers.
                let library = unsafe { Self {
                    $($(#[$attribute])* $name: *file.get(stringify!($name).as_bytes())?,)*
                } };
                // It has threads and is never unloaded.
                std::mem::forget(file);
                Ok(library)
            }

            /// The functions that the library's headers declare.
            #[cfg(test)]
            fn declared() -> Self {
                Self {
                    $($(#[$attribute])* $name: pipewire::sys::$name,)*
                }
            }
        }
    };
}

functions! {
    pw_context_connect: fn(*mut pw_context, *mut pw_properties, usize) -> *mut pw_core;
    #[cfg(feature = "portal")]
    pw_context_connect_fd: fn(*mut pw_context, c_int, *mut pw_properties, usize) -> *mut pw_core;
    pw_context_destroy: fn(*mut pw_context);
    pw_context_new: fn(*mut pw_loop, *mut pw_properties, usize) -> *mut pw_context;
    pw_init: fn(*mut c_int, *mut *mut *mut c_char);
    pw_properties_new_string: fn(*const c_char) -> *mut pw_properties;
    pw_properties_set: fn(*mut pw_properties, *const c_char, *const c_char) -> c_int;
    pw_stream_add_listener: fn(*mut pw_stream, *mut spa_hook, *const pw_stream_events, *mut c_void);
    pw_stream_connect:
        fn(*mut pw_stream, spa_direction, u32, pw_stream_flags, *mut *const spa_pod, u32) -> c_int;
    pw_stream_dequeue_buffer: fn(*mut pw_stream) -> *mut pw_buffer;
    pw_stream_destroy: fn(*mut pw_stream);
    pw_stream_new: fn(*mut pw_core, *const c_char, *mut pw_properties) -> *mut pw_stream;
    pw_stream_queue_buffer: fn(*mut pw_stream, *mut pw_buffer) -> c_int;
    #[cfg(all(feature = "input", feature = "portal"))]
    pw_stream_set_active: fn(*mut pw_stream, bool) -> c_int;
    pw_stream_update_params: fn(*mut pw_stream, *mut *const spa_pod, u32) -> c_int;
    pw_thread_loop_destroy: fn(*mut pw_thread_loop);
    pw_thread_loop_get_loop: fn(*mut pw_thread_loop) -> *mut pw_loop;
    pw_thread_loop_lock: fn(*mut pw_thread_loop);
    pw_thread_loop_new: fn(*const c_char, *const spa_dict) -> *mut pw_thread_loop;
    pw_thread_loop_start: fn(*mut pw_thread_loop) -> c_int;
    pw_thread_loop_stop: fn(*mut pw_thread_loop);
    pw_thread_loop_unlock: fn(*mut pw_thread_loop);
}

impl Library {
    /// The library, loaded and ready for use.
    pub(super) fn get() -> Result<&'static Self, String> {
        static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| {
            let library = Self::load().map_err(|error| error.to_string())?;
            // SAFETY: it may be called often, and both may be null.
            unsafe { (library.pw_init)(std::ptr::null_mut(), std::ptr::null_mut()) };
            Ok(library)
        });
        loaded.as_ref().map_err(|error| {
            format!("pictures come through PipeWire, whose library can't be loaded: {error}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_those_of_the_headers() {
        let (loaded, declared) = (Library::get().unwrap(), Library::declared());
        let places =
            |library: &Library| [library.pw_init as usize, library.pw_stream_connect as usize];
        assert_eq!(places(loaded), places(&declared));
    }
}
