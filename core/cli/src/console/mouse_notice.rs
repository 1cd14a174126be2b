//! The line that is printed before a pipeline drives the mouse.

use std::collections::BTreeSet;

use flowpipe_desktop::session::{Session, Variables};
use flowpipe_desktop::{Capabilities, Stop};
use flowpipe_host::message::Message;
use flowpipe_message::{FrameNote, GESTURES, Gestures};
use flowpipe_puzzle::message::{STROKES, Strokes};
use flowpipe_terminal::{escape, escaped};

use crate::accepted::read;
use crate::mouse_driver::MouseDriver;

/// The most windows that are reported.
const MOST: usize = 64;

/// Reports where the mouse is to be driven, and how to stop it: once for each window, before its first stroke
/// or gesture.
pub struct MouseNotice {
    /// `None`: the pipeline does not drive the mouse.
    driver: Option<MouseDriver>,
    dry: bool,
    /// The sources that were reported, and their windows.
    reported: BTreeSet<(String, Option<u64>)>,
}

impl MouseNotice {
    pub fn new(driver: Option<MouseDriver>, dry: bool) -> Self {
        Self {
            driver,
            dry,
            reported: BTreeSet::new(),
        }
    }

    /// Takes the driver of the reloaded pipeline. With another one, each window is reported again.
    pub fn reload(&mut self, driver: Option<&MouseDriver>) {
        if self.driver.as_ref() != driver {
            *self = Self::new(driver.cloned(), self.dry);
        }
    }

    /// The line to print before these strokes or gestures are played, if there is one.
    pub fn before(&mut self, message: &Message) -> Option<String> {
        match message.schema() {
            STROKES => self.line(&read::<Strokes>(message)?.sighting.frame),
            GESTURES => self.line(&read::<Gestures>(message)?.frame),
            _ => None,
        }
    }

    fn line(&mut self, frame: &FrameNote) -> Option<String> {
        let driver = self.driver.as_ref()?;
        // What is no part of the screen is not played in.
        let is_screen = frame.window.is_some() || frame.size.is_some() && driver.any_window;
        let target = (frame.source.clone(), frame.window);
        if !is_screen || self.reported.len() >= MOST || !self.reported.insert(target) {
            return None;
        }
        let name = match &frame.title {
            Some(title) => format!("the window \"{}\"", escape(title)),
            None => escaped(&frame.source).to_string(),
        };
        let [x, y] = frame.origin;
        let size = frame
            .size
            .map(|[width, height]| format!(", {width} x {height} {}", unit(frame)));
        let place = format!("{name} at {x:.0}, {y:.0}{}", size.unwrap_or_default());
        Some(match self.dry {
            true => format!("{place}: a dry run, the mouse is not moved and nothing is clicked"),
            false => format!(
                "{place}: the real mouse plays there; {} stops it",
                stops(driver, frame)
            ),
        })
    }
}

/// What places on the screen of a frame are counted in.
fn unit(frame: &FrameNote) -> String {
    match frame.scale {
        1.0 => "pixels".to_owned(),
        scale => format!("logical pixels (scale {})", (scale * 100.0).round() / 100.0),
    }
}

/// What stops the mouse where a frame was captured.
fn stops(driver: &MouseDriver, frame: &FrameNote) -> String {
    let capabilities = capabilities(frame);
    let hotkey = driver.hotkey.as_deref();
    let hotkey = hotkey.filter(|_| capabilities.hotkey);
    let hotkey = hotkey.map(|name| escaped(name).to_string());
    // Some portals report the pointer. Where it is not reported, the run starts only if that is accepted.
    let desktop = frame.desktop.as_deref();
    let may_be_reported = desktop.is_none_or(|name| name.starts_with("portal "));
    let is_noticed = capabilities.pointer || may_be_reported && !driver.accepts_unnoticed;
    let stop = Stop {
        hotkey: hotkey.as_deref(),
        by_hand: driver.by_hand && is_noticed,
        corners: driver.corners && is_noticed,
    };
    stop.in_words()
}

