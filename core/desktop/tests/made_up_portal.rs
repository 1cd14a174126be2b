//! The mouse through a portal that is made up, and what portals may answer that they should not: no portal with a mouse
//! answers without a person. A real one is in `portal.rs`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "made_up_portal/portal.rs"]
mod portal;
#[path = "../../../tests/support/wait.rs"]
mod wait;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flowpipe_desktop::input::{DisplayServer, Input, PlaceReports};
use flowpipe_desktop::portal::offer::PortalOffer;
use flowpipe_desktop::{Desktop, DesktopError};
use portal::{Answers, MadeUpPortal, Properties, monitor};
use wait::wait_for;
use zbus::zvariant::Value;

fn connect(portal: &MadeUpPortal) -> Desktop {
    Desktop::connect_portal(&portal.bus(), &folder(portal)).unwrap()
}

fn folder(portal: &MadeUpPortal) -> PathBuf {
    portal.path("state")
}

#[test]
fn one_session_moves_presses_and_is_a_monitor() {
    let portal = MadeUpPortal::start(Answers::default());
    let desktop = connect(&portal);
    let mut input = desktop.input().unwrap();
    let place = desktop.monitors().unwrap()[0].place;
    assert_eq!([place.x, place.y], [100, -50]);
    assert_eq!([place.width, place.height], [640, 480]);
    assert_eq!(input.place().unwrap(), None);
    input.put([100, -50]).unwrap();
    input.put([739, 429]).unwrap();
    input.press(Input::Button(1)).unwrap();
    input.release(Input::Button(1)).unwrap();
    input.press(Input::Button(3)).unwrap();
    for beyond in [
        [99, 0],
        [100, -51],
        [740, 0],
        [0, 430],
        [i32::MAX, i32::MIN],
    ] {
        let error = input.put(beyond).unwrap_err().to_string();
        assert!(error.contains("not on the monitor"), "{error}");
    }
    let f2 = Input::Key(desktop.key_code("F2").unwrap());
    input.press(f2).unwrap();
    input.release(f2).unwrap();
    let node = portal::NODE;
    assert_eq!(
        portal.events(),
        [
            format!("move {node} 0.5 0.5"),
            format!("move {node} 639.5 479.5"),
            // A person may have moved the pointer before each press.
            format!("move {node} 639.5 479.5"),
            "button 272 1".to_owned(),
            "button 272 0".to_owned(),
            format!("move {node} 639.5 479.5"),
            "button 273 1".to_owned(),
            "symbol 65471 1".to_owned(),
            "symbol 65471 0".to_owned(),
        ]
    );
    // The pointer is asked for beside pictures and in none, and one thing at a time.
    let asked = portal.asked();
    assert_eq!(asked.iter().filter(|it| it.starts_with("Start")).count(), 1);
    let sources = asked
        .iter()
        .find(|it| it.starts_with("SelectSources"))
        .unwrap();
    for words in ["cursor_mode=4 ", "multiple=false ", "types=1 "] {
        assert!(sources.contains(words), "{sources}");
    }
    let devices = asked
        .iter()
        .find(|it| it.starts_with("SelectDevices"))
        .unwrap();
    // The pointer and the keyboard.
    assert!(devices.contains("types=3 "), "{devices}");
}

/// A press goes after the answer to a move, which must not be late. The next one may be in time.
#[test]
fn nothing_is_pressed_after_a_late_answer() {
    let slow_moves = Arc::new(AtomicBool::new(true));
    let portal = MadeUpPortal::start(Answers {
        slow_moves: Arc::clone(&slow_moves),
        ..Answers::default()
    });
    let mut input = connect(&portal).input().unwrap();
    input.put([100, -50]).unwrap();
    let error = input.press(Input::Button(1)).unwrap_err();
    assert!(matches!(error, DesktopError::Late { .. }), "{error}");
    let moved = format!("move {} 0.5 0.5", portal::NODE);
    assert_eq!(portal.events(), [moved.clone(), moved]);
    slow_moves.store(false, Ordering::SeqCst);
    input.press(Input::Button(1)).unwrap();
    assert_eq!(portal.events().last().unwrap(), "button 272 1");
    input.release(Input::Button(1)).unwrap();
}

#[test]
fn keys_have_codes_only_where_the_keyboard_was_allowed() {
    let portal = MadeUpPortal::start(Answers {
        devices: Value::new(2_u32),
        ..Answers::default()
    });
    let desktop = connect(&portal);
    let error = desktop.key_code("F2").unwrap_err().to_string();
    assert!(error.contains("nobody was asked"), "{error}");
    assert_eq!(portal.asked(), [""; 0]);
    desktop.input().unwrap();
    let error = desktop.key_code("F2").unwrap_err().to_string();
    assert!(error.contains("was not allowed in its dialog"), "{error}");
}

