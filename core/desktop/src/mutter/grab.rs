//! Pictures of the screen, by `org.gnome.Mutter.ScreenCast`. Mutter sends a monitor's picture whenever something has
//! changed on it, so that the newest one is what it shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::displays::Display;
use super::session::MutterSession;
use super::{Mutter, no_windows};
use crate::error::{DesktopError, Result};
use crate::grabber::{Capture, Grab, Picture};
use crate::pipewire::presence::LOST;
use crate::pipewire::{Cut, END_KNOWN_WITHIN, Pictures, Whole};
use crate::rect::Rect;
use crate::window::WindowId;

/// How long a picture may take, such as the first one, for which programs of the session may have to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the monitors may go on changing.
const SETTLING: Duration = Duration::from_secs(2);
/// The time between two checks whether a session has ended.
const CHECK: Duration = Duration::from_millis(10);

pub(super) struct MutterGrabber {
    mutter: Arc<Mutter>,
    /// Of the monitor of which a picture was wanted last.
    source: Option<Source>,
    cut: Cut,
}

/// The pictures of one monitor. The stream ends before its session.
struct Source {
    /// As it was when they began.
    display: Display,
    stream: Pictures,
    session: MutterSession,
}

impl MutterGrabber {
    pub(super) fn new(mutter: Arc<Mutter>) -> Self {
        Self {
            mutter,
            source: None,
            cut: Cut::default(),
        }
    }

    /// The pictures of a monitor. After a change of the monitors, Mutter has ended those of before.
    fn source(&mut self, display: &Display) -> Result<&Source> {
        let usable = |it: &Source| {
            let is_same = it.display.monitor.name == display.monitor.name;
            is_same && (it.display == *display || !it.session.has_ended())
        };
        let source = match self.source.take().filter(usable) {
            Some(source) => source,
            None => Source::open(&self.mutter, display.clone())?,
        };
        Ok(self.source.insert(source))
    }

    /// Takes a part of a monitor, which was so after so many changes of the monitors. Returns how many pixels there are to the
    /// right and down.
    fn take(&mut self, display: &Display, part: Rect, changes: u64) -> Result<[u32; 2]> {
        let mutter = Arc::clone(&self.mutter);
        let mut cut = std::mem::take(&mut self.cut);
        let source = self.source(display)?;
        let newest = source.stream.newest();
        let taken = newest.with(
            PATIENCE,
            || {
                let have_changed = || mutter.known_displays.changes() != changes;
                source.session.has_ended() || have_changed() || mutter.is_over()
            },
            |whole| is_of(whole, display),
            |whole| cut.take(whole, display.monitor.place, part),
        );
        let size = taken.map_err(|reason| source.failure(reason))?;
        self.cut = cut;
        Ok(size)
    }

    /// Whether the source has ended because it was of a monitor that is no longer so.
    fn is_outdated(&self) -> Result<bool> {
        let Some(source) = self.source.as_ref().filter(|it| it.session.has_ended()) else {
            return Ok(false);
        };
        Ok(!self.mutter.displays()?.contains(&source.display))
    }
}

impl Source {
    fn open(mutter: &Mutter, display: Display) -> Result<Self> {
        let failed = |reason: String| DesktopError::Grab { reason };
        let without_pipewire = |reason| failed(mutter.unless_without_pipewire(reason));
        let session =
            MutterSession::capture(mutter.bus()?, &display.monitor.name).map_err(|error| {
                without_pipewire(format!("Mutter lets no program see the screen: {error}"))
            })?;
        let node = session
            .nodes()
            .and_then(|nodes| nodes.first().copied())
            .ok_or_else(|| without_pipewire("Mutter sends no pictures".to_owned()))?;
        let stream = Pictures::open(node, mutter.pipewire()).map_err(failed)?;
        Ok(Self {
            display,
            stream,
            session,
        })
    }

    /// Why there are no pictures.
    fn failure(&self, reason: String) -> DesktopError {
        // Of its end and that of the pictures, either may become known first.
        let (began, newest) = (Instant::now(), self.stream.newest());
        let may_have_ended = || newest.has_ended() && !self.session.has_ended();
        while may_have_ended() && began.elapsed() < END_KNOWN_WITHIN {
            std::thread::sleep(CHECK);
        }
        // With PipeWire, Mutter ends the session.
        if reason == LOST || self.session.has_ended() && newest.has_lost_pipewire() {
            return DesktopError::Lost(LOST.to_owned());
        }
        if self.session.has_ended() {
            let over = "it has ended the capture of the screen: in GNOME, its indicator in the panel does that";
            return DesktopError::Lost(over.to_owned());
        }
        DesktopError::Grab { reason }
    }
}

impl Grab for MutterGrabber {
    fn grab(&mut self, rect: Rect) -> Result<Option<Picture<'_>>> {
        let mut changing = Changing::default();
        let (part, size) = loop {
            let changes = self.mutter.known_displays.changes();
            let displays = self.mutter.last_displays()?;
            // A picture is of one monitor: of the one that has most of the part asked for.
            let places = displays.iter().map(|it| (it.monitor.place, it));
            let Some((part, display)) = rect.largest_part(places) else {
                return Ok(None);
            };
            match self.take(display, part, changes) {
                Ok(size) => break (part, size),
                // The monitors have changed meanwhile.
                Err(_) if self.mutter.known_displays.changes() != changes => {
                    changing.go_on(Instant::now())?;
                }
                Err(_) if self.is_outdated()? => changing.go_on(Instant::now())?,
                // A question to Mutter may take long.
                Err(error) if self.mutter.is_over() => return Err(error),
                Err(error) => {
                    // Mutter may have ended, and with it the pictures.
                    self.mutter.displays()?;
                    return Err(error);
                }
            }
        };
        Ok(Some(self.cut.picture(part, size)))
    }

    fn grab_window(&mut self, _window: WindowId) -> Result<Capture<'_>> {
        Err(no_windows())
    }
}

/// How long the monitors have been changing.
#[derive(Default)]
struct Changing {
    first: Option<Instant>,
}

impl Changing {
    /// They have changed once more.
    ///
    /// # Errors
    /// When they do so for too long.
    fn go_on(&mut self, now: Instant) -> Result<()> {
        let first = *self.first.get_or_insert(now);
        match now.saturating_duration_since(first) > SETTLING {
            false => Ok(()),
            true => Err(DesktopError::Grab {
                reason: format!("the monitors have been changing for {SETTLING:?}"),
            }),
        }
    }
}

/// Whether a picture is of a monitor as it is now: after a change, the pictures follow.
fn is_of(whole: &Whole, display: &Display) -> bool {
    // Some sizes can't be divided by the scale.
    const ROUNDED: u32 = 2;
    let pairs = whole.size.into_iter().zip(display.pixels);
    pairs
        .into_iter()
        .all(|(there, wanted)| there.abs_diff(wanted) <= ROUNDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_may_not_change_for_ever() {
        let mut changing = Changing::default();
        let now = Instant::now();
        for after in [Duration::ZERO, SETTLING / 2, SETTLING] {
            assert!(changing.go_on(now + after).is_ok(), "{after:?}");
        }
        let error = changing.go_on(now + 2 * SETTLING).unwrap_err().to_string();
        assert!(error.contains("have been changing for 2s"), "{error}");
    }
}