/// What the desktop reports that a frame shows. Sources other than capture-screen may not name it: it is that of the
/// session.
fn capabilities(frame: &FrameNote) -> Capabilities {
    let named = frame.desktop.as_deref();
    let of_session = || match Variables::of_process().session() {
        #[cfg(all(unix, not(target_os = "macos")))]
        Session::X11(_) => Capabilities::X11,
        _ => Capabilities::PORTAL,
    };
    named
        .and_then(Capabilities::of_session_name)
        .unwrap_or_else(of_session)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(hotkey: Option<&str>, dry: bool) -> MouseNotice {
        MouseNotice::new(Some(driver(hotkey)), dry)
    }

    fn driver(hotkey: Option<&str>) -> MouseDriver {
        MouseDriver {
            hotkey: hotkey.map(str::to_owned),
            any_window: true,
            by_hand: false,
            corners: false,
            accepts_unnoticed: false,
            desktop: None,
        }
    }

    fn on_x11(source: &str) -> FrameNote {
        FrameNote::of(source).with_desktop("x11 :0")
    }

    #[test]
    fn each_window_is_reported_once_by_its_whole_title() {
        let mut notice = notice(Some("F12"), false);
        let frame = on_x11("Flow")
            .with_origin([20.0, 10.0])
            .with_size([600, 700])
            .with_window(7)
            .with_title("Flow \u{1b} Free");
        let line = "the window \"Flow \\u001b Free\" at 20, 10, 600 x 700 pixels: the real mouse plays there; F12 or \
                    Ctrl-C in the terminal stops it";
        assert_eq!(notice.line(&frame).as_deref(), Some(line));
        assert_eq!(notice.line(&frame.clone().with_origin([30.0, 10.0])), None);
        assert!(notice.line(&frame.clone().with_window(8)).is_some());
        assert_eq!(notice.line(&frame), None);
        assert_eq!(notice.line(&FrameNote::of("a.png")), None, "no screen");
    }

    #[test]
    fn a_dry_run_clicks_nothing_and_a_key_may_be_missing() {
        let monitor = on_x11("monitor 1 (screen)").with_size([800, 600]);
        let line = notice(None, true).line(&monitor).unwrap();
        assert!(
            line.ends_with("the mouse is not moved and nothing is clicked"),
            "{line}"
        );
        let line = notice(None, false).line(&monitor).unwrap();
        let words = "monitor 1 (screen) at 0, 0, 800 x 600 pixels: the real mouse plays there; Ctrl-C in the terminal stops \
                     it";
        assert_eq!(line, words);
    }

    #[test]
    fn the_key_is_named_where_the_desktop_reports_keys() {
        let words = |desktop: &str, accepts_unnoticed| {
            let driver = MouseDriver {
                by_hand: true,
                accepts_unnoticed,
                ..driver(Some("F12"))
            };
            let frame = FrameNote::of("Flow").with_size([600, 700]);
            let mut notice = MouseNotice::new(Some(driver), false);
            let line = notice.line(&frame.with_desktop(desktop)).unwrap();
            line.split_once("; ").unwrap().1.to_owned()
        };
        let all = "F12, Ctrl-C in the terminal or a hand on the mouse stops it";
        assert_eq!(words("x11 :0", false), all);
        let hand = "Ctrl-C in the terminal or a hand on the mouse stops it";
        let ctrl_c = "Ctrl-C in the terminal stops it";
        let bus = "unix:path=/run/user/1000/bus";
        assert_eq!(words(&format!("mutter {bus}"), true), hand);
        assert_eq!(words(&format!("portal {bus}"), false), hand);
        assert_eq!(words(&format!("portal {bus}"), true), ctrl_c);
        // Whatever the config accepts, and where a monitor is captured.
        for accepts_unnoticed in [false, true] {
            let words = |desktop: &str| words(desktop, accepts_unnoticed);
            assert_eq!(words("wlroots /run/user/1000/wayland-1"), ctrl_c);
            let sway = words("wlroots (sway) /run/user/1000/wayland-1");
            assert_eq!(sway, "F12 or Ctrl-C in the terminal stops it");
        }
    }

    #[test]
    fn a_corner_is_named_where_a_hand_alone_ends_nothing() {
        let driver = MouseDriver {
            corners: true,
            ..driver(None)
        };
        let frame = on_x11("Flow").with_size([600, 700]);
        let line = MouseNotice::new(Some(driver), false).line(&frame).unwrap();
        let words = "; Ctrl-C in the terminal or the pointer in a corner of the screen stops it";
        assert!(line.ends_with(words), "{line}");
    }

    #[test]
    fn places_on_a_scaled_monitor_are_no_pixels() {
        let frame = on_x11("Flow").with_size([600, 700]).with_scale(1.25);
        let line = notice(None, true).line(&frame).unwrap();
        let words = "at 0, 0, 600 x 700 logical pixels (scale 1.25): ";
        assert!(line.contains(words), "{line}");
    }

    #[test]
    fn a_reloaded_pipeline_is_reported_by_its_own_key() {
        let frame = on_x11("Flow").with_size([600, 700]);
        let mut notice = MouseNotice::new(None, false);
        assert_eq!(notice.line(&frame), None, "no stage drives the mouse");
        notice.reload(Some(&driver(Some("F12"))));
        assert!(notice.line(&frame).unwrap().contains("F12 or Ctrl-C"));
        notice.reload(Some(&driver(Some("F12"))));
        assert_eq!(notice.line(&frame), None, "the same key");
        notice.reload(Some(&driver(Some("Pause"))));
        assert!(notice.line(&frame).unwrap().contains("Pause or Ctrl-C"));
        notice.reload(None);
        assert_eq!(notice.line(&frame.with_window(8)), None);
    }
}
