//! The desktop on a real compositor, sway, with real windows.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/made_up_compositor.rs"]
mod made_up_compositor;
#[path = "../../../tests/support/sway.rs"]
mod sway;
#[path = "../../../tests/support/wayland_click.rs"]
mod wayland_click;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use flowpipe_desktop::input::{Input, PlaceReports};
use flowpipe_desktop::{Capture, Desktop, DesktopError, Grabber, PressObstacle, Rect, WindowId};
use made_up_compositor::{Endless, Flaws, MadeUpCompositor};
use sway::Sway;
use wayland_click::{click, press_key, until_released, wait_for};
use wayland_window::{LEFT, PointerEvent, WaylandWindow};

const RED: [u8; 3] = [200, 10, 20];
const GREEN: [u8; 3] = [30, 180, 40];
const CORNER: Rect = Rect {
    x: 0,
    y: 0,
    width: 100,
    height: 100,
};

fn connect(sway: &Sway) -> Desktop {
    Desktop::connect_wlroots(&sway.wayland_socket(), Some(sway.own_socket())).unwrap()
}

fn open(sway: &Sway, title: &str, size: [u32; 2], colour: [u8; 3]) -> WaylandWindow {
    WaylandWindow::open(&sway.wayland_socket(), title, size, colour)
}

fn find(desktop: &Desktop, title: &str) -> WindowId {
    wait_for(title, || desktop.find(title).unwrap())
}

/// A picture's place, scale and pixels (red, green, blue).
fn look(grabber: &mut Grabber, window: WindowId) -> (Rect, f64, [u32; 2], Vec<[u8; 3]>) {
    wait_for("picture", || match grabber.grab_window(window).unwrap() {
        Capture::Shown(picture) => {
            let pixels = picture.pixels.chunks_exact(4);
            let pixels = pixels.map(|it| [it[2], it[1], it[0]]).collect();
            let size = [picture.width, picture.height];
            Some((picture.place, picture.scale, size, pixels))
        }
        Capture::Moving => None,
        Capture::Hidden => panic!("the window is there"),
    })
}

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

#[test]
fn windows_are_found_and_captured_at_each_scale() {
    for (scale, factor) in [("1", 1.0), ("1.25", 1.25), ("2", 2.0)] {
        let sway = Sway::start([1280, 1000], scale);
        let desktop = connect(&sway);
        let _red = open(&sway, "red window", [200, 100], RED);
        let window = find(&desktop, "Red");
        let place = desktop.place(window).unwrap().unwrap();
        assert_eq!([place.width, place.height], [200, 100], "scale {scale}");
        let (shown, found, size, pixels) = look(&mut desktop.grabber().unwrap(), window);
        assert_eq!(shown, place);
        assert!((found - factor).abs() < 0.02, "scale {scale}: {found}");
        assert_eq!(pixels.len() as u32, size[0] * size[1]);
        let red = pixels.iter().filter(|&&pixel| pixel == RED).count();
        // At a broken scale the outermost row of pixels is mixed with the frame.
        let border = 2 * (size[0] + size[1]) as usize;
        assert!(red + border >= pixels.len(), "{red} of {}", pixels.len());
        let monitors = desktop.monitors().unwrap();
        let whole = monitors[0].place;
        assert_eq!(f64::from(whole.width) * factor, 1280.0);
        assert_eq!(desktop.screen().unwrap(), whole);
        assert!(desktop.missing("blue").unwrap().contains("\"red window\""));
    }
}

