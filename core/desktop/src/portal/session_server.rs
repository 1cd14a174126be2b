//! Gives the pictures of the mouse's session to the capture of the same run, so that a person is asked once.
//!
//! The stages of a run are libraries of their own, and may be processes of their own. They meet on the session's bus: while
//! the mouse has a session, or asks for one, it owns a name that is made of the number of the run's program. The bus says
//! whose program asks, and gives up the name with the connection, however its process ends.
//!
//! The answer to [`SOURCE`] has what the person has chosen, in the portal's own words, and the end of a pipe that is closed with
//! the session. The answer to [`PICTURES`] has a connection to PipeWire, and the end of a pipe that the capture closes once it
//! has a picture. Until then the mouse receives nothing from the compositor: otherwise the first picture would be the next one
//! that changes, which may never come.

use flowpipe_process::host;
#[cfg(feature = "input")]
pub(super) use server::{ServedSession, SessionServer};

use crate::bus::Object;

const SERVICE: &str = "io.github.flowpipe.PortalSession";
const PATH: &str = "/io/github/flowpipe/PortalSession";
pub(super) const SOURCE: &str = "Source";
pub(super) const PICTURES: &str = "Pictures";
/// Errors: the person has not answered yet; the portal has ended the session; there are no pictures.
pub(super) const PENDING: &str = "io.github.flowpipe.PortalSession.Pending";
pub(super) const ENDED: &str = "io.github.flowpipe.PortalSession.Ended";
#[cfg(feature = "input")]
const FAILED: &str = "io.github.flowpipe.PortalSession.Failed";

/// The name of the session of this run on the bus.
pub(super) fn service() -> String {
    format!("{SERVICE}.run{}", host::process())
}

/// The session as an object of the bus. `service`: its name.
pub(super) fn object(service: &str) -> Object<'_> {
    Object {
        service,
        path: PATH,
        interface: SERVICE,
    }
}

#[cfg(feature = "input")]
mod server {
    use std::os::fd::OwnedFd;
    use std::sync::{Arc, OnceLock, PoisonError};

    use zbus::blocking::{Connection, MessageIterator};
    use zbus::message::{Message, Type};
    use zbus::zvariant::{Fd, OwnedObjectPath};

    use super::super::session::{self, PointerReports};
    use super::super::shared_session::has_hung_up;
    use super::super::source::ChosenSource;
    use super::{ENDED, FAILED, PATH, PENDING, PICTURES, SERVICE, SOURCE, service};
    use crate::bus::{BUS, Bus, user};
    use crate::pipewire::Cursor;

    /// How long the mouse waits for the first picture of the capture, in milliseconds.
    const FIRST_PICTURE_MS: u16 = 3000;

    /// On a connection of its own: nobody who asks delays what the mouse does. Ends when it is dropped.
    pub(in super::super) struct SessionServer {
        /// Its thread ends with the connection.
        _bus: Bus,
        served: Arc<OnceLock<ServedSession>>,
    }

    /// The session, once the person has allowed it.
    pub(in super::super) struct ServedSession {
        /// The connection that has it.
        pub portal: Connection,
        pub path: OwnedObjectPath,
        pub source: ChosenSource,
        /// Hangs up at its end.
        pub end: OwnedFd,
        pub reports: PointerReports,
    }

    impl SessionServer {
        /// Takes the name. Until [`Self::serve`], those who ask have to wait.
        ///
        /// # Errors
        /// Why it can't be had.
        pub(in super::super) fn start(address: Option<&str>) -> Result<Self, String> {
            // Of a mouse that was restarted, the bus may not know yet that the one before has ended.
            const REPLACE_AND_BE_REPLACED: u32 = 1 | 2 | 4;
            const OWNER: u32 = 1;
            let bus = Bus::connect(address).map_err(|error| error.to_string())?;
            let connection = bus.connection().clone();
            let calls = MessageIterator::from(&connection);
            let failed = |error: zbus::Error| error.to_string();
            let own = connection.unique_name().ok_or("the bus gives no name")?;
            let own_user = user(&connection, own).map_err(failed)?;
            let question = (service(), REPLACE_AND_BE_REPLACED);
            match bus.call(BUS, "RequestName", &question).map_err(failed)? {
                OWNER => {}
                code => return Err(format!("another program has its name (code {code})")),
            }
            let served = Arc::new(OnceLock::new());
            let shared = Arc::clone(&served);
            let answer = move || {
                let calls = calls.map_while(Result::ok);
                for call in calls.filter(|it| it.message_type() == Type::MethodCall) {
                    // Whoever asked may be gone.
                    let _ = answer(&connection, own_user, shared.get(), &call);
                }
            };
            let thread = std::thread::Builder::new().name("portal-share".to_owned());
            let started = thread.spawn(answer);
            started.map_err(|error| error.to_string())?;
            Ok(Self { _bus: bus, served })
        }

        /// Gives the session to those who ask from now on. The first one counts.
        pub(in super::super) fn serve(&self, session: ServedSession) {
            let _ = self.served.set(session);
        }
    }

    fn answer(
        connection: &Connection,
        own_user: u32,
        served: Option<&ServedSession>,
        call: &Message,
    ) -> zbus::Result<()> {
        let header = call.header();
        let refuse = |name: &str, why: &str| connection.reply_error(&header, name, &why);
        let is = |part: Option<&str>, wanted: &str| part == Some(wanted);
        let method = header.member().map_or("", |it| it.as_str());
        let is_known = is(header.path().map(|it| it.as_str()), PATH)
            && is(header.interface().map(|it| it.as_str()), SERVICE)
            && [SOURCE, PICTURES].contains(&method);
        if !is_known {
            let name = "org.freedesktop.DBus.Error.UnknownMethod";
            return refuse(name, "there is no such method");
        }
        let sender = header.sender().map_or("", |it| it.as_str());
        if user(connection, sender)? != own_user {
            let name = "org.freedesktop.DBus.Error.AccessDenied";
            return refuse(name, "it is for programs of the same user");
        }
        let Some(served) = served else {
            return refuse(PENDING, "the person has not answered yet");
        };
        if has_hung_up(&served.end, 0) {
            return refuse(ENDED, "the portal has ended the session");
        }
        if method == SOURCE {
            let answer = (served.source.results(), Fd::from(&served.end));
            return connection.reply(&header, &answer);
        }
        let (has_picture, held) = std::io::pipe()?;
        let is_paused = served.change_reports(Cursor::pause);
        let answered = match session::pipewire(&served.portal, &served.path) {
            Ok(pipewire) => connection.reply(&header, &(Fd::from(pipewire), Fd::from(&held))),
            Err(reason) => refuse(FAILED, &reason),
        };
        drop(held);
        if is_paused {
            has_hung_up(&has_picture, FIRST_PICTURE_MS);
            served.change_reports(Cursor::resume);
        }
        answered
    }

    impl ServedSession {
        /// False: the mouse has no reports.
        fn change_reports(&self, change: fn(&mut Cursor)) -> bool {
            let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.as_mut().map(change).is_some()
        }
    }
}
