//! Clicks in a window under Wayland, and what the window notes of them.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]
#![allow(dead_code, reason = "each test file uses some of it")]

#[path = "wait.rs"]
mod wait;

use std::time::Duration;

use flowpipe_desktop::input::{Input, InputDevice};

pub use wait::wait_for;

use crate::wayland_window::{LEFT, PointerEvent, WaylandWindow};

/// Gives a session that has no keyboard one, as long as a device stays: presses a key until a window gets it. Some
/// compositors report the first keyboard only when a key is pressed on it, and programs ask for its keys then.
pub fn have_a_keyboard(input: &mut dyn InputDevice, window: &WaylandWindow, code: u8) {
    input.prepare_keys().unwrap();
    wait_for("a keyboard", || {
        input.press(Input::Key(code)).unwrap();
        input.release(Input::Key(code)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        window.took_a_key().then_some(())
    });
    // What was pressed last may be on its way.
    std::thread::sleep(Duration::from_millis(200));
    window.take();
}

/// Presses and releases a key, by its code. Returns what the window got of keys.
pub fn press_key(
    input: &mut dyn InputDevice,
    window: &WaylandWindow,
    code: u8,
) -> Vec<PointerEvent> {
    input.prepare_keys().unwrap();
    window.take();
    input.press(Input::Key(code)).unwrap();
    input.release(Input::Key(code)).unwrap();
    wait_for("a key", || {
        let mut keys = window.events();
        keys.retain(|it| {
            matches!(
                it,
                PointerEvent::KeyPressed(_) | PointerEvent::KeyReleased(_)
            )
        });
        let is_released = matches!(keys.last(), Some(PointerEvent::KeyReleased(_)));
        is_released.then_some(keys)
    })
}

/// What the window got, once the button is up.
pub fn until_released(window: &WaylandWindow) -> Vec<PointerEvent> {
    wait_for("a click", || {
        let events = window.events();
        let is_over = events.contains(&PointerEvent::Released(LEFT));
        is_over.then_some(events)
    })
}

/// Clicks at a place of the screen. Returns the pixel of the window that got the click.
pub fn click(input: &mut dyn InputDevice, window: &WaylandWindow, at: [i32; 2]) -> [i32; 2] {
    let before = window.take();
    input.put(at).unwrap();
    input.press(Input::Button(1)).unwrap();
    input.release(Input::Button(1)).unwrap();
    let events = until_released(window);
    let ends = [PointerEvent::Pressed(LEFT), PointerEvent::Released(LEFT)];
    assert!(events.ends_with(&ends), "{events:?}");
    // Some compositors do not report the same place again.
    let mut until = before.iter().chain(&events).rev();
    let place = until.find_map(|event| match event {
        PointerEvent::At(x, y) => Some([*x, *y]),
        _ => None,
    });
    let place = place.unwrap_or_else(|| panic!("{events:?}"));
    place.map(|value| value.floor() as i32)
}