#[test]
fn what_lies_over_a_window_is_known() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let _red = open(&sway, "red", [300, 300], RED);
    let red = find(&desktop, "red");
    let place = desktop.place(red).unwrap().unwrap();
    assert!(desktop.is_in_front(red, place).unwrap());
    assert!(desktop.has_keyboard(red).unwrap());
    let obstacle = || desktop.press_obstacle(red, place, None).unwrap();
    assert_eq!(obstacle(), None);
    let _green = open(&sway, "green", [100, 100], GREEN);
    let green = find(&desktop, "green");
    assert_eq!(desktop.titles().unwrap(), ["green", "red"]);
    assert!(!desktop.is_in_front(red, place).unwrap());
    assert!(!desktop.has_keyboard(red).unwrap());
    assert_eq!(obstacle(), Some(PressObstacle::Covered));
    assert_eq!(desktop.others_over(red, place).unwrap().len(), 1);
    desktop.raise(red).unwrap();
    wait_for("the red one in front", || {
        desktop.is_in_front(red, place).unwrap().then_some(())
    });
    sway.command("[title=\"green\"] move absolute position 600 600");
    desktop.raise(green).unwrap();
    wait_for("the green one aside", || {
        desktop.is_in_front(red, place).unwrap().then_some(())
    });
    assert_eq!(obstacle(), Some(PressObstacle::NoKeyboard));
    sway.command("[title=\"red\"] move to scratchpad");
    wait_for("a hidden window", || {
        desktop.place(red).unwrap().is_none().then_some(())
    });
    let mut grabber = desktop.grabber().unwrap();
    assert!(matches!(grabber.grab_window(red).unwrap(), Capture::Hidden));
    assert!(!desktop.is_in_front(red, place).unwrap());
}

/// Sway draws it above, and gives it the presses. It hides the windows of other programs meanwhile.
#[test]
fn a_dialog_covers_its_window_that_fills_the_screen() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let _green = open(&sway, "green", [500, 500], GREEN);
    find(&desktop, "green");
    let socket = sway.wayland_socket();
    let red = WaylandWindow::open_with_dialog(&socket, "red", [300, 200], RED, "dialog");
    let window = find(&desktop, "red");
    find(&desktop, "dialog");
    sway.command("[title=\"red\"] fullscreen enable");
    wait_for("the whole screen", || {
        let place = desktop.place(window).unwrap()?;
        let is_hidden = desktop.find("green").unwrap().is_none();
        (is_hidden && [place.width, place.height] == [1280, 1000]).then_some(())
    });
    let dialog = find(&desktop, "dialog");
    let place = desktop.place(dialog).unwrap().unwrap();
    assert!(!desktop.is_in_front(window, place).unwrap());
    assert!(desktop.is_in_front(dialog, place).unwrap());
    // There is the hidden window alone.
    let beside = Rect {
        x: 400,
        y: 400,
        ..CORNER
    };
    assert!(desktop.is_in_front(window, beside).unwrap());
    let mut input = desktop.input().unwrap();
    // Without another pointer on this screen, the window learns only now that there is one.
    input.put([place.x + 100, place.y + 50]).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    let clicked = click(&mut *input, &red, [place.x + 20, place.y + 30]);
    assert_eq!(clicked, [20, 30]);
}

#[test]
fn a_window_that_is_hidden_is_reported_with_where_it_is() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let _red = open(&sway, "red", [200, 100], RED);
    find(&desktop, "red");
    sway.command("workspace 2");
    let words = "the window \"red\" is not shown: it is on workspace \"1\", which no monitor shows: show it";
    wait_for("the other workspace", || {
        (desktop.find("red").unwrap().is_none() && desktop.missing("re").unwrap() == words)
            .then_some(())
    });
    let other = desktop.missing("green").unwrap();
    assert!(other.starts_with("no window is titled"), "{other}");
    sway.command("workspace 1");
    find(&desktop, "red");
    sway.command("[title=\"red\"] move to scratchpad");
    wait_for("the scratchpad", || {
        let missing = desktop.missing("red").unwrap();
        missing.contains("it is in sway's scratchpad").then_some(())
    });
}

#[test]
fn another_button_is_not_pressed_as_the_left_one() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let red = open(&sway, "red", [200, 100], RED);
    let window = find(&desktop, "red");
    let place = desktop.place(window).unwrap().unwrap();
    let mut input = desktop.input().unwrap();
    input.put([place.x + 100, place.y + 50]).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    click(&mut *input, &red, [place.x + 20, place.y + 20]);
    red.take();
    for number in [0, 4, 255] {
        let error = input.press(Input::Button(number)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "there is no mouse button {number}: 1 is the left one, 2 the middle one and 3 the right one"
            )
        );
    }
    let is_press = |event: &PointerEvent| matches!(event, PointerEvent::Pressed(_));
    assert!(!red.events().iter().any(is_press));
    click(&mut *input, &red, [place.x + 30, place.y + 20]);
}

