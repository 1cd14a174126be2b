//! The desktop on GNOME's real compositor, Mutter, with real windows.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "support/look.rs"]
mod look;
#[path = "../../../tests/support/mutter.rs"]
mod mutter;
#[path = "../../../tests/support/wayland_click.rs"]
mod wayland_click;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use flowpipe_desktop::input::{Input, InputDevice, LateReports, PlaceReports};
use flowpipe_desktop::{Desktop, Grabber, Rect};
use look::{Look, look};
use mutter::{CONNECTOR, Mutter};
use wayland_click::{click, have_a_keyboard, press_key, until_released, wait_for};
use wayland_window::{LEFT, PointerEvent, WaylandWindow};

const RED: [u8; 3] = [200, 10, 20];
const GREEN: [u8; 3] = [30, 180, 40];
/// Scales, with screens of 1280 x 800 units.
const SCALES: [(&str, [u32; 2]); 3] = [
    ("1", [1280, 800]),
    ("1.25", [1600, 1000]),
    ("2", [2560, 1600]),
];

fn connect(mutter: &Mutter) -> Desktop {
    Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket()).unwrap()
}

fn open(mutter: &Mutter, title: &str, size: [u32; 2], colour: [u8; 3]) -> WaylandWindow {
    WaylandWindow::open(&mutter.wayland_socket(), title, size, colour)
}

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

/// Where a colour is in a picture, in the picture's pixels; all pixels between must have it. `None`: nowhere.
fn area(look: &Look, colour: [u8; 3]) -> Option<Rect> {
    let width = look.size[0] as usize;
    let found = look.pixels.iter().enumerate();
    let found: Vec<[usize; 2]> = found
        .filter(|(_, pixel)| **pixel == colour)
        .map(|(index, _)| [index % width, index / width])
        .collect();
    let ends = |axis: usize| {
        let least = found.iter().map(|at| at[axis]).min()?;
        let most = found.iter().map(|at| at[axis]).max()?;
        Some((least as i32, (most - least + 1) as u32))
    };
    let ((x, width), (y, height)) = (ends(0)?, ends(1)?);
    assert_eq!(found.len() as u32, width * height, "it is whole");
    Some(Rect {
        x,
        y,
        width,
        height,
    })
}

/// Waits until a colour is seen in a part of the screen.
fn find(grabber: &mut Grabber, rect: Rect, colour: [u8; 3]) -> (Look, Rect) {
    wait_for("colour", || {
        let look = look(grabber, rect);
        let area = area(&look, colour)?;
        Some((look, area))
    })
}

#[test]
fn a_window_is_captured_to_the_pixel_at_each_scale() {
    for (scale, size) in SCALES {
        let factor: f64 = scale.parse().unwrap();
        let mutter = Mutter::start(size, scale);
        let desktop = connect(&mutter);
        let monitors = desktop.monitors().unwrap();
        let whole = monitors[0].place;
        assert_eq!(monitors[0].name, CONNECTOR);
        assert_eq!([whole.width, whole.height], [1280, 800], "scale {scale}");
        assert_eq!(desktop.screen().unwrap(), whole);
        let mut grabber = desktop.grabber().unwrap();
        // Nothing has changed on the screen before the first picture.
        assert_eq!(area(&look(&mut grabber, whole), RED), None);
        let _red = open(&mutter, "red", [200, 100], RED);
        let (shown, red) = find(&mut grabber, whole, RED);
        assert_eq!((shown.place, shown.size), (whole, size), "scale {scale}");
        assert!((shown.scale - factor).abs() < 1e-9, "{}", shown.scale);
        let wanted = [200.0, 100.0].map(|length| (length * factor) as u32);
        assert_eq!([red.width, red.height], wanted, "scale {scale}");
        // A part, of which another one lies beyond the screen.
        let part = Rect {
            x: 1200,
            y: -40,
            width: 200,
            height: 100,
        };
        let shown = look(&mut grabber, part);
        assert_eq!(shown.place, part.intersection(whole).unwrap());
        assert_eq!(shown.size, [80.0, 60.0].map(|it| (it * factor) as u32));
        let beyond = Rect { x: 5000, ..part };
        assert!(grabber.grab(beyond).unwrap().is_none());
    }
}

