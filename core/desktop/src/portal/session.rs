//! A session: what the portal does for this program until it ends it, or a person does.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "input")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zbus::blocking::Connection;
use zbus::zvariant::{OwnedObjectPath, Value};

use super::layout::placed;
use super::offer::{KEYBOARD, METADATA, MONITOR, POINTER, PortalOffer, WINDOW};
use super::request::{self, Options, Patience, Results, unreadable};
#[cfg(feature = "input")]
use super::session_server::{ServedSession, SessionServer};
use super::signals::PortalSignals;
use super::source::{ChosenSource, text};
use super::tokens::Tokens;
use super::{PATH, REMOTE_DESKTOP, SCREEN_CAST};
use crate::bus::{self, Bus, Object};
#[cfg(feature = "input")]
use crate::libei::NoSocket;
use crate::number::next_number;
#[cfg(feature = "input")]
use crate::pipewire::Cursor;

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Pictures of a monitor or a window.
    Screen,
    /// The mouse on a monitor, and pictures of it.
    Mouse,
}

pub(super) struct PortalSession {
    /// Gives it to the capture of the run. It ends first: whoever asks then learns that the mouse is gone, not that a person
    /// has ended the session.
    #[cfg(feature = "input")]
    server: Option<SessionServer>,
    /// At the end of the connection, the portal ends the session.
    bus: Bus,
    path: OwnedObjectPath,
    controls: bool,
    #[cfg(feature = "input")]
    controls_keys: bool,
    #[cfg(feature = "input")]
    reports_pointer: bool,
    #[cfg(feature = "input")]
    offers_libei: bool,
    source: ChosenSource,
    has_ended: Arc<AtomicBool>,
    /// Hangs up when it has ended.
    #[cfg(feature = "input")]
    end: OwnedFd,
    #[cfg(feature = "input")]
    reports: PointerReports,
}

/// The stream of where the pointer is, once it is wanted.
#[cfg(feature = "input")]
pub(super) type PointerReports = Arc<Mutex<Option<Cursor>>>;

/// How long an answer may take that no person gives.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// How long a person may take.
pub(super) const DIALOG_PATIENCE: Duration = Duration::from_secs(180);
/// Of `persist_mode`: until the person takes it back.
const UNTIL_REVOKED: u32 = 2;
/// The first versions that keep what was allowed.
const KEEPING_SCREEN_CAST: u32 = 4;
const KEEPING_REMOTE_DESKTOP: u32 = 2;

/// A session that is being opened.
struct Opening<'a> {
    bus: &'a Bus,
    signals: &'a PortalSignals,
    is_over: &'a dyn Fn() -> bool,
}

