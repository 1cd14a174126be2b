//! The thread that watches the person and the window while the mouse is held, and between boards.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_desktop::input::LateReports;
use flowpipe_desktop::{Desktop, DesktopError, Hotkey};
use flowpipe_plugin::{Ending, Error, Host, Result};

use crate::config::Config;
use crate::guard::{Guard, Trouble};
use crate::surroundings::Surroundings;

/// The time between two checks.
const EVERY: Duration = Duration::from_millis(8);
/// How far the pointer may be from where it was put, in pixels: systems round.
pub const TOLERANCE: i32 = 3;
/// In so many checks in a row the pointer must be elsewhere between boards: the last moves may still be
/// on their way.
const CHECKS: u32 = 3;
/// How near to the corner of the screen is in it, in pixels.
const CORNER: i32 = 2;

/// Why the run ends when the pointer is not where it was put.
pub const MOVED_BY_HAND: &str =
    "the mouse was moved by hand: leave it alone, or set by_hand = false of actuator-mouse";

/// Watches until it is dropped.
pub struct Watch {
    over: Option<std::sync::mpsc::Sender<()>>,
    /// What it returns is dropped by the stage, in whose name that logs.
    thread: Option<JoinHandle<Checker>>,
}

impl Watch {
    /// Begins to watch. `hotkey`: the key of that config. `reports`: what the desktop reports later of where the pointer
    /// is.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        config: &Config,
        guard: Arc<Guard>,
        surroundings: Box<dyn Surroundings>,
        hotkey: Option<Box<dyn Hotkey>>,
        reports: Option<Box<dyn LateReports>>,
        host: Host,
    ) -> Result<Self> {
        let (over, is_over) = std::sync::mpsc::channel::<()>();
        let mut checker = Checker::new(config, guard, surroundings, hotkey, reports);
        let thread = std::thread::Builder::new()
            .name("mouse-watch".into())
            .spawn(move || {
                // Ends when the sender is dropped.
                while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
                    is_over.recv_timeout(EVERY)
                {
                    if let Some(reason) = checker.once() {
                        host.end_run(Ending::Stopped, &reason);
                    }
                }
                checker
            })?;
        Ok(Self {
            over: Some(over),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            // A panic there has printed its own message.
            drop(thread.join());
        }
    }
}

/// Watches the key that ends the run. `Ok(None)`: there is none, or the desktop reports none.
///
/// # Errors
/// When there is no such key, or it can't be watched.
pub fn hotkey(desktop: &Desktop, config: &Config) -> Result<Option<Box<dyn Hotkey>>> {
    if config.hotkey.is_empty() {
        return Ok(None);
    }
    match desktop.hotkey(&config.hotkey) {
        Ok(hotkey) => Ok(Some(hotkey)),
        // A run that relies on it does not start (`crate::unreported`).
        Err(DesktopError::Unsupported(_)) => Ok(None),
        Err(error) => Err(Error::bad_config(format!("hotkey: {error}"))),
    }
}

pub struct Checker {
    /// What the hotkey is called.
    hotkey_name: String,
    hotkey: Option<Box<dyn Hotkey>>,
    corners: bool,
    by_hand: bool,
    /// The pointer may begin in a corner: only entering one counts.
    was_in_corner: bool,
    /// Where the pointer was at the last check of the corners.
    looked_at: Option<[i32; 2]>,
    /// How many checks in a row it has not been where it was left.
    elsewhere: u32,
    guard: Arc<Guard>,
    surroundings: Box<dyn Surroundings>,
    reports: Option<Box<dyn LateReports>>,
}

impl Checker {
    pub fn new(
        config: &Config,
        guard: Arc<Guard>,
        surroundings: Box<dyn Surroundings>,
        hotkey: Option<Box<dyn Hotkey>>,
        reports: Option<Box<dyn LateReports>>,
    ) -> Self {
        Self {
            hotkey_name: config.hotkey.clone(),
            hotkey,
            corners: config.corners,
            by_hand: config.by_hand,
            was_in_corner: true,
            looked_at: None,
            elsewhere: 0,
            guard,
            surroundings,
            reports,
        }
    }

    /// Checks once; why the run has to end, if it has.
    pub fn once(&mut self) -> Option<String> {
        if let Some(watched) = self.guard.board()
            && let Some(trouble) = self.surroundings.trouble(&watched)
        {
            self.guard.warn(Trouble::Board(trouble.reason));
        }
        let reason = self
            .hotkey()
            .or_else(|| self.moved_by_hand())
            .or_else(|| self.corner())?;
        self.guard.warn(Trouble::Stop(reason.clone()));
        Some(reason)
    }

    fn hotkey(&mut self) -> Option<String> {
        let name = &self.hotkey_name;
        match self.hotkey.as_mut()?.is_pressed() {
            Ok(true) => Some(format!("{name} was pressed, the hotkey of actuator-mouse")),
            Ok(false) => None,
            // The next capture or press fails for it: nobody has stopped the run.
            Err(DesktopError::Ended) => None,
            // The run was begun with it.
            Err(error) => Some(format!(
                "the hotkey {name} of actuator-mouse would not end the run any more: {error}"
            )),
        }
    }

    fn corner(&mut self) -> Option<String> {
        if !self.corners {
            return None;
        }
        let late = || self.reports.as_ref()?.place();
        let [x, y] = self.surroundings.pointer().or_else(late)?;
        // Some desktops take long to say where the monitors are.
        if self.looked_at.replace([x, y]) == Some([x, y]) {
            return None;
        }
        let screen = self.surroundings.screen()?;
        let near = |at: i32, from: i32, length: u32| {
            at < from.saturating_add(CORNER)
                || at >= from.saturating_add_unsigned(length).saturating_sub(CORNER)
        };
        let is_in_corner = near(x, screen.x, screen.width) && near(y, screen.y, screen.height);
        let enters = is_in_corner && !self.was_in_corner;
        self.was_in_corner = is_in_corner;
        enters.then(|| {
            "the pointer was thrown into a corner of the screen: keep it out of there, or set corners = false of \
             actuator-mouse"
                .to_owned()
        })
    }

    /// Between boards the pointer stays where it was left. What is reported later counts at any time.
    fn moved_by_hand(&mut self) -> Option<String> {
        let was_moved = self.reports.as_ref().is_some_and(|it| it.was_moved());
        if self.by_hand && was_moved {
            return Some(MOVED_BY_HAND.to_owned());
        }
        let is_away = self.by_hand && self.is_away().unwrap_or(false);
        self.elsewhere = if is_away { self.elsewhere + 1 } else { 0 };
        (self.elsewhere >= CHECKS).then(|| MOVED_BY_HAND.to_owned())
    }

    /// Whether the pointer rests elsewhere than it was left. `None`: it does not rest, or can't be asked.
    fn is_away(&self) -> Option<bool> {
        let before = self.guard.resting()?;
        let now = self.surroundings.pointer()?;
        // It may have begun to act meanwhile.
        Some(self.guard.resting() == Some(before) && is_elsewhere(now, before))
    }
}

/// Whether the pointer is not where it was put.
pub fn is_elsewhere(now: [i32; 2], put: [i32; 2]) -> bool {
    (now[0] - put[0]).abs() > TOLERANCE || (now[1] - put[1]).abs() > TOLERANCE
}
