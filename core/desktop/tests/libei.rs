//! Emulated input through libei, which a portal that is made up gives: the compositor's side is that of the crate reis. And
//! what that side may send that it should not.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "made_up_portal/bad_eis.rs"]
mod bad_eis;
#[path = "made_up_portal/eis.rs"]
mod eis;
#[path = "made_up_portal/portal.rs"]
mod portal;
#[path = "../../../tests/support/wait.rs"]
mod wait;

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use eis::{Interruption, MadeUpEis, MadeUpRegion};
use flowpipe_desktop::input::{DisplayServer, Input};
use flowpipe_desktop::{Desktop, DesktopError};
use portal::{Answers, MadeUpPortal, monitor};
use wait::wait_for;
use zbus::zvariant::Value;

/// A key, its letter on a second layout, and others.
const KEYMAP: &str = "xkb_keymap {\nxkb_keycodes { <FK02> = 68; <AD06> = 29; <AD07> = 30; };\n\
                      xkb_symbols { key <FK02> { [ F2 ] };\nkey <AD06> { [ y, Y ] };\nkey <AD07> { [ u, U ] }; };\n};\n";
/// The same with y on another key.
const OTHER_KEYMAP: &str = "xkb_keymap {\nxkb_keycodes { <AD06> = 29; <AB01> = 52; };\n\
                            xkb_symbols { key <AD06> { [ z, Z ] };\nkey <AB01> { [ y, Y ] }; };\n};\n";
/// Of the portal's monitor, in other units: and one that is not meant.
const REGIONS: [MadeUpRegion; 2] = [
    ([0, 0], [4000, 4000], Some("other")),
    ([5000, 100], [1280, 960], Some("the monitor")),
];

/// A portal whose monitor is a region, and what gives emulated input for it.
fn start(socket: OwnedFd) -> MadeUpPortal {
    let mut monitor = monitor();
    monitor.insert("mapping_id", Value::new("the monitor"));
    MadeUpPortal::start(Answers {
        streams: Value::new(vec![(portal::NODE, monitor)]),
        eis: Mutex::new(Some(socket)),
        ..Answers::default()
    })
}

fn connect(portal: &MadeUpPortal) -> Desktop {
    Desktop::connect_portal(&portal.bus(), &portal.path("state")).unwrap()
}

fn wait_for_end(eis: &MadeUpEis) {
    wait_for("end", || {
        eis.noted().contains(&"closed".to_owned()).then_some(())
    });
}

#[test]
fn input_arrives_in_its_place_and_order() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), Some(KEYMAP));
    let portal = start(socket);
    let desktop = connect(&portal);
    let mut input = desktop.input().unwrap();
    assert_eq!(input.way(), Some("libei"));
    assert_eq!(input.place().unwrap(), None);
    // The region has two units for each of the monitor's.
    input.put([100, -50]).unwrap();
    input.press(Input::Button(1)).unwrap();
    for x in 1..=200 {
        input.put([100 + x, -49]).unwrap();
    }
    input.release(Input::Button(1)).unwrap();
    let mut wanted = vec![
        "start pointer".to_owned(),
        "move 5000.5 100.5".to_owned(),
        // A person may have moved the pointer.
        "move 5000.5 100.5".to_owned(),
        "button 272 1".to_owned(),
    ];
    wanted.extend((1..=200).map(|x| format!("move {} 102.5", 5000.5 + 2.0 * f64::from(x))));
    wanted.push("button 272 0".to_owned());
    // A release has arrived when it returns.
    assert_eq!(eis.noted(), wanted);
    for beyond in [[99, 0], [740, 0], [0, 430], [i32::MAX, i32::MIN]] {
        let error = input.put(beyond).unwrap_err().to_string();
        assert!(error.contains("not on the monitor"), "{error}");
    }
    let f2 = Input::Key(desktop.key_code("F2").unwrap());
    let error = input.press(f2).unwrap_err();
    assert!(matches!(error, DesktopError::Unsupported(_)), "{error}");
    assert!(input.prepare_keys().unwrap(), "a keyboard is new");
    assert!(!input.prepare_keys().unwrap());
    input.press(f2).unwrap();
    input.release(f2).unwrap();
    let error = input.press(Input::Key(desktop.key_code("a").unwrap()));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("not on the keyboard"), "{error}");
    input.put([739, 429]).unwrap();
    input.check().unwrap();
    drop(input);
    wait_for_end(&eis);
    let rest = eis.noted().split_off(wanted.len());
    let wanted = [
        "start keyboard",
        "key 60 1",
        "key 60 0",
        "move 6278.5 1058.5",
        "stop pointer",
        "stop keyboard",
        "closed",
    ];
    assert_eq!(rest, wanted);
    assert_eq!(portal.events(), [""; 0], "by libei alone");
}

