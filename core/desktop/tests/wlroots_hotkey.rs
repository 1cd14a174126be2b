//! The hotkey on a real compositor, sway, with a real window that has the keyboard.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/sway.rs"]
mod sway;
#[path = "../../../tests/support/wayland_click.rs"]
mod wayland_click;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use flowpipe_desktop::input::{Input, InputDevice};
use flowpipe_desktop::{Desktop, Hotkey};
use sway::{FLOATING, Sway};
use wayland_click::{have_a_keyboard, press_key, wait_for};
use wayland_window::{PointerEvent, WaylandWindow};

/// By Linux's `input-event-codes.h`, and as X11 counts.
const F12: u32 = 88;
const CODE: u8 = 96;
/// Fails where the key has none of flowpipe's bindings in the mode that is active.
const UNBIND: &str = "unbindsym --locked --inhibited Group1+F12";
const UNBOUND: &str = "Could not find binding";

/// A sway with a window that has the keyboard, and a keyboard.
struct Session {
    sway: Sway,
    desktop: Desktop,
    window: WaylandWindow,
    input: Box<dyn InputDevice>,
}

impl Session {
    fn start(config: &str) -> Self {
        let sway = Sway::start_with_config([640, 480], "1", &format!("{FLOATING}{config}"));
        let socket = sway.wayland_socket();
        let desktop = Desktop::connect_wlroots(&socket, Some(sway.own_socket())).unwrap();
        let window = WaylandWindow::open(&socket, "red", [200, 100], [200, 10, 20]);
        let mut input = desktop.input().unwrap();
        have_a_keyboard(&mut *input, &window, CODE - 1);
        Self {
            sway,
            desktop,
            window,
            input,
        }
    }

    fn press(&mut self) {
        self.input.press(Input::Key(CODE)).unwrap();
        self.input.release(Input::Key(CODE)).unwrap();
    }

    /// Presses the key until that is reported.
    fn is_reported(&mut self, hotkey: &mut dyn Hotkey) {
        assert!(!hotkey.is_pressed().unwrap());
        wait_for("the hotkey", || {
            self.press();
            std::thread::sleep(std::time::Duration::from_millis(20));
            hotkey.is_pressed().unwrap().then_some(())
        });
        // What was pressed before may be reported later.
        wait_for("no hotkey", || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            (!hotkey.is_pressed().unwrap()).then_some(())
        });
    }

    /// Presses the key, and waits until the window gets it.
    fn goes_to_the_window(&mut self) {
        let keys = press_key(&mut *self.input, &self.window, CODE);
        assert!(keys.contains(&PointerEvent::KeyPressed(F12)), "{keys:?}");
    }
}

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

#[test]
fn a_press_is_reported_although_a_window_has_the_keyboard() {
    let mut session = Session::start("");
    session.goes_to_the_window();
    let mut hotkey = session.desktop.hotkey("F12").unwrap();
    session.is_reported(&mut *hotkey);
    // Another key is none.
    press_key(&mut *session.input, &session.window, CODE - 1);
    assert!(!hotkey.is_pressed().unwrap());
    drop(hotkey);
    assert!(session.sway.refused(UNBIND).contains(UNBOUND));
    session.goes_to_the_window();
}

#[test]
fn a_binding_of_the_person_s_stays() {
    let command = "exec sh -c 'echo pressed >> $HOME/pressed'";
    let config = format!("bindsym F12 {command}\nbindsym --locked F12 {command}");
    let mut session = Session::start(&config);
    let file = session.sway.folder().join("pressed");
    let count = || std::fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    session.press();
    wait_for("the person's command", || (count() == 1).then_some(()));
    let mut hotkey = session.desktop.hotkey("F12").unwrap();
    session.is_reported(&mut *hotkey);
    drop(hotkey);
    session.press();
    wait_for("the person's command", || (count() == 2).then_some(()));
    // Both are there.
    session.sway.command("unbindsym F12");
    session.sway.command("unbindsym --locked F12");
}

#[test]
fn the_key_is_bound_in_each_mode_that_becomes_active() {
    let mut session = Session::start("mode \"other one\" {\nbindsym x nop\n}");
    let mut hotkey = session.desktop.hotkey("F12").unwrap();
    session.sway.command("mode \"other one\"");
    session.is_reported(&mut *hotkey);
    drop(hotkey);
    assert!(session.sway.refused(UNBIND).contains(UNBOUND));
    // The mode is still the person's.
    session.sway.command("unbindsym x");
    session.sway.command("mode default");
    assert!(session.sway.refused(UNBIND).contains(UNBOUND));
    session.goes_to_the_window();
}

#[test]
fn the_key_is_bound_again_after_sway_has_read_its_config_again() {
    let mut session = Session::start("");
    let mut hotkey = session.desktop.hotkey("F12").unwrap();
    session.sway.command("reload");
    session.is_reported(&mut *hotkey);
    drop(hotkey);
    assert!(session.sway.refused(UNBIND).contains(UNBOUND));
}

/// As after a reload of a pipeline, which creates a stage before it ends the one that it replaces.
#[test]
fn one_that_ends_leaves_the_key_to_another_one() {
    let mut session = Session::start("");
    let [first, mut second] = [(); 2].map(|()| session.desktop.hotkey("F12").unwrap());
    session.is_reported(&mut *second);
    drop(first);
    session.is_reported(&mut *second);
    drop(second);
    assert!(session.sway.refused(UNBIND).contains(UNBOUND));
}

#[test]
fn all_keys_can_be_watched() {
    let sway = Sway::start([640, 480], "1");
    let socket = sway.wayland_socket();
    let desktop = Desktop::connect_wlroots(&socket, Some(sway.own_socket())).unwrap();
    for name in ["Escape", "Page_Up", "a", "7", "space", "Control_L", "F24"] {
        let hotkey = desktop.hotkey(name).map(drop);
        assert!(hotkey.is_ok(), "{name}: {hotkey:?}");
    }
    // A compositor whose own interface is not known.
    let desktop = Desktop::connect_wlroots(&socket, None).unwrap();
    let error = desktop.hotkey("F12").err().unwrap().to_string();
    assert!(error.contains("the hotkey is not available"), "{error}");
    let variable = desktop.missing_variable().unwrap();
    let export = format!("`export SWAYSOCK={}`", sway.own_socket().display());
    assert!(variable.ends_with(&export), "{variable}");
}
