//! What a person has chosen, with its pictures once they are wanted.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::session::PortalSession;
use crate::error::{DesktopError, Result};
use crate::monitor::Monitor;
use crate::pipewire::{Newest, Pictures, Remote, Whole};
use crate::rect::Rect;

/// How long a picture may take, such as the first one, for which programs of the session may have to start.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Chosen {
    /// It ends before its session.
    stream: Mutex<Option<Pictures>>,
    session: PortalSession,
    /// How many pixels of the first picture there were for one of the compositor's units, to the right.
    scale: OnceLock<f64>,
    /// Its place when it was first asked for.
    first_place: OnceLock<Rect>,
}

impl Chosen {
    pub(super) fn new(session: PortalSession) -> Self {
        Self {
            stream: Mutex::default(),
            session,
            scale: OnceLock::new(),
            first_place: OnceLock::new(),
        }
    }

    #[cfg(feature = "input")]
    pub(super) fn session(&self) -> &PortalSession {
        &self.session
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

    /// Copies the part of the newest picture that shows a part of the screen. Returns which part that is, and how many pixels
    /// there are to the right and down. `None`: nothing of it is to be seen.
    pub(super) fn copy(&self, rect: Rect, to: &mut Vec<u8>) -> Result<Option<(Rect, [u32; 2])>> {
        self.see(|whole| {
            let place = self.place(whole);
            // All of it stays all of it, in whatever size.
            let is_all = self.first_place.get() == Some(&rect);
            let part = if is_all {
                Some(place)
            } else {
                rect.intersection(place)
            };
            part.map(|part| (part, whole.cut(place, part, to)))
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
        let has_ended = || self.session.has_ended();
        newest
            .with(PATIENCE, has_ended, |_| true, give)
            .map_err(|reason| self.failure(reason))
    }

    fn newest(&self) -> Result<Arc<Newest>> {
        if self.session.has_ended() {
            return Err(self.failure(String::new()));
        }
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &*stream {
            return Ok(Arc::clone(stream.newest()));
        }
        let opened = self.session.pipewire().and_then(|connection| {
            Pictures::open(self.session.source().node, Remote::Connection(connection))
        });
        let opened = stream.insert(opened.map_err(|reason| self.failure(reason))?);
        Ok(Arc::clone(opened.newest()))
    }

    /// Why there are no pictures.
    fn failure(&self, reason: String) -> DesktopError {
        match self.session.has_ended() {
            true => DesktopError::Lost(self.session.end()),
            false => DesktopError::Grab { reason },
        }
    }
}
