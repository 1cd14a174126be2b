//! What is captured.

use flowpipe_desktop::{Acceptance, Capture, Desktop, Grabber, Monitor, Picture, Rect, WindowId};
use flowpipe_plugin::{Error, Result, tracing};

use crate::config::Subject;

/// The time between two searches for a window: a search asks about all of them.
const SEARCH_EVERY_NS: i64 = 30_000_000;

/// What is captured.
pub enum Target {
    /// A window.
    Window(WindowSearch),
    /// A part of the screen.
    Area {
        /// Where.
        rect: Rect,
        /// What it is called.
        name: String,
    },
}

/// A window by its title.
pub struct WindowSearch {
    title: String,
    /// Wait for it when it is not there.
    waits: bool,
    found: Option<WindowId>,
    /// Its whole title when it was found.
    found_title: Option<String>,
    /// Whether the wait for it has been logged.
    is_waited_for: bool,
    search_ns: i64,
}

/// What a capture shows.
pub struct Seen<'a> {
    /// The pixels.
    pub picture: Picture<'a>,
    /// Where they come from.
    pub source: &'a str,
    /// The window.
    pub window: Option<WindowId>,
    /// Its whole title.
    pub title: Option<&'a str>,
}

impl Target {
    /// # Errors
    /// When there is no such monitor, the region is not on the screen, or the desktop does not report windows.
    pub fn new(subject: Subject, waits: bool, desktop: &Desktop) -> Result<Self> {
        match subject {
            Subject::Window(_) if !desktop.capabilities().windows => {
                Err(Error::bad_config(no_windows(desktop)))
            }
            Subject::Window(title) => Ok(Self::Window(WindowSearch {
                title,
                waits,
                found: None,
                found_title: None,
                is_waited_for: false,
                search_ns: i64::MIN,
            })),
            Subject::Monitor(number) => {
                let monitors = desktop.monitors()?;
                let monitor = number.checked_sub(1).and_then(|index| monitors.get(index));
                let monitor =
                    monitor.ok_or_else(|| Error::bad_config(no_monitor(number, &monitors)))?;
                Ok(Self::Area {
                    rect: monitor.place,
                    name: format!("monitor {number} ({})", monitor.name),
                })
            }
            Subject::Region(rect) => Ok(Self::Area {
                rect,
                name: format!(
                    "region {} x {} at {}, {}",
                    rect.width, rect.height, rect.x, rect.y
                ),
            }),
        }
    }

    /// Captures, at the time `now_ns` of the host. `None`: there is nothing to see right now.
    ///
    /// # Errors
    /// When the screen can't be captured, or the target is not there and not to be waited for.
    pub fn capture<'a>(
        &'a mut self,
        desktop: &Desktop,
        grabber: &'a mut Grabber,
        now_ns: i64,
    ) -> Result<Option<Seen<'a>>> {
        match self {
            Self::Area { rect, name } => {
                let Some(picture) = grabber.grab(*rect)? else {
                    let Rect {
                        x,
                        y,
                        width,
                        height,
                    } = desktop.screen()?;
                    let from = match [x, y] {
                        [0, 0] => String::new(),
                        _ => format!(" from {x}, {y} on"),
                    };
                    return Err(Error::new(format!(
                        "the {name} is not on the screen, which is {width} x {height}{from}"
                    )));
                };
                Ok(Some(Seen {
                    picture,
                    source: name,
                    window: None,
                    title: None,
                }))
            }
            Self::Window(search) => search.capture(desktop, grabber, now_ns),
        }
    }
}

/// Reports that a desktop does not report windows, with all that has to be set to play there.
fn no_windows(desktop: &Desktop) -> String {
    const TEXT: &str = "`window` can't be used on this desktop";
    if let Some(variable) = desktop.missing_variable() {
        return format!("{TEXT} yet: {variable}, and start the run again");
    }
    let reason = match desktop.titles() {
        Err(error) => error.to_string(),
        Ok(_) => "where windows are is not reported".to_owned(),
    };
    let acceptance = Acceptance::of(desktop.capabilities(), |_| true);
    format!(
        "{TEXT}: {reason}. Set `monitor` or `region` in its place, and {} of actuator-mouse; for one run, instead of --window: \
         {}",
        acceptance.keys(),
        acceptance.options()
    )
}

/// Reports that there is no monitor of a number, which there are, and the nearest one.
fn no_monitor(number: usize, monitors: &[Monitor]) -> String {
    let there = (1..)
        .zip(monitors)
        .map(|(number, Monitor { name, place })| {
            let Rect {
                x,
                y,
                width,
                height,
            } = place;
            format!("{number} ({name}, {width} x {height} at {x}, {y})")
        });
    let there: Vec<String> = there.collect();
    // They are numbered from 1 on.
    let nearest = number.min(monitors.len()).max(1);
    format!(
        "monitor is {number}, but the screen has {}: {}; did you mean {nearest}? For one run: --set \
         capture-screen.monitor={nearest}",
        monitors.len(),
        there.join(", ")
    )
}

impl WindowSearch {
    fn capture<'a>(
        &'a mut self,
        desktop: &Desktop,
        grabber: &'a mut Grabber,
        now_ns: i64,
    ) -> Result<Option<Seen<'a>>> {
        let Some(window) = self.search(desktop, now_ns)? else {
            return Ok(None);
        };
        match grabber.grab_window(window)? {
            Capture::Shown(picture) => Ok(Some(Seen {
                picture,
                source: &self.title,
                window: Some(window),
                title: self.found_title.as_deref(),
            })),
            Capture::Moving => Ok(None),
            Capture::Hidden => {
                // Searched at once: it may have been closed and opened again.
                (self.found, self.search_ns) = (None, i64::MIN);
                Ok(None)
            }
        }
    }

    /// The window, if it is there.
    fn search(&mut self, desktop: &Desktop, now_ns: i64) -> Result<Option<WindowId>> {
        if self.found.is_some() || now_ns < self.search_ns {
            return Ok(self.found);
        }
        self.search_ns = now_ns.saturating_add(SEARCH_EVERY_NS);
        self.found = desktop.find(&self.title)?;
        self.found_title = match self.found {
            Some(window) => desktop.title(window)?,
            None => None,
        };
        match self.found {
            Some(_) if self.is_waited_for => {
                self.is_waited_for = false;
                tracing::info!("the window {:?} is there", self.title);
            }
            None if !self.is_waited_for => {
                let missing = desktop.missing(&self.title)?;
                if !self.waits {
                    return Err(Error::new(missing));
                }
                self.is_waited_for = true;
                tracing::warn!("{missing}; waiting for it (--window TITLE names another one)");
            }
            _ => {}
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitors_that_there_are_can_be_chosen() {
        let monitor = |name: &str, x| Monitor {
            name: name.to_owned(),
            place: Rect {
                x,
                y: 0,
                width: 800,
                height: 600,
            },
        };
        assert_eq!(
            no_monitor(3, &[monitor("DP-1", 0), monitor("DP-2", 800)]),
            "monitor is 3, but the screen has 2: 1 (DP-1, 800 x 600 at 0, 0), 2 (DP-2, 800 x 600 at 800, 0); did you \
             mean 2? For one run: --set capture-screen.monitor=2"
        );
    }
}
