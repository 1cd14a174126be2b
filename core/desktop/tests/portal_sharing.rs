//! A capture and a mouse of the same run share one session of a portal, which is made up: a person is asked once.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "made_up_portal/portal.rs"]
mod portal;
#[path = "../../../tests/support/wait.rs"]
mod wait;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flowpipe_desktop::{Desktop, DesktopError, Rect};
use portal::{Answers, MadeUpPortal};
use wait::wait_for;
use zbus::blocking::{Connection, MessageIterator, connection::Builder};
use zbus::fdo::RequestNameFlags;
use zbus::message::Type;
use zbus::zvariant::Value;

const INTERFACE: &str = "io.github.flowpipe.PortalSession";
const PATH: &str = "/io/github/flowpipe/PortalSession";

fn start(answers: Answers) -> MadeUpPortal {
    MadeUpPortal::start(Answers {
        tokens: true,
        ..answers
    })
}

fn connect(portal: &MadeUpPortal) -> Desktop {
    Desktop::connect_portal(&portal.bus(), &portal.path("state")).unwrap()
}

fn place(desktop: &Desktop) -> Result<Rect, DesktopError> {
    Ok(desktop.monitors()?[0].place)
}

/// The sessions that were created, and the dialogs that were shown.
fn sessions(portal: &MadeUpPortal) -> [usize; 2] {
    ["CreateSession", "Start"].map(|method| portal.count(method))
}

/// The name of the session of this process on the bus.
fn service() -> String {
    format!("{INTERFACE}.run{}", std::process::id())
}

/// Another program of the same user.
fn stranger(portal: &MadeUpPortal) -> Connection {
    Builder::address(portal.bus().as_str())
        .unwrap()
        .build()
        .unwrap()
}

/// A capture that waits, as soon as there is nothing to be seen, on a thread of its own.
struct Waiting {
    is_over: Arc<AtomicBool>,
    capture: JoinHandle<DesktopError>,
}

impl Waiting {
    fn start(desktop: Desktop) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        desktop.give_up_when(move || over.load(Ordering::SeqCst));
        let capture = std::thread::spawn(move || wait_for("end", || place(&desktop).err()));
        Self { is_over, capture }
    }

    /// Ends the run. Returns what the capture says then.
    fn give_up(self) -> String {
        std::thread::sleep(Duration::from_millis(300));
        assert!(!self.capture.is_finished(), "it waits");
        self.is_over.store(true, Ordering::SeqCst);
        self.capture.join().unwrap().to_string()
    }
}

#[test]
fn one_session_and_one_dialog_are_for_both() {
    for is_mouse_first in [true, false] {
        let portal = start(Answers::default());
        let first = connect(&portal);
        let second = connect(&portal);
        let (mouse, capture) = match is_mouse_first {
            true => (first, second),
            false => (second, first),
        };
        let mut input = mouse.input().unwrap();
        let seen = place(&capture).unwrap();
        assert_eq!(seen, place(&mouse).unwrap());
        assert_eq!([seen.x, seen.y], [100, -50]);
        assert_eq!(sessions(&portal), [1, 1], "{:?}", portal.asked());
        // A capture that is restarted finds it again.
        drop(capture);
        place(&connect(&portal)).unwrap();
        assert_eq!(sessions(&portal), [1, 1]);
        input.put([100, -50]).unwrap();
        // One token is kept.
        let kept = |name: &str| portal.path("state").join(name).exists();
        assert!(kept("portal-mouse.toml") && !kept("portal-screen.toml"));
    }
}

#[test]
fn a_capture_alone_has_its_own_session_without_a_device() {
    let portal = start(Answers::default());
    place(&connect(&portal)).unwrap();
    assert_eq!(portal.count("SelectDevices"), 0);
    assert_eq!(portal.count("SelectSources"), 1);
    // Also where the portal has no mouse.
    let portal = start(Answers {
        remote_desktop: 0,
        ..Answers::default()
    });
    connect(&portal).input().err().unwrap();
    place(&connect(&portal)).unwrap();
    assert_eq!(sessions(&portal), [1, 1]);
}

#[test]
fn a_mouse_that_is_restarted_takes_the_capture_along() {
    let portal = start(Answers::default());
    let capture = connect(&portal);
    for count in 1..=3 {
        let mouse = connect(&portal);
        let input = mouse.input().unwrap();
        place(&capture).unwrap();
        assert_eq!(sessions(&portal), [count, count]);
        drop((mouse, input));
    }
    // Each but the first one is allowed by what was kept.
    let asked = portal.asked();
    let devices = asked.iter().filter(|it| it.starts_with("SelectDevices"));
    let restored = devices.filter(|it| it.contains("restore_token"));
    assert_eq!(restored.count(), 2);
    // One that does not come back is waited for, and no other session is asked for.
    let said = Waiting::start(capture).give_up();
    assert!(said.contains("the run has ended"), "{said}");
    assert_eq!(sessions(&portal), [3, 3]);
}

#[test]
fn the_end_of_the_session_ends_both() {
    let portal = start(Answers::default());
    let (mouse, capture) = (connect(&portal), connect(&portal));
    let mut input = mouse.input().unwrap();
    place(&capture).unwrap();
    portal.close_session();
    let error = wait_for("end", || place(&capture).err());
    assert!(matches!(error, DesktopError::Lost(_)), "{error}");
    let words = "the desktop portal has ended the capture of the screen";
    assert!(error.to_string().contains(words), "{error}");
    let error = wait_for("end", || input.put([100, 0]).err()).to_string();
    assert!(error.contains("the control of the mouse"), "{error}");
    // Nor does one that is restarted ask for its own.
    let error = place(&connect(&portal)).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
    assert_eq!(sessions(&portal), [1, 1]);
}