#[test]
fn a_region_without_a_name_is_known_by_its_place() {
    let regions = vec![([0, 0], [100, 900], None), ([100, 0], [640, 480], None)];
    let (eis, socket) = MadeUpEis::start(regions, None);
    let mut monitor = monitor();
    monitor.insert("position", Value::new((100, 0)));
    let portal = MadeUpPortal::start(Answers {
        streams: Value::new(vec![(portal::NODE, monitor)]),
        eis: Mutex::new(Some(socket)),
        ..Answers::default()
    });
    let mut input = connect(&portal).input().unwrap();
    input.put([739, 479]).unwrap();
    input.press(Input::Button(3)).unwrap();
    let [to, pressed] = ["move 739.25 479.25", "button 273 1"];
    assert_eq!(eis.noted()[1..], [to, to, pressed]);
    // It gives no keyboard.
    let error = input.prepare_keys().unwrap_err().to_string();
    assert!(error.contains("no keyboard through libei"), "{error}");
}

#[test]
fn a_desktop_without_it_is_played_by_the_portal_s_methods() {
    let version = |remote_desktop| Answers {
        remote_desktop,
        ..Answers::default()
    };
    // The second one has the method, and its desktop has it not.
    for answers in [version(1), version(2)] {
        let portal = MadeUpPortal::start(answers);
        let mut input = connect(&portal).input().unwrap();
        assert_ne!(input.way(), Some("libei"));
        input.put([100, -50]).unwrap();
        assert_eq!(portal.events().len(), 1);
    }
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), None);
    let portal = start(socket);
    let mut input = connect(&portal).input_without_libei().unwrap();
    assert_ne!(input.way(), Some("libei"));
    input.put([100, -50]).unwrap();
    input.press(Input::Button(1)).unwrap();
    assert_eq!(portal.events().len(), 3);
    assert_eq!(eis.noted(), [""; 0]);
}