#[test]
fn the_pointer_is_put_to_the_pixel_and_presses_there() {
    for scale in ["1", "1.25", "2"] {
        let sway = Sway::start([1280, 1000], scale);
        let desktop = connect(&sway);
        let red = open(&sway, "red", [200, 100], RED);
        let place = desktop.place(find(&desktop, "red")).unwrap().unwrap();
        let size = desktop.screen().unwrap();
        let mut input = desktop.input().unwrap();
        assert_eq!(input.place().unwrap(), None);
        let reports = input.place_reports().unwrap();
        assert!(matches!(reports, PlaceReports::Never(_)));
        // Without another pointer on this screen, the window learns only now that there is one.
        input.put([place.x + 100, place.y + 50]).unwrap();
        wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
        for at in [[0, 0], [199, 99], [57, 83]] {
            let place = [place.x + at[0], place.y + at[1]];
            assert_eq!(click(&mut *input, &red, place), at, "scale {scale}");
        }
        // With a smaller monitor, the same place has other coordinates in the protocol.
        sway.command("output HEADLESS-1 resolution 1000x800");
        let place = wait_for("the smaller monitor", || {
            let is_smaller = desktop.screen().unwrap() != size;
            is_smaller.then(|| desktop.place(find(&desktop, "red")).unwrap().unwrap())
        });
        let clicked = click(&mut *input, &red, [place.x + 20, place.y + 30]);
        assert_eq!(clicked, [20, 30]);
        assert!(input.put([-1, 5]).is_err());
        drop(input);
    }
}

/// A seat has one pointer for all mice.
#[test]
fn a_press_is_where_the_pointer_was_put_whoever_moved_it_since() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let red = open(&sway, "red", [200, 100], RED);
    let place = desktop.place(find(&desktop, "red")).unwrap().unwrap();
    let at = |[x, y]: [i32; 2]| [place.x + x, place.y + y];
    let [mut input, mut hand] = [desktop.input().unwrap(), desktop.input().unwrap()];
    // Without another pointer on this screen, the window learns only now that there is one.
    input.put(at([100, 50])).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    input.put(at([57, 83])).unwrap();
    wait_for("the move", || {
        let moved = PointerEvent::At(57.5, 83.5);
        red.events().contains(&moved).then_some(())
    });
    hand.put(at([10, 20])).unwrap();
    wait_for("the hand", || {
        let moved = PointerEvent::At(10.5, 20.5);
        red.events().contains(&moved).then_some(())
    });
    red.take();
    input.press(Input::Button(1)).unwrap();
    input.release(Input::Button(1)).unwrap();
    let events = until_released(&red);
    let click = [
        PointerEvent::At(57.5, 83.5),
        PointerEvent::Pressed(LEFT),
        PointerEvent::Released(LEFT),
    ];
    assert_eq!(events, click);
}

/// The same numbers are another place then.
#[test]
fn a_monitor_that_comes_while_a_button_is_down_ends_the_stroke() {
    let sway = Sway::start([1280, 1000], "1");
    sway.command("output HEADLESS-2 position -1920 0");
    let desktop = connect(&sway);
    let mut input = desktop.input().unwrap();
    input.put([40, 40]).unwrap();
    input.press(Input::Button(1)).unwrap();
    sway.command("create_output");
    wait_for("the monitor", || {
        (desktop.monitors().unwrap().len() == 2).then_some(())
    });
    let error = input.put([50, 40]).unwrap_err().to_string();
    assert!(error.contains("the monitors have changed"), "{error}");
    input.release(Input::Button(1)).unwrap();
    input.put([-100, 40]).unwrap();
}