#[test]
fn a_picture_shows_what_has_changed_since_the_last_one() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let whole = desktop.monitors().unwrap()[0].place;
    let mut grabber = desktop.grabber().unwrap();
    for _ in 0..3 {
        let red = open(&mutter, "red", [300, 200], RED);
        let (_, place) = find(&mut grabber, whole, RED);
        assert_eq!(area(&look(&mut grabber, place), RED).unwrap().x, 0);
        let green = open(&mutter, "green", [300, 200], GREEN);
        find(&mut grabber, place, GREEN);
        drop((green, red));
        // Also without the green one, which would cover a part of the next.
        wait_for("empty screen", || {
            let look = look(&mut grabber, whole);
            let is_empty = |colour: &[u8; 3]| !look.pixels.contains(colour);
            [RED, GREEN].iter().all(is_empty).then_some(())
        });
    }
}

#[test]
fn pictures_follow_the_monitor_when_it_is_turned() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let mut grabber = desktop.grabber().unwrap();
    let whole = |desktop: &Desktop| desktop.monitors().unwrap()[0].place;
    let _red = open(&mutter, "red", [300, 200], RED);
    find(&mut grabber, whole(&desktop), RED);
    mutter.set_monitor([1280, 800], "1", 1);
    let turned = wait_for("turned monitor", || {
        Some(whole(&desktop)).filter(|it| [it.width, it.height] == [800, 1280])
    });
    let (shown, red) = find(&mut grabber, turned, RED);
    assert_eq!((shown.place, shown.size), (turned, [800, 1280]));
    assert_eq!([red.width, red.height], [300, 200]);
}

/// Counts the questions of all programs for the monitors, from now on.
fn questions(mutter: &Mutter) -> Arc<AtomicUsize> {
    let address = mutter.bus();
    let bus = zbus::blocking::connection::Builder::address(address.as_str());
    let bus = bus.unwrap().build().unwrap();
    let messages = zbus::blocking::MessageIterator::from(&bus);
    let name = "org.freedesktop.DBus";
    let monitoring = Some("org.freedesktop.DBus.Monitoring");
    let rules = (vec!["type='method_call',member='GetCurrentState'"], 0_u32);
    let path = "/org/freedesktop/DBus";
    bus.call_method(Some(name), path, monitoring, "BecomeMonitor", &rules)
        .unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for message in messages.map_while(zbus::Result::ok) {
            let header = message.header();
            let is_question = header.member().is_some_and(|it| it == "GetCurrentState");
            counted.fetch_add(usize::from(is_question), Ordering::SeqCst);
        }
    });
    count
}

#[test]
fn captures_and_presses_ask_for_the_monitors_only_after_a_change() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let whole = desktop.monitors().unwrap()[0].place;
    let mut grabber = desktop.grabber().unwrap();
    let mut input = desktop.input().unwrap();
    look(&mut grabber, whole);
    let questions = questions(&mutter);
    for x in 0..20 {
        look(&mut grabber, whole);
        input.put([x, 5]).unwrap();
        input.press(Input::Button(1)).unwrap();
        input.release(Input::Button(1)).unwrap();
    }
    // It is seen after all that was asked before.
    desktop.monitors().unwrap();
    wait_for("a question", || {
        (questions.load(Ordering::SeqCst) > 0).then_some(())
    });
    assert_eq!(questions.load(Ordering::SeqCst), 1);
    mutter.set_monitor([1280, 800], "1", 1);
    let turned = [800, 1280];
    wait_for("turned pictures", || {
        let size = look(&mut grabber, whole).size;
        // What was asked for reaches beyond it.
        (size[0] == turned[0]).then_some(())
    });
}

/// Without WirePlumber, which connects programs, no picture comes.
#[test]
fn the_end_of_a_run_ends_the_wait_for_a_picture() {
    let mut mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let whole = desktop.monitors().unwrap()[0].place;
    mutter.kill_wireplumber();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let mut grabber = desktop.grabber().unwrap();
    desktop.give_up_when(move || over.load(Ordering::SeqCst));
    let waiting =
        std::thread::spawn(move || grabber.grab(whole).err().map(|error| error.to_string()));
    is_over.store(true, Ordering::SeqCst);
    let error = waiting.join().unwrap().unwrap();
    // Else the compositor sends no picture.
    assert!(error.contains("the pictures have ended"), "{error}");
}

