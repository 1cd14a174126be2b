//! Which PipeWire is used.

use std::ffi::CString;
#[cfg(feature = "portal")]
use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::ptr::null_mut;

use pipewire::sys::{pw_context, pw_core};

use super::library::Library;
use super::presence;

/// How PipeWire is reached.
#[derive(Debug)]
pub(crate) enum Remote {
    /// As the environment names it.
    Session,
    /// By the path of its socket.
    Socket(PathBuf),
    /// By a connection that shows only what was allowed.
    #[cfg(feature = "portal")]
    Connection(OwnedFd),
}

impl Remote {
    /// Whether PipeWire runs there. A connection that was given is one to it.
    pub(crate) fn answers(&self) -> bool {
        match self {
            Self::Session => presence::answers_in_session(),
            Self::Socket(path) => presence::answers_at(path),
            #[cfg(feature = "portal")]
            Self::Connection(_) => true,
        }
    }

    /// Connects.
    ///
    /// # Errors
    /// Why that failed.
    ///
    /// # Safety
    /// The context is there, and its loop does nothing meanwhile.
    pub(super) unsafe fn connect(
        self,
        library: &Library,
        context: *mut pw_context,
    ) -> Result<*mut pw_core, String> {
        let path = match self {
            #[cfg(feature = "portal")]
            Self::Connection(file) => {
                // SAFETY: as the caller promises. It closes the file in the end.
                let core = unsafe {
                    (library.pw_context_connect_fd)(context, file.into_raw_fd(), null_mut(), 0)
                };
                return there(core);
            }
            #[cfg(feature = "mutter")]
            Self::Session => None,
            #[cfg(feature = "mutter")]
            Self::Socket(path) => Some(path),
        };
        let properties = match path {
            None => null_mut(),
            Some(path) => {
                let path = CString::new(path.into_os_string().into_encoded_bytes())
                    .map_err(|_| "the path of its socket".to_owned())?;
                // SAFETY: an empty text is one.
                let properties = unsafe { (library.pw_properties_new_string)(c"".as_ptr()) };
                // SAFETY: the properties are there, and copy the text.
                unsafe {
                    (library.pw_properties_set)(properties, c"remote.name".as_ptr(), path.as_ptr());
                }
                properties
            }
        };
        // SAFETY: as the caller promises. It takes the properties.
        there(unsafe { (library.pw_context_connect)(context, properties, 0) })
    }
}

fn there(core: *mut pw_core) -> Result<*mut pw_core, String> {
    if core.is_null() {
        return Err(std::io::Error::last_os_error().to_string());
    }
    Ok(core)
}