#[test]
fn a_refusal_says_how_to_do_without_it() {
    let portal = MadeUpPortal::start(Answers {
        refuses_eis: true,
        ..Answers::default()
    });
    let error = connect(&portal).input().err().unwrap();
    assert!(matches!(error, DesktopError::NoInput { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("set libei = false"), "{error}");
    assert_eq!(portal.events(), [""; 0]);
}

/// A drag that is interrupted. Nothing is sent after that, and what was pressed counts as released.
#[test]
fn an_interruption_ends_a_drag_at_once() {
    for (by, words) in [
        (Interruption::Pause, "has paused the pointer"),
        (Interruption::RemovePointer, "has removed the pointer"),
        (Interruption::RemoveSeat, "has removed the pointer"),
        (Interruption::Disconnect(""), "has ended the connection"),
        (
            Interruption::Disconnect("by\u{1b}[31m whim"),
            "has ended the connection: \"by\\u{1b}[31m whim\"",
        ),
        (Interruption::Close, "has closed the connection"),
    ] {
        let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), Some(KEYMAP));
        let portal = start(socket);
        let mut input = connect(&portal).input().unwrap();
        input.put([100, -50]).unwrap();
        input.press(Input::Button(1)).unwrap();
        input.put([110, -50]).unwrap();
        input.check().unwrap();
        let before = wait_for("move", || Some(eis.noted()).filter(|it| it.len() == 5));
        let began = Instant::now();
        eis.interrupt(by);
        let error = wait_for("interruption", || input.check().err());
        // Sooner than an answer that does not come is given up.
        assert!(began.elapsed() < Duration::from_secs(4), "{words}");
        assert!(matches!(error, DesktopError::Lost(_)), "{error}");
        let error = error.to_string();
        let whole = format!("it has interrupted the emulated input: it {words}");
        assert!(error.contains(&whole), "{error}");
        for failed in [input.put([120, -50]), input.press(Input::Button(3))] {
            assert!(matches!(failed, Err(DesktopError::Lost(_))), "{failed:?}");
        }
        assert!(input.prepare_keys().is_err());
        input.release(Input::Button(1)).unwrap();
        // Its end releases what is pressed. It comes while the device is there.
        if words != "has closed the connection" {
            wait_for_end(&eis);
        }
        let after: Vec<String> = eis.noted().split_off(before.len());
        assert!(after.iter().all(|it| it == "closed"), "{after:?}");
    }
}

/// Has the compositor stand still. Returns what ends that when it is dropped.
fn stop(eis: &MadeUpEis) -> Sender<()> {
    let (go_on, until) = channel();
    eis.interrupt(Interruption::StandStill(until));
    wait_for("stop", || (eis.noted().last()? == "asleep").then_some(()));
    go_on
}

#[test]
fn an_answer_comes_once_the_compositor_goes_on() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), None);
    let portal = start(socket);
    let mut input = connect(&portal).input().unwrap();
    input.put([100, -50]).unwrap();
    let go_on = stop(&eis);
    let waiting = std::thread::spawn(move || {
        input.wait_for_answer().unwrap();
        input
    });
    std::thread::sleep(Duration::from_millis(200));
    assert!(!waiting.is_finished());
    drop(go_on);
    let _input = waiting.join().unwrap();
    assert!(eis.noted().contains(&"awake".to_owned()));
}

/// What was sent to it would be done when it goes on.
#[test]
fn nothing_is_pressed_in_a_compositor_that_does_not_answer() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), None);
    let portal = start(socket);
    let mut input = connect(&portal).input().unwrap();
    input.put([100, -50]).unwrap();
    let go_on = stop(&eis);
    let error = input.wait_for_answer().unwrap_err();
    assert!(matches!(error, DesktopError::Lost(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("it has not sent an answer"), "{error}");
    assert!(input.press(Input::Button(1)).is_err());
    drop(go_on);
    wait_for_end(&eis);
    let noted = eis.noted();
    assert!(
        !noted.iter().any(|it| it.starts_with("button")),
        "{noted:?}"
    );
}

#[test]
fn another_layout_brings_another_keyboard() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), Some(KEYMAP));
    let portal = start(socket);
    let desktop = connect(&portal);
    let mut input = desktop.input().unwrap();
    let y = Input::Key(desktop.key_code("y").unwrap());
    let mut type_y = |is_new| {
        wait_for("keyboard", || {
            (input.prepare_keys().unwrap() == is_new).then_some(())
        });
        input.press(y).unwrap();
        input.release(y).unwrap();
    };
    type_y(true);
    type_y(false);
    eis.interrupt(Interruption::ReplaceKeyboard(OTHER_KEYMAP));
    type_y(true);
    // The pointer is the same.
    input.put([100, -50]).unwrap();
    input.press(Input::Button(1)).unwrap();
    let wanted = [
        "start pointer",
        "start keyboard",
        "key 21 1",
        "key 21 0",
        "key 21 1",
        "key 21 0",
        "start keyboard",
        "key 44 1",
        "key 44 0",
        "move 5000.5 100.5",
        "move 5000.5 100.5",
        "button 272 1",
    ];
    assert_eq!(eis.noted(), wanted);
}