#[test]
fn the_guardian_s_message_releases_and_the_session_s_end_is_reported() {
    let portal = MadeUpPortal::start(Answers::default());
    let mut input = connect(&portal).input().unwrap();
    input.press(Input::Button(1)).unwrap();
    let Some(DisplayServer::Shared(guarded)) = input.display_server() else {
        panic!("it has a guardian");
    };
    let f2 = Input::Key(68);
    input.press(f2).unwrap();
    for released in [Input::Button(1), f2] {
        let mut releases = guarded.releases.iter();
        let (_, message) = releases.find(|it| it.0 == released).unwrap();
        (&guarded.socket).write_all(message).unwrap();
    }
    let events = [
        "button 272 1",
        "symbol 65471 1",
        "button 272 0",
        "symbol 65471 0",
    ];
    wait_for("release", || (portal.events() == events).then_some(()));
    portal.close_session();
    let error = wait_for("end", || input.put([100, 0]).err());
    assert!(matches!(error, DesktopError::Lost(_)), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("has ended the control of the mouse"),
        "{error}"
    );
    let count = portal.events().len();
    for failed in [
        input.press(Input::Button(1)),
        input.release(Input::Button(1)),
    ] {
        assert!(matches!(failed, Err(DesktopError::Lost(_))));
    }
    assert_eq!(portal.events().len(), count);
}

#[test]
fn what_was_allowed_is_not_asked_for_again() {
    let portal = MadeUpPortal::start(Answers {
        tokens: true,
        ..Answers::default()
    });
    let devices = |portal: &MadeUpPortal| {
        let mut asked = portal.asked().into_iter();
        asked.rfind(|it| it.starts_with("SelectDevices")).unwrap()
    };
    connect(&portal).input().unwrap();
    let first = devices(&portal);
    assert!(first.contains("persist_mode=2 "), "{first}");
    assert!(!first.contains("restore_token"), "{first}");
    // Each one serves once.
    for wanted in ["token 1", "token 2"] {
        connect(&portal).input().unwrap();
        let again = devices(&portal);
        assert!(
            again.contains(&format!("restore_token=\"{wanted}\"")),
            "{again}"
        );
    }
    let kept = std::fs::read_to_string(folder(&portal).join("portal-mouse.toml")).unwrap();
    assert!(kept.contains("\ntoken = \"token 3\"\n"), "{kept}");
}

/// What is said of a mouse that can't be had.
fn refusal(answers: Answers) -> String {
    let portal = MadeUpPortal::start(answers);
    let refused = connect(&portal).input().err().unwrap();
    assert!(matches!(refused, DesktopError::NoInput { .. }), "{refused}");
    assert_eq!(portal.events(), [""; 0]);
    refused.to_string()
}