/// How many threads and open files this process has.
fn held() -> [usize; 2] {
    ["task", "fd"].map(|of| {
        std::fs::read_dir(format!("/proc/self/{of}"))
            .unwrap()
            .count()
    })
}

/// Other tests' threads would be counted too: it runs in a process of its own.
#[test]
#[ignore = "it is started by the test below"]
fn grabbers_come_and_go() {
    let Ok(at) = std::env::var(AT) else { return };
    let (bus, pipewire) = at.split_once(' ').unwrap();
    let desktop = Desktop::connect_mutter(bus, pipewire.as_ref()).unwrap();
    let whole = desktop.monitors().unwrap()[0].place;
    let use_once = || {
        look(&mut desktop.grabber().unwrap(), whole);
        let mut input = desktop.input().unwrap();
        reports(&mut *input);
        input.put([5, 5]).unwrap();
    };
    use_once();
    // Threads end a moment after what they belong to.
    std::thread::sleep(Duration::from_millis(500));
    let before = held();
    for _ in 0..10 {
        use_once();
    }
    wait_for("end of threads and files", || {
        (held() == before).then_some(())
    });
}

/// The address of the bus and the path of PipeWire's socket.
const AT: &str = "FLOWPIPE_TEST_AT";

#[test]
fn nothing_is_left_of_a_grabber_and_a_pointer() {
    let mutter = Mutter::start([1280, 800], "1");
    let itself = std::env::current_exe().unwrap();
    let ran = std::process::Command::new(itself)
        .args(["--exact", "grabbers_come_and_go", "--ignored"])
        .env(
            AT,
            format!("{} {}", mutter.bus(), mutter.pipewire_socket().display()),
        )
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:#?}");
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
}

#[test]
fn an_ended_session_is_an_error_that_says_so() {
    let mut mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let whole = desktop.monitors().unwrap()[0].place;
    let mut grabber = desktop.grabber().unwrap();
    look(&mut grabber, whole);
    assert!(
        desktop
            .find("red")
            .unwrap_err()
            .to_string()
            .contains("GNOME")
    );
    mutter.crash();
    let error = wait_for("end", || grabber.grab(whole).err()).to_string();
    assert!(error.contains("does not answer any more"), "{error}");
}

/// Where a window of one colour is on the screen, in the screen's units.
fn place(desktop: &Desktop, colour: [u8; 3]) -> Rect {
    let whole = desktop.monitors().unwrap()[0].place;
    let (shown, area) = find(&mut desktop.grabber().unwrap(), whole, colour);
    let units = |pixels: f64| pixels / shown.scale;
    // Mutter 48 puts windows between units where there are pixels between them: the first unit that is within counts.
    let within = |pixels: i32| (units(f64::from(pixels)) - 1e-6).ceil() as i32;
    Rect {
        x: within(area.x),
        y: within(area.y),
        width: units(f64::from(area.width)).round() as u32,
        height: units(f64::from(area.height)).round() as u32,
    }
}

#[test]
fn all_moves_are_passed_on() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let red = open(&mutter, "red", [200, 100], RED);
    let place = place(&desktop, RED);
    let mut input = desktop.input().unwrap();
    let passed_on = |input: &mut dyn InputDevice| {
        wait_for("input", || input.is_passed_on().unwrap().then_some(()));
    };
    passed_on(&mut *input);
    // Without another pointer on this screen, the window learns only now that there is one.
    input.put([place.x, place.y]).unwrap();
    passed_on(&mut *input);
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    // Many in each frame, with a press and a release among them.
    red.take();
    let mut sent = Vec::new();
    for x in 1..=60 {
        input.put([place.x + x, place.y + 7]).unwrap();
        sent.push(PointerEvent::At(f64::from(x), 7.0));
        if x == 20 {
            input.press(Input::Button(1)).unwrap();
            sent.push(PointerEvent::Pressed(LEFT));
        }
    }
    input.release(Input::Button(1)).unwrap();
    sent.push(PointerEvent::Released(LEFT));
    passed_on(&mut *input);
    let is_up = || red.events().contains(&PointerEvent::Released(LEFT));
    wait_for("a release", || is_up().then_some(()));
    let pixels = red.take().into_iter().map(|event| match event {
        PointerEvent::At(x, y) => PointerEvent::At(x.floor(), y.floor()),
        button => button,
    });
    let mut seen: Vec<_> = pixels.collect();
    // A press sends its place again, which some versions report again.
    seen.dedup_by(|next, before| matches!(next, PointerEvent::At(..)) && next == before);
    // A move that Mutter leaves waiting is sent again.
    while seen.len() > sent.len() && seen.last() == Some(&PointerEvent::At(60.0, 7.0)) {
        seen.pop();
    }
    assert_eq!(seen, sent);
    // One more alone.
    input.put([place.x + 9, place.y + 9]).unwrap();
    passed_on(&mut *input);
    let has_moved =
        |event: &PointerEvent| matches!(event, PointerEvent::At(x, _) if x.floor() == 9.0);
    wait_for("a move", || {
        red.events().iter().any(has_moved).then_some(())
    });
}

