//! The display: X11's, or that of a Wayland session.

use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};
use x11rb::rust_connection::RustConnection;

use flowpipe_desktop::advice;
use flowpipe_desktop::session::{self, Session, Variables};

use super::time_limit::within_time;
use super::{Diagnosis, desktop, wayland};

const DISPLAY: &str = "display";
const MANAGER: &str = "window-manager";
const MOUSE: &str = "xtest";

const UNREACHABLE_ADVICE: &str = "check that the X server of DISPLAY runs, and that this user may use it (XAUTHORITY, \
     `xhost`)";
const NO_MANAGER_ADVICE: &str = "start one (such as openbox): without it, the game's window can't be brought to the front \
     reliably";
const NO_XTEST_ADVICE: &str =
    "actuator-mouse can't press there: use an X server with XTEST, or `--dry-run`";

/// An X server sends names of any length.
const MAX_NAME: u32 = 64;

/// What the X server reports.
struct Reported {
    size: [u16; 2],
    /// `None`: no window manager runs.
    manager: Option<String>,
    has_xtest: bool,
}

pub fn findings() -> Vec<Diagnosis> {
    let variable = |name| std::env::var(name).ok().filter(|it| !it.is_empty());
    let (display, wayland) = (variable("DISPLAY"), variable("WAYLAND_DISPLAY"));
    let mut answers = true;
    let mut findings = match &display {
        None => without_display(wayland.as_deref()),
        Some(display) => match reported(display.clone()) {
            Ok(reported) => of_display(display, &reported),
            Err(reason) => {
                answers = false;
                unreachable_display(display, &reason)
            }
        },
    };
    let variables = Variables::of_process();
    let is_wayland = variables.session() == Session::Other;
    let ([session, portal], compositor) = match is_wayland {
        true => wayland::session(wayland.as_deref()),
        false => wayland::none(),
    };
    let is_xwayland = |display: &str| {
        let display = display.to_owned();
        answers.then(|| within_time(move || Ok(session::is_xwayland(&display))).unwrap_or(false))
    };
    let desktop = desktop::finding(&variables, compositor, is_xwayland);
    findings.extend([session, portal, desktop]);
    findings
}

fn without_display(wayland: Option<&str>) -> Vec<Diagnosis> {
    let found = "neither DISPLAY nor WAYLAND_DISPLAY is set";
    vec![
        match wayland {
            None => {
                let advice = format!(
                    "replays, `solve`, `see` and `play --terminal` need no display; for live play {}",
                    advice::choose_session()
                );
                Diagnosis::warning(DISPLAY, found, advice)
            }
            Some(_) => Diagnosis::skipped(DISPLAY, "there is no X11 display"),
        },
        Diagnosis::skipped(MANAGER, "there is no X11 display"),
        Diagnosis::skipped(MOUSE, "there is no X11 display"),
    ]
}

fn unreachable_display(display: &str, reason: &str) -> Vec<Diagnosis> {
    let found = format!("DISPLAY={display}: {reason}");
    vec![
        Diagnosis::problem(DISPLAY, found, UNREACHABLE_ADVICE),
        Diagnosis::skipped(MANAGER, "the display can't be reached"),
        Diagnosis::skipped(MOUSE, "the display can't be reached"),
    ]
}

fn of_display(display: &str, reported: &Reported) -> Vec<Diagnosis> {
    let [width, height] = reported.size;
    vec![
        Diagnosis::ok(
            DISPLAY,
            format!("X11 display {display}, {width} x {height}"),
        ),
        match &reported.manager {
            Some(name) => Diagnosis::ok(MANAGER, name.clone()),
            None => Diagnosis::warning(MANAGER, "no window manager runs", NO_MANAGER_ADVICE),
        },
        match reported.has_xtest {
            true => Diagnosis::ok(MOUSE, "the X server has XTEST: the mouse can be driven"),
            false => Diagnosis::problem(MOUSE, "the X server has no XTEST", NO_XTEST_ADVICE),
        },
    ]
}

fn reported(display: String) -> Result<Reported, String> {
    within_time(move || ask(&display).map_err(|error| error.to_string()))
}

#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("{0}")]
    Connect(#[from] x11rb::errors::ConnectError),
    #[error("{0}")]
    Connection(#[from] x11rb::errors::ConnectionError),
    #[error("{0}")]
    Reply(#[from] ReplyError),
    #[error("it has no screen")]
    NoScreen,
}

fn ask(display: &str) -> Result<Reported, AskError> {
    let (connection, screen) = RustConnection::connect(Some(display))?;
    let screen = connection.setup().roots.get(screen);
    let screen = screen.ok_or(AskError::NoScreen)?;
    let xtest = connection.query_extension(b"XTEST")?.reply()?;
    Ok(Reported {
        size: [screen.width_in_pixels, screen.height_in_pixels],
        manager: manager(&connection, screen.root)?,
        has_xtest: xtest.present,
    })
}

/// The name of the window manager. One that has ended leaves its properties behind, but not its window.
fn manager(connection: &RustConnection, root: Window) -> Result<Option<String>, AskError> {
    let atom = |name: &str| -> Result<u32, AskError> {
        Ok(connection
            .intern_atom(false, name.as_bytes())?
            .reply()?
            .atom)
    };
    let (check, name) = (atom("_NET_SUPPORTING_WM_CHECK")?, atom("_NET_WM_NAME")?);
    let window_of = |window| -> Result<Option<Window>, AskError> {
        let reply = connection.get_property(false, window, check, AtomEnum::WINDOW, 0, 1)?;
        match reply.reply() {
            Ok(reply) => Ok(reply.value32().and_then(|mut values| values.next())),
            // The window has gone.
            Err(ReplyError::X11Error(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let Some(window) = window_of(root)? else {
        return Ok(None);
    };
    if window_of(window)? != Some(window) {
        return Ok(None);
    }
    let reply = connection.get_property(false, window, name, AtomEnum::ANY, 0, MAX_NAME)?;
    let name = reply.reply().map(|reply| reply.value).unwrap_or_default();
    Ok(Some(match name.is_empty() {
        true => "a window manager without a name".to_owned(),
        false => String::from_utf8_lossy(&name).into_owned(),
    }))
}
