//! The actuator before windows that take their time, and a pointer that somebody moves.

use std::sync::Mutex;

use flowpipe_desktop::DesktopError;
use flowpipe_desktop::input::LateReports;

use super::world::{InWorld, World};
use super::*;
use crate::watch::Checker;

/// A desktop with one window, which is in front once it was raised.
#[derive(Clone, Default)]
pub struct FakeDesktop(Arc<Mutex<FakeState>>);

struct FakeState {
    raised: u32,
    pointer: [i32; 2],
    screen: Rect,
}

impl Default for FakeState {
    fn default() -> Self {
        Self {
            raised: 0,
            pointer: [0, 0],
            screen: Rect {
                x: 0,
                y: 0,
                width: 800,
                height: 600,
            },
        }
    }
}

impl Surroundings for FakeDesktop {
    fn session_name(&self) -> String {
        "fake 1".to_owned()
    }

    fn trouble(&self, _: &Watched) -> Option<BoardTrouble> {
        let late_ms = LOG.with_borrow(|log| match log.mischief {
            Mischief::LateAnswer(after, ms) if after == log.events.len() => ms,
            _ => 0,
        });
        std::thread::sleep(Duration::from_millis(late_ms));
        if self.0.lock().unwrap().raised == 0 {
            return Some(BoardTrouble::new("covered"));
        }
        let lacks_keyboard = LOG.with_borrow(|log| {
            let has_pressed = log.events.iter().any(|it| it == "down");
            log.mischief == Mischief::Keyboard && log.raises == 1 && has_pressed
        });
        lacks_keyboard.then(|| BoardTrouble {
            reason: "without the keyboard".to_owned(),
            lacks_keyboard,
        })
    }

    fn keyboard_trouble(&self, _: WindowId) -> Option<String> {
        None
    }

    fn shown_part(&self, _: WindowId) -> Option<Rect> {
        None
    }

    fn raise(&self, _: &Watched) {
        self.0.lock().unwrap().raised += 1;
        LOG.with_borrow_mut(|log| log.raises += 1);
    }

    fn key_code(&self, name: &str) -> std::result::Result<u8, DesktopError> {
        match name {
            "F2" => Ok(68),
            _ => Err(DesktopError::Unsupported("other keys in this test")),
        }
    }

    fn pointer(&self) -> Option<[i32; 2]> {
        Some(self.0.lock().unwrap().pointer)
    }

    fn screen(&self) -> Option<Rect> {
        Some(self.0.lock().unwrap().screen)
    }

    fn monitors(&self) -> Option<Vec<Rect>> {
        let has_changed = LOG.with_borrow(|log| {
            log.mischief == Mischief::Monitors && log.events.iter().any(|it| it.starts_with("down"))
        });
        let screen = self.0.lock().unwrap().screen;
        let [left, right] = [0, 400].map(|x| Rect {
            x,
            width: 400,
            ..screen
        });
        Some(if has_changed {
            vec![right, left]
        } else {
            vec![left, right]
        })
    }
}

impl World for FakeDesktop {
    fn mechanism(config: &Config, host: &Host) -> Result<Mechanism> {
        let guard = Arc::new(Guard::default());
        let desktop = Self::default();
        let mut player = Player::new(Box::new(RecordingMouse), Arc::clone(&guard), config);
        player.rest_at_start(|| Ok(desktop.screen().unwrap()), *host)?;
        Ok(Mechanism {
            player,
            monitors: desktop.monitors(),
            surroundings: Box::new(desktop.clone()),
            raised: None,
            without_keyboard_since: None,
            // It sees the pointer where this test's mouse does not put it.
            _watch: Watch::start(
                &Config {
                    by_hand: false,
                    ..Config::default()
                },
                Arc::clone(&guard),
                Box::new(desktop),
                None,
                None,
                *host,
            )?,
            guard,
        })
    }
}

/// The actuator on that desktop.
pub type OnDesktop = InWorld<FakeDesktop>;

/// The window takes longer to rise than a frame may be old.
#[test]
fn a_board_that_has_grown_old_while_its_window_rose_is_not_played() {
    LOG.with_borrow_mut(|log| *log = MouseLog::default());
    let config = json!({ "max_age_ms": 50 });
    let mut harness = flowpipe_plugin::harness!(OnDesktop, config).unwrap();
    let mut strokes = strokes(&[0.5]);
    strokes.sighting.frame = strokes.sighting.frame.with_window(7);
    let mut play = || {
        let sent = harness.send(0, STROKES, &strokes).unwrap();
        serde_json::from_value::<Outcome>(sent[0].body.clone()).unwrap()
    };
    let reason = play().refused.unwrap();
    assert!(reason.contains("max_age_ms"), "{reason}");
    assert_eq!(LOG.with_borrow(|log| log.events.len()), 0);
    // The next frame is played: the window is in front. A busy machine may need several.
    assert!((0..100).any(|_| play().refused.is_none()));
}