impl PortalSession {
    /// Asks for a session, and waits for the person's answer, if it is not kept from the last time. `is_over`: whether nobody
    /// waits any more.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn open(
        bus: Bus,
        for_use: Use,
        tokens: &Tokens,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, String> {
        let offered = PortalOffer::ask(&bus).ok_or("no desktop portal answers")?;
        let controls = for_use == Use::Mouse;
        if controls && !offered.controls_mouse() {
            return Err(
                "this desktop's portal lets no program move the pointer (it has no RemoteDesktop with a pointer)"
                    .to_owned(),
            );
        }
        if !offered.shows_screen() {
            return Err("this desktop's portal shows no screen (it has no ScreenCast)".to_owned());
        }
        let cursor = offered.without_pointer().ok_or(
            "this desktop's portal shows the screen only with the pointer in the picture, where it hides what is to \
             be read",
        )?;
        // Whether a person moves it matters to the mouse alone.
        let reports_pointer = controls && offered.reports_pointer();
        let cursor = if reports_pointer { METADATA } else { cursor };
        let name = format!("flowpipe_{}", next_number());
        let failed = |error: zbus::Error| format!("the session's bus: {error}");
        let expected = session_path(&bus, &name)?;
        let signals = PortalSignals::watch(&bus, expected.clone()).map_err(failed)?;
        let opening = Opening {
            bus: &bus,
            signals: &signals,
            is_over,
        };
        let main = if controls {
            REMOTE_DESKTOP
        } else {
            SCREEN_CAST
        };
        let path = opening.create(main, name, &expected)?;
        let keeps = match controls {
            true => offered.remote_desktop >= KEEPING_REMOTE_DESKTOP,
            false => offered.screen_cast >= KEEPING_SCREEN_CAST,
        };
        let mut kept = Options::new();
        if keeps {
            kept.insert("persist_mode", UNTIL_REVOKED.into());
            if let Some(token) = tokens.get(for_use) {
                kept.insert("restore_token", token.into());
            }
        }
        let types = source_types(for_use, &offered);
        let mut sources =
            Options::from([("multiple", Value::from(false)), ("types", types.into())]);
        if offered.screen_cast > 1 {
            sources.insert("cursor_mode", cursor.into());
        }
        if controls {
            kept.insert("types", device_types(&offered).into());
            opening.select(REMOTE_DESKTOP, "SelectDevices", &path, kept)?;
        } else {
            sources.extend(kept);
        }
        opening.select(SCREEN_CAST, "SelectSources", &path, sources)?;
        let results = opening.start(main, &path)?;
        let devices = if controls { devices(&results)? } else { 0 };
        if controls && devices & POINTER == 0 {
            return Err("the mouse was not allowed in the dialog of the desktop portal".to_owned());
        }
        let source = placed(ChosenSource::of(&results, types)?);
        // A choice that can't be used is not restored: the person is asked again.
        if let Some(token) = results.get("restore_token").and_then(text) {
            tokens.keep(for_use, token);
        }
        Ok(Self {
            #[cfg(feature = "input")]
            server: None,
            bus,
            path,
            controls,
            #[cfg(feature = "input")]
            controls_keys: devices & KEYBOARD != 0,
            #[cfg(feature = "input")]
            reports_pointer,
            #[cfg(feature = "input")]
            offers_libei: offered.offers_libei(),
            source,
            has_ended: signals.has_ended,
            #[cfg(feature = "input")]
            end: signals.end.into(),
            #[cfg(feature = "input")]
            reports: PointerReports::default(),
        })
    }

    /// Gives it to those who ask a server, as long as it is there.
    ///
    /// # Errors
    /// When this process may open no more files.
    #[cfg(feature = "input")]
    pub(super) fn share(&mut self, server: SessionServer) -> std::io::Result<()> {
        server.serve(ServedSession {
            portal: self.bus.connection().clone(),
            path: self.path.clone(),
            source: self.source.clone(),
            end: self.end.try_clone()?,
            reports: Arc::clone(&self.reports),
        });
        self.server = Some(server);
        Ok(())
    }

    /// What was chosen.
    pub(super) fn source(&self) -> &ChosenSource {
        &self.source
    }

    /// Whether it controls the mouse.
    #[cfg(feature = "input")]
    pub(super) fn controls(&self) -> bool {
        self.controls
    }

    /// Whether it presses keys.
    #[cfg(feature = "input")]
    pub(super) fn controls_keys(&self) -> bool {
        self.controls_keys
    }

    /// Whether its pictures come with where the pointer is.
    #[cfg(feature = "input")]
    pub(super) fn reports_pointer(&self) -> bool {
        self.reports_pointer
    }

    /// The stream of where the pointer is.
    #[cfg(feature = "input")]
    pub(super) fn reports(&self) -> MutexGuard<'_, Option<Cursor>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the portal, or a person, has ended it.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    #[cfg(feature = "input")]
    pub(super) fn bus(&self) -> &Bus {
        &self.bus
    }

    #[cfg(feature = "input")]
    pub(super) fn path(&self) -> &OwnedObjectPath {
        &self.path
    }

    /// A socket for emulated input. Once it is given, the portal refuses its own methods.
    ///
    /// # Errors
    /// Why there is none.
    #[cfg(feature = "input")]
    pub(super) fn connect_to_eis(&self) -> Result<OwnedFd, NoSocket> {
        if !self.offers_libei {
            return Err(NoSocket::NotOffered);
        }
        let question = &(&self.path, Options::new());
        let opened: zbus::Result<zbus::zvariant::OwnedFd> =
            self.bus.call(REMOTE_DESKTOP, "ConnectToEIS", question);
        opened
            .map(OwnedFd::from)
            .map_err(|error| NoSocket::of(&error, "the desktop portal"))
    }