#[test]
fn answers_that_should_not_be_are_errors() {
    let started = |streams: Value<'static>| Answers {
        streams,
        ..Answers::default()
    };
    let with = |change: &dyn Fn(&mut Properties)| {
        let mut properties = monitor();
        change(&mut properties);
        started(Value::new(vec![(portal::NODE, properties)]))
    };
    let refuses = |method: &'static str, code: u32| Answers {
        refuses: Some((method, code)),
        ..Answers::default()
    };
    for (answers, words) in [
        (refuses("Start", 1), "was refused in the dialog"),
        (refuses("Start", 2), "ended the request (Start, code 2)"),
        (refuses("SelectDevices", 7), "SelectDevices, code 7"),
        (refuses("CreateSession", 1), "was refused"),
        (
            Answers {
                closes_at: Some("Start"),
                ..Answers::default()
            },
            "ended the session before it answered (Start)",
        ),
        (
            Answers {
                fails_at: Some("SelectSources"),
                ..Answers::default()
            },
            "refuses (SelectSources)",
        ),
        (
            Answers {
                garbles: Some("Start"),
                ..Answers::default()
            },
            "answers what can't be read (Start)",
        ),
        (
            Answers {
                session: Some("/another/session"),
                ..Answers::default()
            },
            "answers what can't be read (CreateSession)",
        ),
        (
            Answers {
                session: Some("no path at all"),
                ..Answers::default()
            },
            "answers what can't be read (CreateSession)",
        ),
        (
            Answers {
                devices: Value::new(1_u32),
                ..Answers::default()
            },
            "the mouse was not allowed",
        ),
        (
            Answers {
                devices: Value::new("mouse"),
                ..Answers::default()
            },
            "can't be read (devices)",
        ),
        (
            Answers {
                remote_desktop: 0,
                ..Answers::default()
            },
            "lets no program move the pointer",
        ),
        (
            Answers {
                cursors: 2,
                ..Answers::default()
            },
            "only with the pointer in the picture",
        ),
        (
            started(Value::new(Vec::<(u32, Properties)>::new())),
            "nothing was chosen",
        ),
        (started(Value::new("streams")), "can't be read (streams)"),
        (started(Value::new(vec![5_u32])), "can't be read (streams)"),
        (
            with(&|it| drop(it.insert("size", Value::new((-1, 5))))),
            "can't be read (streams)",
        ),
        (
            with(&|it| drop(it.insert("position", Value::new(7_u32)))),
            "can't be read (streams)",
        ),
        (
            with(&|it| drop(it.remove("position"))),
            "does not report where the monitor is",
        ),
        (
            with(&|it| drop(it.remove("size"))),
            "does not report where the monitor is",
        ),
    ] {
        let said = refusal(answers);
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A dialog that stays open would be waited for for minutes.
#[test]
fn a_question_is_given_up_when_the_run_ends() {
    let portal = MadeUpPortal::start(Answers {
        ignores: Some("Start"),
        ..Answers::default()
    });
    let desktop = connect(&portal);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    desktop.give_up_when(move || over.load(Ordering::SeqCst));
    let asking = std::thread::spawn(move || desktop.input().err().map(|error| error.to_string()));
    wait_for("question", || {
        let asked = portal.asked();
        asked.iter().any(|it| it.starts_with("Start")).then_some(())
    });
    is_over.store(true, Ordering::SeqCst);
    wait_for("end", || asking.is_finished().then_some(()));
    let error = asking.join().unwrap().unwrap();
    let words = "the run has ended before the desktop portal answered (Start)";
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_token_that_is_none_is_not_kept() {
    let portal = MadeUpPortal::start(Answers {
        token: Some(Value::new("a\nb")),
        ..Answers::default()
    });
    connect(&portal).input().unwrap();
    assert!(!folder(&portal).join("portal-mouse.toml").exists());
}

/// What does not say whether a monitor is scaled, as Mutter does.
#[test]
fn the_portal_of_a_gnome_that_says_nothing_is_given_no_places() {
    let portal = MadeUpPortal::start(Answers::default());
    portal.own("org.gnome.Mutter.RemoteDesktop");
    let error = connect(&portal).input().err().unwrap().to_string();
    assert!(error.contains("desktop = \"mutter\""), "{error}");
}

#[test]
fn a_capture_asks_for_no_mouse() {
    let portal = MadeUpPortal::start(Answers::default());
    let monitors = connect(&portal).monitors().unwrap();
    assert_eq!(monitors.len(), 1);
    let asked = portal.asked();
    assert!(
        !asked.iter().any(|it| it.starts_with("SelectDevices")),
        "{asked:?}"
    );
    let sources = asked
        .iter()
        .find(|it| it.starts_with("SelectSources"))
        .unwrap();
    assert!(
        sources.contains("types=3 "),
        "a monitor or a window: {sources}"
    );
    assert!(sources.contains("persist_mode=2 "), "{sources}");
    assert!(sources.contains("cursor_mode=1 "), "{sources}");
}

#[test]
fn a_portal_that_does_not_report_the_pointer_is_not_asked_for_it() {
    let portal = MadeUpPortal::start(Answers {
        cursors: 3,
        ..Answers::default()
    });
    let mut input = connect(&portal).input().unwrap();
    let asked = portal.asked();
    let mut sources = asked.iter().filter(|it| it.starts_with("SelectSources"));
    assert!(sources.all(|it| it.contains("cursor_mode=1 ")), "{asked:?}");
    let PlaceReports::Never(why) = input.place_reports().unwrap() else {
        panic!("it does not");
    };
    assert!(why.contains("does not offer it"), "{why}");
}

#[test]
fn a_portal_that_gives_no_connection_reports_no_pointer() {
    let portal = MadeUpPortal::start(Answers {
        fails_at: Some("OpenPipeWireRemote"),
        ..Answers::default()
    });
    let mut input = connect(&portal).input().unwrap();
    let PlaceReports::Never(why) = input.place_reports().unwrap() else {
        panic!("it does not");
    };
    assert!(why.contains("gives no pictures"), "{why}");
    // The mouse is there all the same.
    input.put([100, -50]).unwrap();
}

#[test]
fn what_a_portal_offers_is_known_without_a_question_to_a_person() {
    let offered = PortalOffer::default();
    assert!(!offered.shows_screen() && !offered.controls_mouse());
    let portal = MadeUpPortal::start(Answers::default());
    connect(&portal);
    assert_eq!(portal.asked(), [""; 0]);
}