/// What is reported of the pointer.
fn reports(input: &mut dyn InputDevice) -> Box<dyn LateReports> {
    match input.place_reports().unwrap() {
        PlaceReports::Later(reports) => reports,
        PlaceReports::OnDemand => panic!("Mutter can't be asked"),
        PlaceReports::Never(why) => panic!("{why}"),
    }
}

/// Waits until a place is reported that is near another one.
fn wait_for_place(reports: &dyn LateReports, at: [i32; 2]) {
    wait_for("report", || {
        let [x, y] = reports.place()?;
        (x.abs_diff(at[0]) <= 1 && y.abs_diff(at[1]) <= 1).then_some(())
    });
}

#[test]
fn a_person_who_moves_the_pointer_is_noticed_and_nobody_else_is() {
    for (scale, size) in SCALES {
        let mutter = Mutter::start(size, scale);
        let desktop = connect(&mutter);
        let mut hand = desktop.input().unwrap();
        hand.put([900, 700]).unwrap();
        let mut input = desktop.input().unwrap();
        let reports = reports(&mut *input);
        // Longer than reports are apart: fast, slow, and the same way again and again.
        for round in 0..40 {
            for step in 0..30 {
                input.put([100 + 7 * step, 100 + 13 * (step % 5)]).unwrap();
                if step % 10 == round % 10 {
                    std::thread::sleep(Duration::from_millis(9));
                }
            }
            assert!(!reports.was_moved(), "scale {scale}, round {round}");
        }
        wait_for_place(&*reports, [303, 152]);
        assert!(!reports.was_moved(), "scale {scale}");
        // Less than a person's hand shakes is not noticed: it is how compositors round.
        hand.put([304, 152]).unwrap();
        wait_for_place(&*reports, [304, 152]);
        assert!(!reports.was_moved(), "scale {scale}");
        hand.put([308, 152]).unwrap();
        wait_for("a person", || reports.was_moved().then_some(()));
    }
}

#[test]
fn a_person_who_takes_the_pointer_to_another_monitor_is_noticed() {
    let mutter = Mutter::start_with(&[[800, 600], [640, 480]], "1");
    let desktop = connect(&mutter);
    let monitors = desktop.monitors().unwrap();
    assert_eq!(monitors.len(), 2);
    let [left, right] = [0, 1].map(|at| {
        let place = monitors[at].place;
        [place.x + 100, place.y + 100]
    });
    let edge = monitors[0].place.x.max(monitors[1].place.x);
    let mut hand = desktop.input().unwrap();
    let mut input = desktop.input().unwrap();
    let reports = reports(&mut *input);
    // Beside the edge, a part of the pointer's picture is on the other one.
    for at in [left, right, [edge - 1, 50], [edge, 50], left, right] {
        input.put(at).unwrap();
        wait_for_place(&*reports, at);
        assert!(!reports.was_moved(), "{at:?}");
    }
    hand.put([left[0] + 200, left[1]]).unwrap();
    wait_for("a person", || reports.was_moved().then_some(()));
}

#[test]
fn a_screen_without_pipewire_reports_no_pointer() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = Desktop::connect_mutter(&mutter.bus(), "/nowhere".as_ref()).unwrap();
    let mut input = desktop.input().unwrap();
    let PlaceReports::Never(why) = input.place_reports().unwrap() else {
        panic!("there is none");
    };
    assert!(why.contains("PipeWire"), "{why}");
}

