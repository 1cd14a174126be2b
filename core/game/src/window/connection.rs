//! The connection that pictures go through.
//!
//! Under X11 it is not the window's own. A wait for the server reads all that comes from it,
//! events too; were the connection shared, the thread that waits for events would not be woken for
//! those that the drawing thread took in.

#[cfg(not(all(unix, not(target_vendor = "apple"))))]
pub(super) use shared::Connection;
#[cfg(all(unix, not(target_vendor = "apple")))]
pub(super) use unix::Connection;

#[cfg(all(unix, not(target_vendor = "apple")))]
mod unix {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use winit::raw_window_handle::{
        DisplayHandle, HandleError, HasDisplayHandle, RawDisplayHandle, XcbDisplayHandle,
    };
    use winit::window::Window;
    use x11rb::errors::{ConnectError, ReplyError};
    use x11rb::wrapper::ConnectionExt as _;
    use x11rb::xcb_ffi::XCBConnection;

    /// The connection that pictures go through.
    pub(in crate::window) struct Connection {
        window: Arc<Window>,
        /// Its own, and the number of the screen, where the system is X11.
        own: Option<(XCBConnection, usize)>,
    }

    impl Connection {
        pub(in crate::window) fn open(window: Arc<Window>) -> Result<Self, ConnectError> {
            let is_x11 = window.display_handle().is_ok_and(|handle| {
                let handle = handle.as_raw();
                matches!(handle, RawDisplayHandle::Xlib(_) | RawDisplayHandle::Xcb(_))
            });
            let own = is_x11.then(|| XCBConnection::connect(None)).transpose()?;
            Ok(Self { window, own })
        }

        /// Sends what waits to be sent, and waits until the system has taken it.
        pub(in crate::window) fn finish(&self) -> Result<(), ReplyError> {
            self.own.as_ref().map_or(Ok(()), |(own, _)| own.sync())
        }
    }

    impl HasDisplayHandle for Connection {
        fn display_handle(&self) -> Result<DisplayHandle<'_>, HandleError> {
            let Some((own, screen)) = &self.own else {
                return self.window.display_handle();
            };
            let connection = NonNull::new(own.get_raw_xcb_connection());
            // The system itself counts screens in this type.
            let handle = XcbDisplayHandle::new(connection, *screen as i32);
            // SAFETY: The connection is this value's own and is closed no earlier.
            Ok(unsafe { DisplayHandle::borrow_raw(RawDisplayHandle::Xcb(handle)) })
        }
    }
}

#[cfg(not(all(unix, not(target_vendor = "apple"))))]
mod shared {
    use std::convert::Infallible;
    use std::sync::Arc;

    use winit::raw_window_handle::{DisplayHandle, HandleError, HasDisplayHandle};
    use winit::window::Window;

    /// The window's own connection.
    pub(in crate::window) struct Connection(Arc<Window>);

    impl Connection {
        pub(in crate::window) fn open(window: Arc<Window>) -> Result<Self, Infallible> {
            Ok(Self(window))
        }

        /// Nothing waits here.
        pub(in crate::window) fn finish(&self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    impl HasDisplayHandle for Connection {
        fn display_handle(&self) -> Result<DisplayHandle<'_>, HandleError> {
            self.0.display_handle()
        }
    }
}
