//! A person who moves the pointer, as a portal reports it: the portal is made up, and its pictures are those of GNOME's real
//! compositor, Mutter.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../../../tests/support/mutter.rs"]
mod mutter;
#[path = "made_up_portal/mutter_pictures.rs"]
mod mutter_pictures;
#[path = "made_up_portal/portal.rs"]
mod portal;
#[path = "../../../tests/support/wait.rs"]
mod wait;

use std::collections::HashMap;
use std::time::Duration;

use flowpipe_desktop::input::{InputDevice, LateReports, PlaceReports};
use flowpipe_desktop::{Desktop, DesktopError};
use mutter::Mutter;
use mutter_pictures::{CURSOR_METADATA, shown};
use portal::{Answers, MadeUpPortal, Properties};
use wait::wait_for;
use zbus::zvariant::Value;

/// The cursor mode in which nothing of the pointer is reported.
const CURSOR_HIDDEN: u32 = 0;

/// A portal that shows Mutter's monitor, whose places are in units of so many pixels.
fn portal(mutter: &Mutter, node: u32) -> MadeUpPortal {
    let monitor: Properties = HashMap::from([
        ("position", Value::new((0, 0))),
        ("size", Value::new((1280, 800))),
        ("source_type", Value::new(1_u32)),
    ]);
    MadeUpPortal::start(Answers {
        streams: Value::new(vec![(node, monitor)]),
        pipewire: Some(mutter.pipewire_socket()),
        ..Answers::default()
    })
}

fn reports(input: &mut dyn InputDevice) -> Box<dyn LateReports> {
    match input.place_reports().unwrap() {
        PlaceReports::Later(reports) => reports,
        PlaceReports::OnDemand => panic!("a portal can't be asked"),
        PlaceReports::Never(why) => panic!("{why}"),
    }
}

#[test]
fn a_person_is_noticed_through_a_portal_that_reports_the_pointer() {
    for (scale, size) in [("1", [1280, 800]), ("2", [2560, 1600])] {
        let mutter = Mutter::start(size, scale);
        // What the portal is asked to do is done by this one.
        let compositor = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket());
        let mut compositor = compositor.unwrap().input().unwrap();
        compositor.put([5, 5]).unwrap();
        let (cast, node) = shown(&mutter, CURSOR_METADATA);
        let portal = portal(&mutter, node);
        let desktop = Desktop::connect_portal(&portal.bus(), &portal.path("state")).unwrap();
        let mut input = desktop.input().unwrap();
        let reports = reports(&mut *input);
        for at in [[300, 200], [900, 700], [300, 200]] {
            input.put(at).unwrap();
            compositor.put(at).unwrap();
            wait_for("report", || {
                let place = reports.place();
                place.filter(|it| it[0].abs_diff(at[0]) <= 1 && it[1].abs_diff(at[1]) <= 1)
            });
            assert!(!reports.was_moved(), "scale {scale}");
        }
        compositor.put([900, 700]).unwrap();
        wait_for("a person", || reports.was_moved().then_some(()));
        // Nobody would be noticed any more.
        drop(cast);
        let error = wait_for("end", || input.put([300, 200]).err());
        assert!(matches!(error, DesktopError::Lost(_)), "{error}");
        let error = error.to_string();
        assert!(error.contains("does not report any more"), "{error}");
    }
}

/// A portal may offer reports that never come: then nobody would be noticed.
#[test]
fn a_portal_that_never_reports_the_pointer_ends_the_mouse() {
    let mutter = Mutter::start([1280, 800], "1");
    let (_cast, node) = shown(&mutter, CURSOR_HIDDEN);
    let portal = portal(&mutter, node);
    let desktop = Desktop::connect_portal(&portal.bus(), &portal.path("state")).unwrap();
    let mut input = desktop.input().unwrap();
    let reports = reports(&mut *input);
    input.put([300, 200]).unwrap();
    let error = wait_for("end", || input.put([900, 700]).err());
    assert!(matches!(error, DesktopError::Lost(_)), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("does not report where the pointer is"),
        "{error}"
    );
    assert!(!reports.was_moved());
}

/// On a screen that does not change, the capture gets its pictures from the session of the mouse, also one that is restarted.
/// Before and after, the mouse notices a person.
#[test]
fn a_capture_sees_the_screen_by_the_session_of_the_mouse() {
    let mutter = Mutter::start([1280, 800], "1");
    let compositor = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket());
    let mut compositor = compositor.unwrap().input().unwrap();
    compositor.put([5, 5]).unwrap();
    let (_cast, node) = shown(&mutter, CURSOR_METADATA);
    let portal = portal(&mutter, node);
    let connect = || Desktop::connect_portal(&portal.bus(), &portal.path("state")).unwrap();
    let mut input = connect().input().unwrap();
    let reports = reports(&mut *input);
    // What was drawn at the start has passed.
    std::thread::sleep(Duration::from_secs(2));
    for at in [[300, 200], [900, 700]] {
        let capture = connect();
        let whole = capture.monitors().unwrap()[0].place;
        let picture = capture
            .grabber()
            .unwrap()
            .grab(whole)
            .unwrap()
            .map(|it| it.pixels.len());
        assert_eq!(picture, Some(1280 * 800 * 4));
        input.put(at).unwrap();
        compositor.put(at).unwrap();
        wait_for("report", || reports.place().filter(|it| *it == at));
        assert!(!reports.was_moved());
    }
    for method in ["CreateSession", "Start"] {
        assert_eq!(portal.count(method), 1, "{:?}", portal.asked());
    }
    compositor.put([300, 200]).unwrap();
    wait_for("a person", || reports.was_moved().then_some(()));
}
