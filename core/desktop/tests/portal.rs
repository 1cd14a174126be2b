//! The desktop through a real portal, that of wlroots' compositors, with real windows in sway.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "support/look.rs"]
mod look;
#[path = "../../../tests/support/portal.rs"]
mod portal;
#[path = "../../../tests/support/sway.rs"]
mod sway;
#[path = "../../../tests/support/wayland_click.rs"]
mod wayland_click;
#[path = "../../../tests/support/wayland_window.rs"]
mod wayland_window;

use flowpipe_desktop::{Desktop, Grabber, Rect};
use look::{Look, look};
use portal::PortalSession;
use wayland_click::wait_for;
use wayland_window::WaylandWindow;

const RED: [u8; 3] = [200, 10, 20];

fn connect(session: &PortalSession) -> Desktop {
    Desktop::connect_portal(&session.bus(), &session.state()).unwrap()
}

fn open(session: &PortalSession, title: &str, size: [u32; 2]) -> WaylandWindow {
    WaylandWindow::open(&session.sway.wayland_socket(), title, size, RED)
}

#[test]
#[ignore = "it is the process of a window: the other tests start it"]
fn window_process() {
    wayland_window::run_window();
}

/// How many pixels have the window's colour.
fn red(look: &Look) -> usize {
    look.pixels.iter().filter(|&&pixel| pixel == RED).count()
}

/// Waits for a picture of which something is true.
///
/// A change that comes while this portal takes a picture is in the picture after the next change only. So the pointer is
/// moved by a little, aside of the window: this compositor draws it into its pictures.
fn wait_for_picture(
    session: &PortalSession,
    grabber: &mut Grabber,
    rect: Rect,
    is_it: impl Fn(&Look) -> bool,
) -> Look {
    let (socket, own) = (session.sway.wayland_socket(), session.sway.own_socket());
    let sway = Desktop::connect_wlroots(&socket, Some(own)).unwrap();
    let mut pointer = sway.input().unwrap();
    let mut x = 400;
    wait_for("picture", || {
        let shown = look(grabber, rect);
        if is_it(&shown) {
            return Some(shown);
        }
        x = 801 - x;
        pointer.put([x, 350]).unwrap();
        None
    })
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn a_window_is_captured_to_the_pixel() {
    let session = PortalSession::start([1280, 1000], "1");
    let desktop = connect(&session);
    let monitors = desktop.monitors().unwrap();
    let whole = monitors[0].place;
    assert_eq!(monitors[0].name, "the chosen monitor");
    assert_eq!([whole.x, whole.y], [0, 0]);
    assert_eq!([whole.width, whole.height], [1280, 1000]);
    let mut grabber = desktop.grabber().unwrap();
    assert_eq!(red(&look(&mut grabber, whole)), 0);
    for size in [[200, 100], [300, 50]] {
        let window = open(&session, "red", size);
        let pixels = (size[0] * size[1]) as usize;
        let shown = wait_for_picture(&session, &mut grabber, whole, |it| red(it) == pixels);
        assert_eq!((shown.place, shown.scale), (whole, 1.0));
        let first = shown.pixels.iter().position(|&pixel| pixel == RED).unwrap();
        let part = Rect {
            x: (first % 1280) as i32,
            y: (first / 1280) as i32,
            width: size[0],
            height: size[1],
        };
        let inside = look(&mut grabber, part);
        assert_eq!((inside.place, red(&inside)), (part, pixels));
        assert!(grabber.grab(Rect { x: 5000, ..part }).unwrap().is_none());
        drop(window);
        wait_for_picture(&session, &mut grabber, whole, |it| red(it) == 0);
    }
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn pictures_follow_the_size_and_the_scale() {
    let session = PortalSession::start([1280, 1000], "2");
    let desktop = connect(&session);
    let mut grabber = desktop.grabber().unwrap();
    let first = desktop.monitors().unwrap()[0].place;
    let _red = open(&session, "red", [200, 100]);
    let doubled = |it: &Look| red(it) == 400 * 200;
    let shown = wait_for_picture(&session, &mut grabber, first, doubled);
    assert_eq!(shown.size, [1280, 1000]);
    session
        .sway
        .command("output HEADLESS-1 resolution 1000x800");
    // What was the whole monitor still is.
    let is_smaller = |it: &Look| it.size == [1000, 800] && doubled(it);
    let smaller = wait_for_picture(&session, &mut grabber, first, is_smaller);
    let now = desktop.monitors().unwrap()[0].place;
    assert_eq!(smaller.place, now);
    assert!(now.width < first.width, "{now:?}");
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn the_end_of_the_portal_is_an_error_that_says_so() {
    let mut session = PortalSession::start([1280, 1000], "1");
    let desktop = connect(&session);
    let whole = desktop.monitors().unwrap()[0].place;
    let mut grabber = desktop.grabber().unwrap();
    look(&mut grabber, whole);
    for error in [
        desktop.find("red").unwrap_err(),
        desktop.pointer().unwrap_err(),
        desktop.hotkey("F12").err().unwrap(),
    ] {
        assert!(error.to_string().contains("not available"), "{error}");
    }
    session.crash();
    let error = wait_for("end", || grabber.grab(whole).err()).to_string();
    assert!(
        error.contains("has ended the capture of the screen"),
        "{error}"
    );
    assert!(connect_error(&session).contains("no desktop portal"));
}

fn connect_error(session: &PortalSession) -> String {
    let connected = Desktop::connect_portal(&session.bus(), &session.state());
    connected.err().unwrap().to_string()
}

#[test]
#[ignore = "a real portal passes some changes on late: `./x test full` runs it"]
fn a_portal_without_a_mouse_says_so() {
    let session = PortalSession::start([640, 480], "1");
    let error = connect(&session).input().err().unwrap().to_string();
    assert!(
        error.contains("lets no program move the pointer"),
        "{error}"
    );
}