#[test]
fn while_the_dialog_is_open_there_is_no_other() {
    let portal = start(Answers {
        ignores: Some("Start"),
        ..Answers::default()
    });
    let mouse = connect(&portal);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    mouse.give_up_when(move || over.load(Ordering::SeqCst));
    let asking = std::thread::spawn(move || mouse.input().map(drop));
    wait_for("question", || (portal.count("Start") > 0).then_some(()));
    let said = Waiting::start(connect(&portal)).give_up();
    assert!(said.contains("before the mouse had a session"), "{said}");
    is_over.store(true, Ordering::SeqCst);
    asking.join().unwrap().unwrap_err();
    assert_eq!(sessions(&portal), [1, 1]);
}

/// A portal that gives no pictures gives none to the capture either, which says so.
#[test]
fn why_there_are_no_pictures_is_said() {
    let portal = start(Answers {
        fails_at: Some("OpenPipeWireRemote"),
        ..Answers::default()
    });
    let _input = connect(&portal).input().unwrap();
    let capture = connect(&portal);
    let (place, mut grabber) = (place(&capture).unwrap(), capture.grabber().unwrap());
    let error = grabber.grab(place).err().unwrap().to_string();
    assert!(error.contains("gives no pictures"), "{error}");
    assert_eq!(sessions(&portal), [1, 1]);
}

/// What strangers ask the mouse for.
#[test]
fn strangers_get_nothing_and_stop_nobody() {
    let portal = start(Answers::default());
    let mouse = connect(&portal);
    let mut input = mouse.input().unwrap();
    let stranger = stranger(&portal);
    let service = service();
    let call = |path: &str, interface: &str, method: &str| {
        let called = stranger.call_method(
            Some(service.as_str()),
            path,
            Some(interface),
            method,
            &vec!["x".repeat(1000); 100],
        );
        called.err().map(|error| error.to_string())
    };
    for (path, interface, method) in [
        ("/", INTERFACE, "Source"),
        (PATH, "org.freedesktop.DBus.Properties", "Source"),
        (PATH, INTERFACE, "Close"),
    ] {
        let error = call(path, interface, method).unwrap();
        assert!(error.contains("no such method"), "{error}");
    }
    // Many who wait for no answer.
    for _ in 0..2000 {
        let message = zbus::Message::method_call(PATH, "Nothing").unwrap();
        let message = message.destination(service.as_str()).unwrap();
        stranger.send(&message.build(&()).unwrap()).unwrap();
    }
    let began = Instant::now();
    input.put([100, -50]).unwrap();
    // Sooner than an answer that does not come is given up.
    assert!(began.elapsed() < Duration::from_secs(4), "the mouse waits");
    place(&connect(&portal)).unwrap();
    assert_eq!(sessions(&portal), [1, 1]);
    // Another user gets nothing.
    if !is_root() {
        return flowpipe_testing::note!("skipped: only root can be another user");
    }
    for (name, mode) in [("", 0o755), ("bus", 0o777)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(portal.path(name), mode).unwrap();
    }
    let asked = Command::new("gdbus")
        .args(["call", "--address", &portal.bus(), "--dest", &service])
        .args(["--object-path", PATH])
        .args(["--method", &format!("{INTERFACE}.Pictures")])
        .uid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(said.contains("for programs of the same user"), "{said}");
    assert_eq!(portal.count("OpenPipeWireRemote"), 0);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Takes the name before the mouse does, and answers each call.
fn take_name(portal: &MadeUpPortal, answer: impl Fn(&Connection, &zbus::Message) + Send + 'static) {
    let connection = stranger(portal);
    let calls = MessageIterator::from(&connection);
    let alone = RequestNameFlags::DoNotQueue.into();
    connection
        .request_name_with_flags(service(), alone)
        .unwrap();
    std::thread::spawn(move || {
        for call in calls.map_while(Result::ok) {
            if call.message_type() == Type::MethodCall {
                answer(&connection, &call);
            }
        }
    });
}

/// Another program of the same user that has the name keeps nobody from playing. It shows the capture what it will, as it
/// could as the portal itself.
#[test]
fn what_another_program_answers_is_checked() {
    type Answer = fn(&Connection, &zbus::Message);
    let answers: [(Answer, &str); 3] = [
        (
            |bus, call| drop(bus.reply(&call.header(), &("no", 7_u32))),
            "the session of the mouse: ",
        ),
        (
            |bus, call| {
                let (file, none) = (std::fs::File::open("/dev/null").unwrap(), Value::new(7));
                let results = std::collections::HashMap::from([("streams", none)]);
                let end = zbus::zvariant::Fd::from(&file);
                drop(bus.reply(&call.header(), &(results, end)));
            },
            "answers what can't be read (streams)",
        ),
        (|_, _| {}, "the session of the mouse: "),
    ];
    for (answer, words) in answers {
        let portal = start(Answers::default());
        take_name(&portal, answer);
        // The mouse does not need the name.
        connect(&portal).input().unwrap().put([100, -50]).unwrap();
        let began = Instant::now();
        let error = place(&connect(&portal)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(began.elapsed() < Duration::from_secs(30), "it is given up");
    }
}
