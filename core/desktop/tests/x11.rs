//! The desktop on a real X server with real windows, with and without a window manager.
#![cfg(all(unix, not(target_os = "macos")))]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/screen.rs"]
mod screen;

use flowpipe_desktop::{Capabilities, Capture, Desktop, DesktopError, Grabber, Rect, WindowId};
use screen::{Screen, wait_for};
use x11rb::protocol::randr::{ConnectionExt as _, MonitorInfo};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

const RED: [u8; 3] = [200, 10, 20];
const GREEN: [u8; 3] = [30, 180, 40];
const BLUE: [u8; 3] = [50, 60, 220];
const F12: u32 = 0xffc9;

fn connect(screen: &Screen) -> Desktop {
    Desktop::connect_x11(screen.display()).unwrap()
}

fn id(window: u32) -> WindowId {
    WindowId(u64::from(window))
}

fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
    Rect {
        x,
        y,
        width,
        height,
    }
}

/// Each on a screen of its own.
fn with_and_without_manager(test: impl Fn(&Screen)) {
    test(&Screen::start());
    test(&Screen::start_with_manager());
}

/// A picture as place and pixels (red, green, blue), once the window is still.
fn look(grabber: &mut Grabber, window: WindowId) -> (Rect, Vec<[u8; 3]>) {
    wait_for("picture", || match grabber.grab_window(window).unwrap() {
        Capture::Shown(picture) => Some((picture.place, colours(picture.pixels))),
        Capture::Moving => None,
        Capture::Hidden => panic!("the window is there"),
    })
}

fn colours(pixels: &[u8]) -> Vec<[u8; 3]> {
    let pixels = pixels.chunks_exact(4);
    pixels.map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect()
}

#[test]
fn finds_windows_by_title_the_front_one_first() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        assert_eq!(desktop.find("Flow Free").unwrap(), None);
        let similar = screen.open("My flow free", [10, 40], [90, 80], RED);
        assert_eq!(desktop.find("Flow Free").unwrap(), Some(id(similar)));
        let back = screen.open("Flow Free", [200, 40], [90, 80], RED);
        let front = screen.open("Flow Free", [400, 40], [90, 80], RED);
        // A manager may take a moment to report it.
        let found = || desktop.find("Flow Free").unwrap();
        wait_for("front window", || {
            (found() == Some(id(front))).then_some(())
        });
        desktop.raise(id(back)).unwrap();
        wait_for("other window", || (found() == Some(id(back))).then_some(()));
        assert_eq!(
            desktop.titles().unwrap(),
            ["Flow Free", "Flow Free", "My flow free"]
        );
        // Neither those that are closed nor those that are minimised.
        screen.close(back);
        wait_for("close", || (found() == Some(id(front))).then_some(()));
        screen.minimise("Flow Free");
        wait_for("minimise", || (found() == Some(id(similar))).then_some(()));
        assert_eq!(desktop.place(id(front)).unwrap(), None);
    });
}

/// The title of a terminal may be the command that was typed in it.
#[test]
fn windows_of_this_program_and_of_those_that_started_it_are_skipped() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        let terminal = screen.open("flowpipe run live --window Flow", [10, 40], [90, 80], RED);
        let find = || desktop.find("Flow").unwrap();
        assert_eq!(find(), Some(id(terminal)), "it declares no process");
        // A process that did not start this one.
        screen.set_process(terminal, screen.server(), None);
        assert_eq!(find(), Some(id(terminal)));
        for process in [std::process::id(), std::os::unix::process::parent_id()] {
            screen.set_process(terminal, process, None);
            assert_eq!(find(), None);
        }
        assert!(desktop.titles().unwrap().is_empty());
        let missing = desktop.missing("Flow").unwrap();
        assert!(
            missing.contains("(skipped: \"flowpipe run live"),
            "{missing}"
        );
        let game = screen.open("Flow Free", [200, 40], [90, 80], RED);
        assert_eq!(find(), Some(id(game)));
        assert_eq!(desktop.title(id(game)).unwrap().unwrap(), "Flow Free");
        // The same number on another machine is another process.
        screen.close(game);
        screen.set_process(terminal, std::process::id(), Some("elsewhere.invalid"));
        wait_for("window of another machine", || {
            (find() == Some(id(terminal))).then_some(())
        });
    });
}