#[test]
fn the_pointer_is_put_to_the_pixel_and_presses_there() {
    for (scale, size) in SCALES {
        let mutter = Mutter::start(size, scale);
        let desktop = connect(&mutter);
        let red = open(&mutter, "red", [200, 100], RED);
        let place = place(&desktop, RED);
        let mut input = desktop.input().unwrap();
        assert_eq!(input.place().unwrap(), None);
        // Without another pointer on this screen, the window learns only now that there is one.
        input.put([place.x + 100, place.y + 50]).unwrap();
        wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
        for at in [[0, 0], [199, 99], [57, 83]] {
            let place = [place.x + at[0], place.y + at[1]];
            assert_eq!(click(&mut *input, &red, place), at, "scale {scale}");
        }
        assert!(input.put([-1, 5]).is_err());
        // The pointer is over the window, and not in the picture.
        let whole = desktop.monitors().unwrap()[0].place;
        find(&mut desktop.grabber().unwrap(), whole, RED);
        // With its monitor as it was, the session ends.
        mutter.set_monitor(size, scale, 1);
        let error = wait_for("end", || input.put([5, 5]).err()).to_string();
        // Through libei, the pointer may end first.
        let is_said = |words: &str| error.contains(words);
        assert!(
            is_said("ended the control of the mouse") || is_said("has removed the pointer"),
            "{error}"
        );
    }
}

/// A seat has one pointer for all mice.
#[test]
fn a_press_is_where_the_pointer_was_put_whoever_moved_it_since() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let red = open(&mutter, "red", [200, 100], RED);
    let place = place(&desktop, RED);
    let at = |[x, y]: [i32; 2]| [place.x + x, place.y + y];
    let [mut input, mut hand] = [desktop.input().unwrap(), desktop.input().unwrap()];
    let move_to = |by: &mut dyn InputDevice, to: [i32; 2]| {
        by.put(at(to)).unwrap();
        wait_for("a move", || {
            by.is_passed_on().unwrap();
            let has_come = |event: &PointerEvent| {
                let PointerEvent::At(x, y) = event else {
                    return false;
                };
                [x, y].map(|it| it.floor() as i32) == to
            };
            red.events().iter().any(has_come).then_some(())
        });
    };
    // Without another pointer on this screen, the window learns only now that there is one.
    input.put(at([100, 50])).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    move_to(&mut *input, [57, 83]);
    move_to(&mut *hand, [10, 20]);
    red.take();
    input.press(Input::Button(1)).unwrap();
    input.release(Input::Button(1)).unwrap();
    let events = until_released(&red);
    let is_pressed = |event: &PointerEvent| *event == PointerEvent::Pressed(LEFT);
    let before = events.iter().take_while(|it| !is_pressed(it));
    let Some(PointerEvent::At(x, y)) = before.last() else {
        panic!("it is pressed where the hand is: {events:?}");
    };
    assert_eq!([x, y].map(|it| it.floor() as i32), [57, 83], "{events:?}");
}

#[test]
fn keys_go_to_the_window_that_has_the_keyboard() {
    let mutter = Mutter::start([1280, 800], "1");
    let desktop = connect(&mutter);
    let red = open(&mutter, "red", [200, 100], RED);
    let place = place(&desktop, RED);
    let mut input = desktop.input().unwrap();
    input.put([place.x + 100, place.y + 50]).unwrap();
    wait_for("the pointer", || (!red.events().is_empty()).then_some(()));
    // Mutter 48 does not report the same place again.
    click(&mut *input, &red, [place.x + 101, place.y + 50]);
    have_a_keyboard(&mut *input, &red, desktop.key_code("F1").unwrap());
    // Linux's numbers of these keys.
    for (name, number) in [("F2", 60), ("n", 49), ("Return", 28)] {
        let code = desktop.key_code(name).unwrap();
        let events = press_key(&mut *input, &red, code);
        let wanted = [
            PointerEvent::KeyPressed(number),
            PointerEvent::KeyReleased(number),
        ];
        assert_eq!(events, wanted, "{name}");
    }
}