    /// A connection to PipeWire, which shows what was chosen.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn pipewire(&self) -> Result<OwnedFd, String> {
        pipewire(self.bus.connection(), &self.path)
    }

    /// Why it has ended.
    pub(super) fn end(&self) -> String {
        end_of(match self.controls {
            true => "the control of the mouse",
            false => CAPTURE,
        })
    }
}

/// What is ended for who captures.
pub(super) const CAPTURE: &str = "the capture of the screen";

/// Why a session has ended that was for something.
pub(super) fn end_of(what: &str) -> String {
    format!(
        "the desktop portal has ended {what}: the desktop's indicator for it does that, a change of the monitors, or a \
         window that is closed"
    )
}

/// A connection to PipeWire, which shows what was chosen for a session of a connection.
///
/// # Errors
/// Why there is none.
pub(super) fn pipewire(portal: &Connection, session: &OwnedObjectPath) -> Result<OwnedFd, String> {
    let question = (session, Options::new());
    let opened: zbus::Result<zbus::zvariant::OwnedFd> =
        bus::call(portal, SCREEN_CAST, "OpenPipeWireRemote", &question);
    opened
        .map(OwnedFd::from)
        .map_err(|error| format!("the desktop portal gives no pictures: {error}"))
}

impl Opening<'_> {
    fn create(
        &self,
        object: Object<'_>,
        name: String,
        expected: &str,
    ) -> Result<OwnedObjectPath, String> {
        const METHOD: &str = "CreateSession";
        let mut options = requested();
        options.insert("session_handle_token", name.into());
        let results = self.ask(object, METHOD, &options, PATIENCE)?;
        let path = results.get("session_handle").and_then(text);
        match path {
            Some(path) if path == expected => {
                OwnedObjectPath::try_from(path).map_err(|_| unreadable(METHOD))
            }
            _ => Err(unreadable(METHOD)),
        }
    }

    fn select(
        &self,
        object: Object<'_>,
        method: &str,
        session: &OwnedObjectPath,
        mut options: Options<'_>,
    ) -> Result<(), String> {
        options.extend(requested());
        self.ask(object, method, &(session, options), PATIENCE)
            .map(|_| ())
    }

    fn start(&self, object: Object<'_>, session: &OwnedObjectPath) -> Result<Results, String> {
        tracing::info!("the desktop portal is asked: it may show a dialog, in which to allow it");
        // No window of this program's belongs to the dialog.
        let question = (session, "", requested());
        self.ask(object, "Start", &question, DIALOG_PATIENCE)
    }

    fn ask<Q>(
        &self,
        object: Object<'_>,
        method: &str,
        question: &Q,
        patience: Duration,
    ) -> Result<Results, String>
    where
        Q: serde::Serialize + zbus::zvariant::DynamicType,
    {
        let PortalSignals {
            has_ended,
            responses,
            ..
        } = self.signals;
        request::ask(
            self.bus,
            (object, method),
            question,
            responses,
            &|| has_ended.load(Ordering::Acquire),
            Patience {
                longest: patience,
                is_over: self.is_over,
            },
        )
    }
}

/// What a session may show: the mouse needs a place on a monitor.
fn source_types(for_use: Use, offered: &PortalOffer) -> u32 {
    let monitors = if offered.sources.monitors { MONITOR } else { 0 };
    match for_use {
        Use::Screen if offered.sources.windows => monitors | WINDOW,
        _ => monitors,
    }
}

/// The devices that are asked for. The dialog comes once, so that keys can't be asked for when the first one is pressed.
fn device_types(offered: &PortalOffer) -> u32 {
    match offered.has_keyboard {
        true => POINTER | KEYBOARD,
        false => POINTER,
    }
}

/// The devices that the person has allowed.
fn devices(results: &Results) -> Result<u32, String> {
    let devices = results.get("devices").map_or(Ok(0), u32::try_from);
    devices.map_err(|_| unreadable("devices"))
}

/// The options of a request, with a name of its own.
fn requested() -> Options<'static> {
    let name = format!("flowpipe_{}", next_number());
    Options::from([("handle_token", name.into())])
}

/// The path of a session of that name.
fn session_path(bus: &Bus, name: &str) -> Result<String, String> {
    let own = bus.connection().unique_name();
    let own = own.ok_or("the session's bus gives no name")?;
    let own = own.trim_start_matches(':').replace('.', "_");
    Ok(format!("{PATH}/session/{own}/{name}"))
}
