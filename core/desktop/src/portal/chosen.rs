//! What a person has chosen, with its pictures once they are wanted.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::session::{CAPTURE, PortalSession, end_of};
use super::shared_session::SharedSession;
use super::source::ChosenSource;
use crate::backend::IsOver;
use crate::error::{DesktopError, Result};
use crate::monitor::Monitor;
use crate::pipewire::presence::LOST;
use crate::pipewire::{Cut, Newest, Pictures, Remote, Whole};
use crate::rect::Rect;

/// How long a picture may take, such as the first one, for which programs of the session may have to start.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Chosen {
    /// It ends before its session.
    stream: Mutex<Option<Pictures>>,
    /// Whether nobody waits for pictures any more.
    is_over: Arc<OnceLock<IsOver>>,
    session: SeenSession,
    /// How many pixels of the first picture there were for one of the compositor's units, to the right.
    scale: OnceLock<f64>,
    /// Its place when it was first asked for.
    first_place: OnceLock<Rect>,
}

/// Whose session it is.
pub(super) enum SeenSession {
    Own(Arc<PortalSession>),
    /// That of the mouse of the same run.
    Shared(SharedSession),
}

impl SeenSession {
    fn source(&self) -> &ChosenSource {
        match self {
            Self::Own(session) => session.source(),
            Self::Shared(session) => session.source(),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Own(session) => session.has_ended(),
            Self::Shared(session) => session.has_ended(),
        }
    }

    fn pipewire(&self) -> std::result::Result<OwnedFd, String> {
        match self {
            Self::Own(session) => session.pipewire(),
            Self::Shared(session) => session.pipewire(),
        }
    }

    fn end(&self) -> String {
        match self {
            Self::Own(session) => session.end(),
            Self::Shared(_) => end_of(CAPTURE),
        }
    }
}

impl Chosen {
    /// `is_over`: whether nobody waits for pictures any more.
    pub(super) fn new(session: SeenSession, is_over: Arc<OnceLock<IsOver>>) -> Self {
        Self {
            is_over,
            stream: Mutex::default(),
            session,
            scale: OnceLock::new(),
            first_place: OnceLock::new(),
        }
    }

    /// The session that controls the mouse, if it does.
    #[cfg(feature = "input")]
    pub(super) fn controlling(&self) -> Option<&Arc<PortalSession>> {
        match &self.session {
            SeenSession::Own(session) if session.controls() => Some(session),
            _ => None,
        }
    }

    /// Whether the session of the mouse has ended: a mouse that was restarted has another one.
    pub(super) fn is_gone(&self) -> bool {
        matches!(&self.session, SeenSession::Shared(session) if session.has_ended())
    }

    /// The same, after its pictures have failed.
    pub(super) fn has_failed_at_its_end(&self) -> bool {
        matches!(&self.session, SeenSession::Shared(session) if session.is_ending())
    }

    /// It as a monitor.
    pub(super) fn monitor(&self) -> Result<Monitor> {
        let source = self.session.source();
        let is_seen = self.stream.lock().is_ok_and(|stream| stream.is_some());
        let place = match source.size {
            // Without pictures, which the mouse does not want.
            Some(size) if !is_seen => source.place(size),
            _ => self.see(|whole| self.place(whole))?,
        };
        self.first_place.get_or_init(|| place);
        Ok(Monitor {
            name: source.name().to_owned(),
            place,
        })
    }

    /// Takes the part of the newest picture that shows a part of the screen. Returns which part that is, and how many pixels
    /// there are to the right and down. `None`: nothing of it is to be seen.
    pub(super) fn take(&self, rect: Rect, to: &mut Cut) -> Result<Option<(Rect, [u32; 2])>> {
        self.see(|whole| {
            let place = self.place(whole);
            // All of it stays all of it, in whatever size.
            let is_all = self.first_place.get() == Some(&rect);
            let part = if is_all {
                Some(place)
            } else {
                rect.intersection(place)
            };
            part.map(|part| (part, to.take(whole, place, part)))
        })
    }

    /// Its place as a picture shows it: in the same scale as the first one.
    fn place(&self, whole: &Whole) -> Rect {
        let source = self.session.source();
        let [pixels, _] = whole.size.map(f64::from);
        let scale = *self.scale.get_or_init(|| match source.size {
            Some([width, _]) => pixels / f64::from(width),
            None => 1.0,
        });
        let unit = |pixels: u32| (f64::from(pixels) / scale).round().max(1.0) as u32;
        source.place(whole.size.map(unit))
    }

    /// Gives the newest picture; waits for the first one.
    fn see<T>(&self, give: impl FnOnce(&Whole) -> T) -> Result<T> {
        let newest = self.newest()?;
        let is_over = || self.is_over.get().is_some_and(|is_over| is_over());
        let has_ended = || self.session.has_ended() || is_over();
        let given = newest.with(PATIENCE, has_ended, |_| true, give);
        if let SeenSession::Shared(session) = &self.session {
            session.note_picture();
        }
        given.map_err(|reason| self.failure(reason))
    }

    fn newest(&self) -> Result<Arc<Newest>> {
        if self.session.has_ended() {
            return Err(self.failure(String::new()));
        }
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &*stream {
            return Ok(Arc::clone(stream.newest()));
        }
        let open = match self.session {
            SeenSession::Own(_) => Pictures::open,
            SeenSession::Shared(_) => Pictures::open_with_cursor,
        };
        let opened = self.session.pipewire().and_then(|connection| {
            open(self.session.source().node, Remote::Connection(connection))
        });
        let opened = stream.insert(opened.map_err(|reason| self.failure(reason))?);
        Ok(Arc::clone(opened.newest()))
    }

    /// Why there are no pictures.
    fn failure(&self, reason: String) -> DesktopError {
        match self.session.has_ended() {
            _ if reason == LOST => DesktopError::Lost(reason),
            true => DesktopError::Lost(self.session.end()),
            false => DesktopError::Grab { reason },
        }
    }
}