#[test]
fn knows_where_a_window_is() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        let window = screen.open("place", [100, 140], [90, 80], RED);
        let place = || desktop.place(id(window)).unwrap();
        // The inside is where the colour begins.
        let is_painted = |place: Rect| {
            let inside = [place.x as i16, place.y as i16];
            let outside = [place.x as i16 - 1, place.y as i16 - 1];
            screen.pixel(inside) == RED && screen.pixel(outside) != RED
        };
        wait_for("place", || place().filter(|place| is_painted(*place)));
        screen.resize_window("place", [120, 60]);
        wait_for("size", || {
            place().filter(|place| (place.width, place.height) == (120, 60))
        });
        let before = place().unwrap();
        screen.move_window("place", [300, 350]);
        let after = wait_for("move", || place().filter(|place| place.x != before.x));
        assert!(after.x.abs_diff(300) < 20 && after.y.abs_diff(350) < 40);
        wait_for("paint", || is_painted(after).then_some(()));
        screen.close(window);
        wait_for("close", || place().is_none().then_some(()));
        // Numbers that no window has.
        assert_eq!(desktop.place(WindowId(u64::MAX)).unwrap(), None);
        assert_eq!(desktop.place(WindowId(0x3fff_fff0)).unwrap(), None);
    });
}

#[test]
fn a_covered_part_is_not_in_front() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        let below = screen.open("below", [100, 100], [300, 200], RED);
        let place = desktop.place(id(below)).unwrap().unwrap();
        let left = Rect {
            width: 100,
            ..place
        };
        let is_in_front = |rect| desktop.is_in_front(id(below), rect).unwrap();
        wait_for("front", || is_in_front(place).then_some(()));
        let above = screen.open("above", [300, 100], [300, 200], BLUE);
        wait_for("cover", || (!is_in_front(place)).then_some(()));
        // Where the other one does not lie over it, it is.
        assert!(is_in_front(left));
        assert!(
            desktop
                .is_in_front(id(above), desktop.place(id(above)).unwrap().unwrap())
                .unwrap()
        );
        desktop.raise(id(below)).unwrap();
        wait_for("raise", || is_in_front(place).then_some(()));
        screen.minimise("below");
        wait_for("minimise", || (!is_in_front(left)).then_some(()));
        // What is gone is nowhere, and can't be raised, which is no error.
        screen.close(above);
        assert!(!desktop.is_in_front(id(above), left).unwrap());
        desktop.raise(id(above)).unwrap();
        desktop.raise(WindowId(u64::MAX)).unwrap();
    });
}

#[test]
fn windows_of_other_programs_cover_and_own_ones_do_not() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        let below = screen.open("below", [100, 100], [300, 200], RED);
        let place = desktop.place(id(below)).unwrap().unwrap();
        let others = |rect| desktop.others_over(id(below), rect).unwrap();
        wait_for("front", || others(place).is_empty().then_some(()));
        let above = screen.open("above", [300, 100], [300, 200], BLUE);
        let parts = wait_for("cover", || {
            let parts = others(place);
            (!parts.is_empty()).then_some(parts)
        });
        assert!(
            parts
                .iter()
                .all(|part| part.intersection(place) == Some(*part))
        );
        let left = Rect {
            width: 100,
            ..place
        };
        assert_eq!(others(left), []);
        // A message of the program itself is its own window.
        screen.set_process(below, screen.server(), None);
        screen.set_process(above, screen.server(), None);
        wait_for("process", || others(place).is_empty().then_some(()));
        screen.set_process(above, std::process::id(), None);
        wait_for("process", || (!others(place).is_empty()).then_some(()));
        // What is gone is covered by nothing.
        screen.close(below);
        assert_eq!(others(place), []);
        assert_eq!(desktop.others_over(WindowId(u64::MAX), place).unwrap(), []);
    });
}