/// The same numbers are another place then, and the compositor has put the pointer elsewhere.
#[test]
fn nothing_is_pressed_after_a_monitor_has_come() {
    let sway = Sway::start([1280, 1000], "1");
    sway.command("output HEADLESS-2 position -1920 0");
    let desktop = connect(&sway);
    let red = open(&sway, "red", [200, 100], RED);
    let mut input = desktop.input().unwrap();
    let place = desktop.place(find(&desktop, "red")).unwrap().unwrap();
    let at = [place.x + 20, place.y + 30];
    // Without another pointer on this screen, the window learns only now that there is one.
    input.put(at).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    sway.command("create_output");
    wait_for("the monitor", || {
        (desktop.monitors().unwrap().len() == 2).then_some(())
    });
    let error = input.press(Input::Button(1)).unwrap_err();
    assert!(matches!(error, DesktopError::MonitorsChanged), "{error}");
    assert!(error.is_refused_press());
    // The next press may be planned on them as they are now.
    assert_eq!(click(&mut *input, &red, at), [20, 30]);
    let is_press = |event: &&PointerEvent| matches!(event, PointerEvent::Pressed(_));
    assert_eq!(red.events().iter().filter(is_press).count(), 1);
}

#[test]
fn moves_wait_while_the_compositor_stands_still() {
    let sway = Sway::start([1280, 1000], "1");
    let mut input = connect(&sway).input().unwrap();
    input.put([40, 40]).unwrap();
    sway.stand_still(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(1));
            sway.stand_still(false);
        });
        // More than the socket has room for.
        for x in 0..4000 {
            input.put([x % 1280, 40]).unwrap();
        }
    });
    input.press(Input::Button(1)).unwrap();
    input.release(Input::Button(1)).unwrap();
}

#[test]
fn a_compositor_that_stands_still_is_reported() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let mut input = desktop.input().unwrap();
    let mut grabber = desktop.grabber().unwrap();
    input.put([40, 40]).unwrap();
    input.press(Input::Button(1)).unwrap();
    sway.stand_still(true);
    let answers = [
        desktop.input().err(),
        grabber.grab(CORNER).err(),
        input.release(Input::Button(1)).err(),
    ];
    sway.stand_still(false);
    for answer in answers {
        let error = answer.expect("nothing answered").to_string();
        assert!(error.contains("has not answered for 2s"), "{error}");
    }
}

/// Whether a picture of the corner comes.
fn is_seen(grabber: &mut Grabber) -> Result<bool, String> {
    let grabbed = grabber.grab(CORNER);
    let picture = grabbed.map_err(|error| error.to_string())?;
    Ok(picture.is_some_and(|it| it.place == CORNER))
}

#[test]
fn a_monitor_that_gives_no_picture_for_a_moment_does_not_end_the_capture() {
    let compositor = MadeUpCompositor::start(Flaws {
        failed_copies: 5,
        ..Flaws::default()
    });
    let desktop = Desktop::connect_wlroots(&compositor.socket(), None).unwrap();
    assert_eq!(is_seen(&mut desktop.grabber().unwrap()), Ok(true));
    let compositor = MadeUpCompositor::start(Flaws {
        failed_copies: u32::MAX,
        ..Flaws::default()
    });
    let desktop = Desktop::connect_wlroots(&compositor.socket(), None).unwrap();
    let error = is_seen(&mut desktop.grabber().unwrap()).unwrap_err();
    let words = "no picture of MADE-UP for 2s: switch the monitor on";
    assert!(error.contains(words), "{error}");
}

/// As of a sway that has no time for it.
#[test]
fn a_socket_of_sway_s_own_that_does_not_answer_is_not_advised_again() {
    let compositor = MadeUpCompositor::start(Flaws::default());
    let own = compositor.socket().with_file_name("sway-ipc.0.0.sock");
    // Of the same process as the compositor. Nobody reads what comes.
    let _listener = UnixListener::bind(&own).unwrap();
    let connect = |sway| Desktop::connect_wlroots(&compositor.socket(), sway).unwrap();
    let advice = connect(None).missing_variable().unwrap();
    assert!(advice.contains("`export SWAYSOCK="), "{advice}");
    let advice = connect(Some(own.as_path())).missing_variable().unwrap();
    let failure = format!("SWAYSOCK={}: ", own.display());
    for words in [failure.as_str(), "it has not answered for 2s"] {
        assert!(advice.contains(words), "{advice}");
    }
    assert!(!advice.contains("export"), "{advice}");
}

