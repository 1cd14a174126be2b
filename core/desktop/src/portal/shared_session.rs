//! The session of the mouse of the same run, as the capture uses it. What comes from there is not trusted either.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zbus::zvariant::OwnedFd as ReceivedFd;

use super::offer::{MONITOR, WINDOW};
use super::request::Results;
use super::session_server::{ENDED, PENDING, PICTURES, SOURCE, object, service};
use super::source::ChosenSource;
use crate::bus::{Bus, user};

pub(super) struct SharedSession {
    bus: Bus,
    source: ChosenSource,
    /// Hangs up at its end.
    end: OwnedFd,
    /// Closed once there is a picture.
    awaited: Mutex<Option<OwnedFd>>,
}

/// What has become of the question for a session.
pub(super) enum Shared {
    Opened(SharedSession),
    /// The person is asked right now.
    Pending,
    /// The portal, or a person, has ended it.
    Ended,
    /// No mouse of this run has one.
    Absent,
}

/// How long the end of a session may take to be known, once its pictures have ended, in milliseconds.
const END_MS: u16 = 1000;

impl SharedSession {
    /// Asks for the session of the mouse of this run.
    ///
    /// # Errors
    /// Why it can't be used.
    pub(super) fn ask(address: Option<&str>) -> Result<Shared, String> {
        const GONE: [&str; 3] = ["ServiceUnknown", "NameHasNoOwner", "NoReply"];
        let bus = Bus::connect(address).map_err(|error| error.to_string())?;
        let service = service();
        let connection = bus.connection();
        let own = connection.unique_name().map_or("", |it| it.as_str());
        let own = user(connection, own).map_err(failed)?;
        let answer = match user(connection, &service) {
            Ok(owner) if owner != own => {
                tracing::warn!("{service} on the session's bus belongs to another user: unused");
                return Ok(Shared::Absent);
            }
            Ok(_) => bus.call(object(&service), SOURCE, &()),
            Err(error) => Err(error),
        };
        let (results, end): (Results, ReceivedFd) = match answer {
            Ok(answer) => answer,
            Err(zbus::Error::MethodError(name, ..)) if name == PENDING => {
                return Ok(Shared::Pending);
            }
            Err(zbus::Error::MethodError(name, ..)) if name == ENDED => return Ok(Shared::Ended),
            Err(zbus::Error::MethodError(name, ..)) if GONE.iter().any(|it| name.ends_with(it)) => {
                return Ok(Shared::Absent);
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Shared::Opened(Self {
            source: ChosenSource::of(&results, MONITOR | WINDOW)?,
            bus,
            end: end.into(),
            awaited: Mutex::default(),
        }))
    }

    /// What was chosen.
    pub(super) fn source(&self) -> &ChosenSource {
        &self.source
    }

    /// Whether it has ended: the portal, a person or the mouse has ended it.
    pub(super) fn has_ended(&self) -> bool {
        has_hung_up(&self.end, 0)
    }

    /// Whether it has ended, or is about to: its pictures may end a moment before.
    pub(super) fn is_ending(&self) -> bool {
        has_hung_up(&self.end, END_MS)
    }

    /// A connection to PipeWire, which shows what was chosen.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn pipewire(&self) -> Result<OwnedFd, String> {
        let answer = self.bus.call(object(&service()), PICTURES, &());
        let (pipewire, awaited): (ReceivedFd, ReceivedFd) = answer.map_err(failed)?;
        *self.awaited() = Some(awaited.into());
        Ok(pipewire.into())
    }

    /// There is a picture, or none comes.
    pub(super) fn note_picture(&self) {
        self.awaited().take();
    }

    fn awaited(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: zbus::Error) -> String {
    match error {
        zbus::Error::MethodError(_, Some(why), _) => why,
        error => format!("the session of the mouse: {error}"),
    }
}

/// Whether nobody holds the other end of a pipe any more, or does not within some milliseconds.
pub(super) fn has_hung_up(end: impl AsFd, within_ms: u16) -> bool {
    let patience = Timespec {
        tv_sec: i64::from(within_ms / 1000),
        tv_nsec: i64::from(within_ms % 1000) * 1_000_000,
    };
    let mut ends = [PollFd::new(&end, PollFlags::empty())];
    poll(&mut ends, Some(&patience)).is_ok_and(|count| count > 0)
}