#[test]
fn pictures_are_of_the_window_wherever_it_goes() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        for mut grabber in [desktop.grabber().unwrap(), desktop.plain_grabber().unwrap()] {
            let window = screen.open("seen", [150, 100], [90, 80], RED);
            screen.paint(window, [10, 20], [30, 40], GREEN);
            let (place, pixels) = wait_for("green", || {
                let seen = look(&mut grabber, id(window));
                seen.1.contains(&GREEN).then_some(seen)
            });
            assert_eq!(desktop.place(id(window)).unwrap(), Some(place));
            assert_eq!((place.width, place.height), (90, 80));
            for (at, colour) in (0..).zip(&pixels) {
                let is_green = rect(10, 20, 30, 40).contains([at % 90, at / 90]);
                assert_eq!(*colour, if is_green { GREEN } else { RED });
            }
            screen.move_window("seen", [500, 600]);
            let moved = wait_for("move", || {
                let (moved, _) = look(&mut grabber, id(window));
                (moved != place).then_some(moved)
            });
            assert_eq!(desktop.place(id(window)).unwrap(), Some(moved));
            // Hanging over the screen's lower right corner (which is at 1280, 1200).
            screen.move_window("seen", [1240, 1150]);
            let (part, pixels) = wait_for("corner", || {
                let seen = look(&mut grabber, id(window));
                (seen.0.width < 90 && seen.0.height < 80).then_some(seen)
            });
            assert_eq!(
                (part.x as u32 + part.width, part.y as u32 + part.height),
                (1280, 1200)
            );
            assert_eq!(pixels.len() as u32, part.width * part.height);
            screen.close(window);
            wait_for("close", || {
                matches!(grabber.grab_window(id(window)).unwrap(), Capture::Hidden).then_some(())
            });
        }
    });
}

#[test]
fn pictures_are_clipped_to_the_screen() {
    let screen = Screen::start();
    let desktop = connect(&screen);
    screen.open("corner", [0, 0], [50, 50], BLUE);
    for mut grabber in [desktop.grabber().unwrap(), desktop.plain_grabber().unwrap()] {
        let picture = grabber.grab(rect(-20, 30, 60, 30)).unwrap().unwrap();
        assert_eq!(picture.place, rect(0, 30, 40, 30));
        assert_eq!(
            (picture.width, picture.height, picture.scale),
            (40, 30, 1.0)
        );
        let pixels = colours(picture.pixels);
        assert!(pixels[..40 * 20].iter().all(|&colour| colour == BLUE));
        assert!(pixels[40 * 20..].iter().all(|&colour| colour != BLUE));
        assert!(grabber.grab(rect(1280, 0, 10, 10)).unwrap().is_none());
        assert!(grabber.grab(rect(5, 5, 0, 10)).unwrap().is_none());
        let all = grabber.grab(rect(i32::MIN, i32::MIN, u32::MAX, u32::MAX));
        assert_eq!(all.unwrap().unwrap().place, rect(0, 0, 1280, 1200));
    }
    let screen = desktop.screen().unwrap();
    assert_eq!([screen.width, screen.height], [1280, 1200]);
    let monitors = desktop.monitors().unwrap();
    assert_eq!(monitors.len(), 1);
    assert_eq!(monitors[0].place, rect(0, 0, 1280, 1200));
}

#[test]
fn pointer_and_keys() {
    let screen = Screen::start();
    let desktop = connect(&screen);
    screen.move_to([321, 123]);
    assert_eq!(desktop.pointer().unwrap(), [321, 123]);
    let [mut hotkey, mut other] = ["F12", "Escape"].map(|name| desktop.hotkey(name).unwrap());
    assert!(!hotkey.is_pressed().unwrap());
    screen.hold_key(F12);
    assert!(hotkey.is_pressed().unwrap());
    assert!(!other.is_pressed().unwrap());
    screen.release_key(F12);
    assert!(!hotkey.is_pressed().unwrap());
    let unknown = desktop.hotkey("F99").err();
    assert!(matches!(unknown, Some(DesktopError::UnknownKey { .. })));
    assert_eq!(desktop.key_code("F12").unwrap(), screen.key_code(F12));
    let unknown = desktop.key_code("F99").unwrap_err();
    assert!(matches!(unknown, DesktopError::UnknownKey { .. }));
    #[cfg(feature = "input")]
    {
        let mut input = desktop.input().unwrap();
        let pressed = input.press(flowpipe_desktop::input::Input::Button(7));
        let unknown = pressed.unwrap_err();
        assert!(matches!(unknown, DesktopError::UnknownButton { number: 7 }));
    }
}