/// Another window may have locked the pointer to itself. Only a person who has left the keyboard there for a while has no
/// more use for it.
#[test]
fn a_window_that_has_lost_the_keyboard_gets_it_again_before_the_next_board() {
    LOG.with_borrow_mut(|log| {
        *log = MouseLog {
            mischief: Mischief::Keyboard,
            ..MouseLog::default()
        };
    });
    let config = json!({ "max_age_ms": 60_000 });
    let mut harness = flowpipe_plugin::harness!(OnDesktop, config).unwrap();
    let mut strokes = strokes(&[0.5, 0.5]);
    strokes.sighting.frame = strokes.sighting.frame.with_window(7);
    let mut play = || {
        let sent = harness.send(0, STROKES, &strokes).unwrap();
        let outcome: Outcome = serde_json::from_value(sent[0].body.clone()).unwrap();
        let presses = |log: &MouseLog| log.events.iter().filter(|it| *it == "down").count();
        let log = LOG.with_borrow(|log| (log.raises, presses(log)));
        (outcome.refused, log)
    };
    let refused = Some("without the keyboard".to_owned());
    assert_eq!(play(), (refused.clone(), (1, 1)));
    // It waits from when it has found that.
    assert_eq!(play(), (refused.clone(), (1, 1)));
    let played = loop {
        match play() {
            (Some(reason), log) => assert_eq!((Some(reason), log), (refused.clone(), (1, 1))),
            played => break played,
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(played, (None, (2, 3)));
}

#[test]
fn a_pointer_that_pictures_contain_goes_aside_at_the_start() {
    for (mischief, moves) in [(Mischief::None, ""), (Mischief::Captured, "792,592")] {
        LOG.with_borrow_mut(|log| {
            *log = MouseLog {
                mischief,
                ..MouseLog::default()
            };
        });
        let _harness = flowpipe_plugin::harness!(OnDesktop, json!({})).unwrap();
        assert_eq!(LOG.with_borrow(|log| log.events.join(" ")), moves);
    }
}

/// Places and windows there are others.
#[test]
fn nothing_is_pressed_for_a_frame_of_another_desktop() {
    for (desktop, is_played) in [
        (None, true),
        (Some("fake 1"), true),
        (Some("fake 2"), false),
    ] {
        LOG.with_borrow_mut(|log| *log = MouseLog::default());
        let config = json!({ "max_age_ms": 60_000 });
        let mut harness = flowpipe_plugin::harness!(OnDesktop, config).unwrap();
        let mut strokes = strokes(&[0.5]);
        strokes.sighting.frame = strokes.sighting.frame.with_window(7);
        strokes.sighting.frame.desktop = desktop.map(str::to_owned);
        let sent = harness.send(0, STROKES, &strokes);
        let has_acted = LOG.with_borrow(|log| !log.events.is_empty());
        assert_eq!(
            (sent.is_ok(), has_acted),
            (is_played, is_played),
            "{desktop:?}"
        );
        if let Err(error) = sent {
            let text = error.to_string();
            let expected = "shows the desktop \"fake 2\", and the mouse acts on \"fake 1\": set the key `desktop`";
            assert!(text.contains(expected), "{text}");
        }
    }
}

#[test]
fn a_pointer_that_is_late_after_each_of_several_boards_is_nobody() {
    let guard = Arc::new(Guard::default());
    let desktop = FakeDesktop::default();
    let mut checker = Checker::new(
        &Config::default(),
        Arc::clone(&guard),
        Box::new(desktop.clone()),
        None,
        None,
    );
    desktop.0.lock().unwrap().pointer = [400, 300];
    for _ in 0..3 {
        guard.begin(None);
        assert_eq!(checker.once(), None);
        guard.end(Some([200, 100]));
        assert_eq!([checker.once(), checker.once()], [None, None]);
    }
    // In three checks in a row it is elsewhere.
    assert_eq!(checker.once().as_deref(), Some(MOVED_BY_HAND));
}

#[test]
fn the_corners_are_those_of_a_screen_that_begins_elsewhere() {
    let (guard, desktop) = (Arc::new(Guard::default()), FakeDesktop::default());
    let config = serde_json::from_value(json!({ "by_hand": false })).unwrap();
    desktop.0.lock().unwrap().screen.x = -300;
    let mut checker = Checker::new(&config, guard, Box::new(desktop.clone()), None, None);
    for (pointer, is_corner) in [
        ([-100, 0], false),
        ([-300, 0], true),
        ([200, 0], false),
        ([499, 599], true),
    ] {
        desktop.0.lock().unwrap().pointer = pointer;
        let reason = checker.once();
        assert_eq!(reason.is_some(), is_corner, "{pointer:?}: {reason:?}");
    }
}

/// A hotkey that is not known any more. Whether that is since the compositor has ended.
struct LostHotkey(bool);

impl flowpipe_desktop::Hotkey for LostHotkey {
    fn is_pressed(&mut self) -> std::result::Result<bool, DesktopError> {
        Err(match self.0 {
            true => DesktopError::Ended,
            false => DesktopError::Lost("sway: unexpected end of file".to_owned()),
        })
    }
}

#[test]
fn a_compositor_that_has_ended_is_nobody_who_stops_the_run() {
    for has_ended in [true, false] {
        let mut checker = Checker::new(
            &Config::default(),
            Arc::new(Guard::default()),
            Box::new(FakeDesktop::default()),
            Some(Box::new(LostHotkey(has_ended))),
            None,
        );
        assert_eq!(checker.once().is_none(), has_ended);
    }
}

/// What is reported later: the place, and whether it is a person's.
#[derive(Clone, Default)]
struct FakeReports(Arc<Mutex<(Option<[i32; 2]>, bool)>>);

impl LateReports for FakeReports {
    fn place(&self) -> Option<[i32; 2]> {
        self.0.lock().unwrap().0
    }

    fn was_moved(&self) -> bool {
        self.0.lock().unwrap().1
    }
}

/// A desktop that can't be asked where the pointer is.
#[derive(Clone, Default)]
struct BlindDesktop(FakeDesktop);

impl Surroundings for BlindDesktop {
    fn session_name(&self) -> String {
        self.0.session_name()
    }

    fn trouble(&self, watched: &Watched) -> Option<BoardTrouble> {
        self.0.trouble(watched)
    }

    fn keyboard_trouble(&self, window: WindowId) -> Option<String> {
        self.0.keyboard_trouble(window)
    }

    fn shown_part(&self, window: WindowId) -> Option<Rect> {
        self.0.shown_part(window)
    }

    fn raise(&self, watched: &Watched) {
        self.0.raise(watched);
    }

    fn key_code(&self, name: &str) -> std::result::Result<u8, DesktopError> {
        self.0.key_code(name)
    }

    fn pointer(&self) -> Option<[i32; 2]> {
        None
    }

    fn screen(&self) -> Option<Rect> {
        self.0.screen()
    }

    fn monitors(&self) -> Option<Vec<Rect>> {
        self.0.monitors()
    }
}

/// A guard, what is reported, and what checks both.
fn checker(config: &serde_json::Value) -> (Arc<Guard>, FakeReports, Checker) {
    let (guard, reports) = (Arc::new(Guard::default()), FakeReports::default());
    let checker = Checker::new(
        &serde_json::from_value(config.clone()).unwrap(),
        Arc::clone(&guard),
        Box::new(BlindDesktop::default()),
        None,
        Some(Box::new(reports.clone())),
    );
    (guard, reports, checker)
}

#[test]
fn a_person_who_is_reported_later_is_noticed_at_once_whatever_goes_on() {
    let (guard, reports, mut checker) = checker(&json!({}));
    guard.begin(None);
    *reports.0.lock().unwrap() = (Some([400, 300]), false);
    assert_eq!(checker.once(), None);
    *reports.0.lock().unwrap() = (Some([450, 300]), true);
    assert_eq!(checker.once().as_deref(), Some(MOVED_BY_HAND));
    let stop = Some(Trouble::Stop(MOVED_BY_HAND.to_owned()));
    assert_eq!(guard.trouble(), stop);
}

#[test]
fn a_corner_that_is_reported_later_counts_without_the_rest() {
    let (_, reports, mut checker) = checker(&json!({ "by_hand": false }));
    for (place, is_stopped) in [
        (None, false),
        // It may begin there.
        (Some([0, 0]), false),
        (Some([400, 300]), false),
        (Some([799, 599]), true),
    ] {
        *reports.0.lock().unwrap() = (place, true);
        let reason = checker.once();
        assert_eq!(reason.is_some(), is_stopped, "{place:?}");
        assert!(reason.is_none_or(|reason| reason.contains("corner")));
    }
    let (_, reports, mut checker) = self::checker(&json!({ "by_hand": false, "corners": false }));
    for place in [[400, 300], [0, 0]] {
        *reports.0.lock().unwrap() = (Some(place), true);
        assert_eq!(checker.once(), None);
    }
}
