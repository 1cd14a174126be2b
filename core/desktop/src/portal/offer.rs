//! What a desktop portal offers. No permission is asked for.

use zbus::zvariant::OwnedValue;

use super::{REMOTE_DESKTOP, SCREEN_CAST, SERVICE};
use crate::bus::{Bus, Object};

/// What a portal offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortalOffer {
    /// The version of its ScreenCast; 0: it has none.
    pub screen_cast: u32,
    /// What may be chosen in its dialog.
    pub sources: Sources,
    /// How the pointer may be shown.
    pub(super) cursors: u32,
    /// The version of its RemoteDesktop; 0: it has none.
    pub remote_desktop: u32,
    /// Whether it moves the pointer and presses its buttons.
    pub has_pointer: bool,
    /// Whether it presses keys.
    pub has_keyboard: bool,
}

/// What may be chosen in a portal's dialog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// A monitor.
    pub monitors: bool,
    /// A window.
    pub windows: bool,
}

/// Bits of AvailableSourceTypes, and of `types` of SelectSources.
pub(super) const MONITOR: u32 = 1;
pub(super) const WINDOW: u32 = 2;
/// Bits of AvailableCursorModes: the pointer is not in the pictures, or comes beside them.
const HIDDEN: u32 = 1;
pub(super) const METADATA: u32 = 4;
/// Bits of AvailableDeviceTypes.
pub(super) const KEYBOARD: u32 = 1;
pub(super) const POINTER: u32 = 2;

impl PortalOffer {
    /// What the portal of the session that this program runs in offers. `None`: there is no portal.
    #[must_use]
    pub fn of_session() -> Option<Self> {
        Self::ask(&Bus::connect(None).ok()?)
    }

    /// `None`: no portal is on the bus, and none is started.
    pub(crate) fn ask(bus: &Bus) -> Option<Self> {
        let number = |object: Object<'_>, name: &str| {
            let value: OwnedValue = bus.property(object, name).ok()?;
            u32::try_from(value).ok()
        };
        // A question starts the portal, if it can be started.
        let screen_cast = number(SCREEN_CAST, "version").unwrap_or(0);
        if screen_cast == 0 && !bus.has_owner(SERVICE).unwrap_or(false) {
            return None;
        }
        let remote_desktop = number(REMOTE_DESKTOP, "version").unwrap_or(0);
        // One that does not answer is asked no more: each question may take seconds.
        let offered = |version: u32, object, name| match version {
            0 => 0,
            _ => number(object, name).unwrap_or(0),
        };
        let sources = offered(screen_cast, SCREEN_CAST, "AvailableSourceTypes");
        let devices = offered(remote_desktop, REMOTE_DESKTOP, "AvailableDeviceTypes");
        Some(Self {
            screen_cast,
            sources: Sources {
                monitors: sources & MONITOR != 0,
                windows: sources & WINDOW != 0,
            },
            // The first version hides it.
            cursors: match screen_cast {
                0 | 1 => HIDDEN,
                _ => number(SCREEN_CAST, "AvailableCursorModes").unwrap_or(0),
            },
            remote_desktop,
            has_pointer: devices & POINTER != 0,
            has_keyboard: devices & KEYBOARD != 0,
        })
    }

    /// Whether it shows monitors or windows.
    #[must_use]
    pub fn shows_screen(&self) -> bool {
        self.screen_cast > 0 && (self.sources.monitors || self.sources.windows)
    }

    /// Whether it reports where the pointer is.
    #[must_use]
    pub fn reports_pointer(&self) -> bool {
        self.screen_cast > 0 && self.cursors & METADATA != 0
    }

    /// Whether it lets programs move the pointer to a place on a monitor, and press there.
    #[must_use]
    pub fn controls_mouse(&self) -> bool {
        self.remote_desktop > 0 && self.has_pointer && self.sources.monitors
    }

    /// Whether it may give a socket for emulated input, if the desktop behind it does.
    #[must_use]
    pub fn offers_libei(&self) -> bool {
        const FIRST: u32 = 2;
        self.remote_desktop >= FIRST
    }

    /// The cursor mode in which the pointer is not in the pictures. `None`: there is none.
    pub(super) fn without_pointer(&self) -> Option<u32> {
        [HIDDEN, METADATA]
            .into_iter()
            .find(|mode| self.cursors & mode != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_is_never_asked_for_in_the_picture() {
        let mode = |cursors| {
            PortalOffer {
                cursors,
                ..PortalOffer::default()
            }
            .without_pointer()
        };
        let embedded = 2;
        assert_eq!(mode(HIDDEN | embedded | METADATA), Some(HIDDEN));
        assert_eq!(mode(embedded | METADATA), Some(METADATA));
        assert_eq!((mode(embedded), mode(0)), (None, None));
    }
}