#[test]
fn a_keyboard_that_was_paused_is_started_again() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), Some(KEYMAP));
    let portal = start(socket);
    let desktop = connect(&portal);
    let mut input = desktop.input().unwrap();
    let y = Input::Key(desktop.key_code("y").unwrap());
    input.prepare_keys().unwrap();
    input.press(y).unwrap();
    eis.interrupt(Interruption::PauseKeyboard);
    let error = wait_for("pause", || input.press(y).err());
    let error = error.to_string();
    assert!(error.contains("no keyboard through libei"), "{error}");
    // The pause has released it.
    input.release(y).unwrap();
    let before = eis.noted().len();
    eis.interrupt(Interruption::ResumeKeyboard);
    wait_for("keyboard", || input.prepare_keys().ok().filter(|it| *it));
    input.press(y).unwrap();
    input.release(y).unwrap();
    let after = eis.noted().split_off(before);
    assert_eq!(after, ["start keyboard", "key 21 1", "key 21 0"]);
    input.put([100, -50]).unwrap();
}

#[test]
fn the_guardian_s_messages_release() {
    let (eis, socket) = MadeUpEis::start(REGIONS.to_vec(), Some(KEYMAP));
    let portal = start(socket);
    let desktop = connect(&portal);
    let mut input = desktop.input().unwrap();
    input.prepare_keys().unwrap();
    let f2 = Input::Key(desktop.key_code("F2").unwrap());
    let Some(DisplayServer::Shared(guarded)) = input.display_server() else {
        panic!("it has a guardian");
    };
    assert_eq!(guarded.time_from_end, Some(8));
    for (pressed, noted) in [(Input::Button(3), "button 273 0"), (f2, "key 60 0")] {
        input.press(pressed).unwrap();
        let mut releases = guarded.releases.iter();
        let (_, message) = releases.find(|it| it.0 == pressed).unwrap();
        let mut message = message.clone();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let at = message.len() - 8;
        message[at..].copy_from_slice(&(now.tv_sec as u64 * 1_000_000).to_ne_bytes());
        (&guarded.socket).write_all(&message).unwrap();
        wait_for("release", || (eis.noted().last()? == noted).then_some(()));
    }
}

#[test]
fn what_can_t_be_is_an_error_within_bounded_time() {
    let threads = bad_eis::all().into_iter().map(|bad| {
        std::thread::spawn(move || {
            let began = Instant::now();
            let portal = start(bad.serve());
            let error = connect(&portal).input().err();
            let error = error.unwrap_or_else(|| panic!("{} is taken", bad.name));
            assert!(matches!(error, DesktopError::NoInput { .. }), "{error}");
            let error = error.to_string();
            assert!(error.contains(bad.words), "{}: {error}", bad.name);
            assert!(error.contains("set libei = false"), "{error}");
            assert!(error.len() < 1000, "{error}");
            assert!(began.elapsed() < Duration::from_secs(30), "{}", bad.name);
        })
    });
    let threads: Vec<_> = threads.collect();
    assert!(threads.len() >= 20);
    let failed = threads.into_iter().filter_map(|it| it.join().err());
    assert_eq!(failed.count(), 0);
}

#[test]
fn a_flood_while_it_plays_is_an_interruption() {
    for (name, flood) in bad_eis::floods() {
        let portal = start(bad_eis::serve_then(flood));
        let mut input = connect(&portal).input().unwrap();
        let began = Instant::now();
        let error = wait_for("end", || input.check().err()).to_string();
        assert!(
            error.contains("interrupted the emulated input"),
            "{name}: {error}"
        );
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
        input.release(Input::Button(1)).unwrap();
    }
}