#[test]
fn endless_globals_are_refused() {
    for endless in [Endless::Globals, Endless::RemovedGlobals] {
        let compositor = MadeUpCompositor::start(Flaws {
            endless: Some(endless),
            ..Flaws::default()
        });
        let connected = Desktop::connect_wlroots(&compositor.socket(), None);
        let error = connected.err().unwrap().to_string();
        assert!(error.contains("announces more than"), "{error}");
    }
}

#[test]
fn endless_events_are_refused() {
    for endless in [Endless::Events, Endless::Deletions] {
        let compositor = MadeUpCompositor::start(Flaws {
            endless: Some(endless),
            ..Flaws::default()
        });
        let desktop = Desktop::connect_wlroots(&compositor.socket(), None).unwrap();
        let error = is_seen(&mut desktop.grabber().unwrap()).unwrap_err();
        // It depends on which of both processes is faster.
        let limits = ["sends more than 8192 events at a time", "for 2s"];
        let is_limit = limits.iter().any(|it| error.contains(it));
        assert!(is_limit, "{endless:?}: {error}");
        // Another connection is as it was.
        assert!(desktop.monitors().is_ok(), "{endless:?}");
    }
}

/// Ends a thread of a test.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn changes_of_a_monitor_do_not_end_the_capture() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let mut grabber = desktop.grabber().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let grabs = scope.spawn(|| {
            let mut pictures = 0;
            while !is_over.load(Ordering::Relaxed) {
                // While there is no monitor, there is nothing to see.
                pictures += usize::from(is_seen(&mut grabber)?);
            }
            Ok::<_, String>(pictures)
        });
        // Also when a command fails: the scope waits for the thread.
        let over = SetAtEnd(&is_over);
        for change in [
            "disable",
            "enable",
            "resolution 800x600",
            "position -100 0",
            "scale 2",
            "resolution 1280x1000",
            "position 0 0",
        ]
        .repeat(5)
        {
            sway.command(&format!("output HEADLESS-1 {change}"));
        }
        drop(over);
        assert!(grabs.join().unwrap().unwrap() > 0);
    });
}

#[test]
fn the_end_of_the_compositor_is_reported() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    drop(sway);
    let error = desktop.monitors().unwrap_err().to_string();
    assert!(error.contains("the compositor has ended"), "{error}");
}

#[test]
fn keys_go_to_the_window_that_has_the_keyboard() {
    let sway = Sway::start([1280, 1000], "1");
    let desktop = connect(&sway);
    let red = open(&sway, "red", [200, 100], RED);
    let green = open(&sway, "green", [200, 100], GREEN);
    let mut input = desktop.input().unwrap();
    for (window, other, title) in [(&green, &red, "green"), (&red, &green, "red")] {
        let id = find(&desktop, title);
        desktop.raise(id).unwrap();
        wait_for("the keyboard", || {
            desktop.has_keyboard(id).unwrap().then_some(())
        });
        other.take();
        // Linux's numbers of these keys.
        for (name, number) in [("F2", 60), ("n", 49), ("Return", 28)] {
            let code = desktop.key_code(name).unwrap();
            let events = press_key(&mut *input, window, code);
            let wanted = [
                PointerEvent::KeyPressed(number),
                PointerEvent::KeyReleased(number),
            ];
            assert_eq!(events, wanted, "{name}");
        }
        let is_key = |it: &PointerEvent| matches!(it, PointerEvent::KeyPressed(_));
        assert!(!other.take().iter().any(is_key), "{title}");
    }
    assert!(desktop.key_code("no key").is_err());
}