#[cfg(feature = "input")]
#[test]
fn buttons_that_are_down_are_reported_whoever_has_pressed_them() {
    use flowpipe_desktop::input::Input;

    let screen = Screen::start();
    let mut input = connect(&screen).input().unwrap();
    screen.move_to([300, 200]);
    assert_eq!(input.place().unwrap(), Some([300, 200]));
    assert!(input.held_buttons().is_empty());
    screen.hold_button(3);
    input.press(Input::Button(1)).unwrap();
    input.place().unwrap();
    assert_eq!(input.held_buttons(), [1, 3]);
    input.release(Input::Button(1)).unwrap();
    assert_eq!(input.held_buttons(), [1, 3], "it was not asked again");
    input.place().unwrap();
    assert_eq!(input.held_buttons(), [3]);
}

#[test]
fn keys_go_to_the_window_that_has_the_keyboard_or_is_around_the_one_that_has_it() {
    with_and_without_manager(|screen| {
        let desktop = connect(screen);
        let [left, right] = [100, 500].map(|x| {
            let window = screen.open(&format!("at {x}"), [x, 100], [300, 200], RED);
            (window, screen.open_in(window))
        });
        let have = || [left, right].map(|(it, _)| desktop.has_keyboard(id(it)).unwrap());
        for (one, has) in [(left, [true, false]), (right, [false, true])] {
            for focused in [one.0, one.1] {
                wait_for("keyboard", || {
                    // A manager may give it to a new window just then.
                    screen.focus(focused);
                    (have() == has).then_some(())
                });
            }
        }
        assert!(!desktop.has_keyboard(WindowId(u64::MAX)).unwrap());
        assert!(!desktop.has_keyboard(WindowId(0x3fff_fff0)).unwrap());
        screen.close(left.0);
        wait_for("close", || (!have()[0]).then_some(()));
    });
}

#[test]
fn a_keyboard_of_no_window_belongs_to_the_one_under_the_pointer() {
    let screen = Screen::start();
    let desktop = connect(&screen);
    let below = screen.open("below", [100, 100], [300, 200], RED);
    screen.open_in(below);
    let above = screen.open("above", [300, 100], [300, 200], BLUE);
    let have = || [below, above].map(|it| desktop.has_keyboard(id(it)).unwrap());
    for focused in [0, 1, screen.root()] {
        screen.focus(focused);
        for (pointer, has) in [
            ([150, 150], [true, false]),
            ([350, 150], [false, true]),
            ([900, 150], [false, false]),
        ] {
            screen.move_to(pointer);
            assert_eq!(
                have(),
                has,
                "the keyboard is with {focused}, the pointer at {pointer:?}"
            );
        }
    }
}

#[test]
fn a_missing_server_is_reported() {
    let screen = Screen::start();
    let display = screen.display().to_owned();
    let desktop = connect(&screen);
    let mut grabber = desktop.grabber().unwrap();
    drop(screen);
    assert!(matches!(desktop.titles(), Err(DesktopError::Lost(_))));
    assert!(grabber.grab(rect(0, 0, 9, 9)).is_err());
    let error = Desktop::connect_x11(&display).err().unwrap().to_string();
    assert!(
        error.starts_with("can't reach a desktop: no X server answers at the display \":"),
        "{error}"
    );
    let error = Desktop::connect_x11("no display")
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("\"no display\""), "{error}");
}

/// A server is known as that of a Wayland session by the name of a monitor. Here, it is one that was only called so.
#[test]
fn an_x_server_of_a_wayland_session_reports_less() {
    let screen = Screen::start();
    assert_eq!(connect(&screen).capabilities(), Capabilities::X11);
    let (connection, _) = RustConnection::connect(Some(screen.display())).unwrap();
    let name = connection.intern_atom(false, b"XWAYLAND0").unwrap();
    let monitor = MonitorInfo {
        name: name.reply().unwrap().atom,
        primary: false,
        automatic: false,
        x: 0,
        y: 0,
        width: 800,
        height: 600,
        width_in_millimeters: 200,
        height_in_millimeters: 150,
        outputs: Vec::new(),
    };
    let set = connection
        .randr_set_monitor(screen.root(), monitor)
        .unwrap();
    set.check().unwrap();
    let desktop = connect(&screen);
    assert_eq!(desktop.capabilities(), Capabilities::XWAYLAND);
    let name = format!("xwayland {}", screen.display());
    assert_eq!(desktop.session_name(), name);
}
