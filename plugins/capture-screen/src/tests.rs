//! The stage through the ABI, on real windows of X11.
#![cfg(all(unix, not(target_os = "macos")))]

#[path = "../../../tests/support/screen.rs"]
mod screen;

use flowpipe_desktop::Desktop;
use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{
    Cancel, Capture, Error, Format, FrameSink, Host, JsonSchema, Next, Result, abi, harness,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Config;
use crate::stage::CaptureScreen;
use screen::{Screen, wait_for};

const RED: [u8; 3] = [200, 10, 20];
const GREEN: [u8; 3] = [30, 180, 40];

/// The stage on a display by name: variables of the environment are for the whole program, and tests
/// run together.
struct OnDisplay(CaptureScreen);

#[derive(Deserialize, JsonSchema)]
struct OnDisplayConfig {
    display: String,
    config: Config,
}

impl Capture for OnDisplay {
    const NAME: &'static str = "capture-on-display";
    type Config = OnDisplayConfig;

    fn new(config: OnDisplayConfig, _host: &Host) -> Result<Self> {
        let desktop = Desktop::connect_x11(&config.display)?;
        CaptureScreen::on(desktop, &config.config).map(Self)
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, cancel: &Cancel<'_>) -> Result<Next> {
        self.0.capture(sink, cancel)
    }
}

fn stage(screen: &Screen, config: Value) -> Result<Harness> {
    let config = json!({ "display": screen.display(), "config": config });
    harness!(OnDisplay, config)
}

/// The next frame that is sent.
fn next(stage: &mut Harness) -> Emitted {
    wait_for("frame", || stage.tick().unwrap().pop())
}

/// The next frame with such pixels and such a note.
fn next_where(stage: &mut Harness, is_it: impl Fn(&Emitted) -> bool) -> Emitted {
    wait_for("other frame", || stage.tick().unwrap().pop().filter(&is_it))
}

/// Captures often enough that every change is sent, then returns what was sent.
fn ticks(stage: &mut Harness, count: usize) -> Vec<Emitted> {
    (0..count).flat_map(|_| stage.tick().unwrap()).collect()
}

fn size(emitted: &Emitted) -> (u32, u32) {
    let info = emitted.frame.as_ref().unwrap().info().unwrap();
    assert_eq!(info.format, Format::Bgra8);
    assert_eq!(info.stride, info.width as usize * 4);
    (info.width, info.height)
}

fn colours(emitted: &Emitted) -> Vec<[u8; 3]> {
    let pixels = emitted.frame.as_ref().unwrap().pixels().chunks_exact(4);
    pixels.map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect()
}

fn is_all(emitted: &Emitted, colour: [u8; 3]) -> bool {
    colours(emitted).iter().all(|&other| other == colour)
}

fn origin(emitted: &Emitted) -> [i16; 2] {
    [0, 1].map(|axis| emitted.body["origin"][axis].as_f64().unwrap() as i16)
}

#[test]
fn sends_the_window_and_then_what_changes() {
    let screen = Screen::start();
    let window = screen.open("Game window", [120, 90], [40, 30], RED);
    let config = json!({ "window": "game", "rate": 1000, "resend": "60m" });
    let mut stage = stage(&screen, config).unwrap();
    let first = next_where(&mut stage, |frame| is_all(frame, RED));
    assert_eq!(size(&first), (40, 30));
    let note = json!({
        "source": "game", "origin": [120.0, 90.0], "scale": 1.0, "window": window,
        "title": "Game window", "size": [40, 30], "desktop": format!("x11 {}", screen.display())
    });
    assert_eq!(first.body, note);
    assert!(first.captured_ns > 0 && first.captured_ns < stage.host().now_ns());
    // An unchanged picture is not sent again.
    assert!(ticks(&mut stage, 50).is_empty());
    screen.paint(window, [3, 2], [1, 1], GREEN);
    let changed = next(&mut stage);
    assert!(changed.captured_ns > first.captured_ns);
    for (at, colour) in colours(&changed).into_iter().enumerate() {
        assert_eq!(colour, if at == 2 * 40 + 3 { GREEN } else { RED });
    }
    // What was sent before is not written to.
    assert!(is_all(&first, RED));
    assert!(ticks(&mut stage, 50).is_empty());
}

#[test]
fn sends_the_same_frame_again_after_a_while() {
    let screen = Screen::start();
    screen.open("still", [0, 0], [40, 30], RED);
    let resend_ns = 20_000_000;
    let mut stage = stage(
        &screen,
        json!({ "window": "still", "rate": 1000, "resend": "20ms" }),
    )
    .unwrap();
    let first = next_where(&mut stage, |frame| is_all(frame, RED));
    let mut before = first.captured_ns;
    for _ in 0..3 {
        let again = next(&mut stage);
        assert!(again.captured_ns - before >= resend_ns);
        before = again.captured_ns;
        // Not a copy: the very same memory.
        let memory = |emitted: &Emitted| emitted.frame.as_ref().unwrap().pixels().as_ptr();
        assert_eq!(memory(&again), memory(&first));
        assert_eq!(again.body, first.body);
    }
}

#[test]
fn sends_every_capture_when_configured_to() {
    let screen = Screen::start();
    screen.open("still", [0, 0], [40, 30], RED);
    let config = json!({ "window": "still", "rate": 1000, "skip_identical": false });
    let mut stage = stage(&screen, config).unwrap();
    next(&mut stage);
    assert_eq!(ticks(&mut stage, 20).len(), 20);
}

#[test]
fn follows_the_window() {
    for screen in [Screen::start(), Screen::start_with_manager()] {
        screen.open("moves", [120, 90], [40, 30], RED);
        let mut stage = stage(&screen, json!({ "window": "moves", "rate": 1000 })).unwrap();
        let before = origin(&next_where(&mut stage, |frame| is_all(frame, RED)));
        screen.move_window("moves", [600, 500]);
        let moved = next_where(&mut stage, |frame| {
            origin(frame) != before && is_all(frame, RED)
        });
        let after = origin(&moved);
        assert_eq!(after, screen.window("moves"));
        screen.resize_window("moves", [80, 20]);
        next_where(&mut stage, |frame| {
            size(frame) == (80, 20) && is_all(frame, RED)
        });
        // What of it lies beyond the screen is cut off.
        screen.move_window("moves", [1270, 500]);
        let part = next_where(&mut stage, |frame| size(frame).0 < 80);
        assert_eq!(
            u32::from(origin(&part)[0].unsigned_abs()) + size(&part).0,
            1280
        );
    }
}

#[test]
fn waits_for_the_window_and_finds_it_again() {
    let screen = Screen::start();
    let config = json!({ "window": "late", "rate": 1000, "resend": 0 });
    let mut stage = stage(&screen, config).unwrap();
    assert!(ticks(&mut stage, 50).is_empty());
    let first = screen.open("late", [120, 90], [40, 30], RED);
    let seen = next(&mut stage);
    assert_eq!(seen.body["window"], json!(first));
    screen.close(first);
    wait_for("nothing", || stage.tick().unwrap().is_empty().then_some(()));
    let second = screen.open("late", [220, 90], [40, 30], GREEN);
    let seen = next_where(&mut stage, |frame| is_all(frame, GREEN));
    assert_eq!(seen.body["window"], json!(second));
    assert_eq!(origin(&seen), [220, 90]);
    screen.minimise("late");
    wait_for("nothing", || stage.tick().unwrap().is_empty().then_some(()));
}

#[test]
fn a_missing_window_is_an_error_when_configured_so() {
    let screen = Screen::start();
    let other = screen.open("Flow Free", [120, 90], [40, 30], RED);
    let config = json!({ "window": "Fow Free", "wait_for_window": false });
    let error = stage(&screen, config).unwrap().tick().err().unwrap();
    assert_eq!(
        error.to_string(),
        "no window is titled \"Fow Free\" (did you mean \"Flow Free\"?); there are: \"Flow Free\""
    );
    // The same when it goes.
    let config = json!({ "window": "Flow Free", "wait_for_window": false, "rate": 1000 });
    let mut stage = stage(&screen, config).unwrap();
    next(&mut stage);
    screen.close(other);
    let error = wait_for("error", || stage.tick().err());
    assert_eq!(
        error.to_string(),
        "no window is titled \"Flow Free\", and no other has a title"
    );
}

#[test]
fn monitors_and_regions() {
    let screen = Screen::start();
    screen.open("corner", [1240, 1180], [100, 100], RED);
    let mut whole = stage(&screen, json!({})).unwrap();
    let seen = next(&mut whole);
    assert_eq!(size(&seen), (1280, 1200));
    let source = seen.body["source"].as_str().unwrap();
    assert!(source.starts_with("monitor 1 ("), "{source}");
    assert_eq!(seen.body.get("window"), None);

    let region = |x: i32| json!({ "x": x, "y": 1160, "width": 100, "height": 90 });
    let mut part = stage(&screen, json!({ "region": region(1220) })).unwrap();
    let seen = next(&mut part);
    assert_eq!((size(&seen), origin(&seen)), ((60, 40), [1220, 1160]));
    for (at, colour) in colours(&seen).into_iter().enumerate() {
        let is_in_window = at % 60 >= 20 && at / 60 >= 20;
        assert_eq!(colour == RED, is_in_window, "at {at}");
    }

    let mut beyond = stage(&screen, json!({ "region": region(1280) })).unwrap();
    let error = beyond.tick().err().unwrap().to_string();
    assert!(
        error.ends_with("is not on the screen, which is 1280 x 1200"),
        "{error}"
    );
    let error = stage(&screen, json!({ "monitor": 2 })).err().unwrap();
    assert_eq!(error.status(), abi::BAD_CONFIG);
    let error = error.to_string();
    assert!(
        error.starts_with("monitor is 2, but the screen has 1: 1 ("),
        "{error}"
    );
    assert!(
        error.ends_with("; did you mean 1? For one run: --set capture-screen.monitor=1"),
        "{error}"
    );
}

#[test]
fn a_screen_that_goes_is_an_error() {
    let screen = Screen::start();
    let mut stage = stage(&screen, json!({ "rate": 1000 })).unwrap();
    next(&mut stage);
    drop(screen);
    let error: Error = wait_for("error", || stage.tick().err());
    let text = "the desktop does not answer any more";
    assert!(error.to_string().starts_with(text), "{error}");
}

#[test]
fn gives_up_waiting_when_cancelled() {
    let screen = Screen::start();
    let mut stage = stage(&screen, json!({ "window": "never", "rate": 0.001 })).unwrap();
    assert!(ticks(&mut stage, 3).is_empty());
    stage.cancel_when(|| true);
    assert_eq!(stage.tick().err().unwrap().status(), abi::CANCELLED);
}
