//! `flowpipe doctor`, with a display, without one, and with one that can't be reached.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use flowpipe_tests::{Ran, built, flowpipe};
use serde_json::Value;

use crate::made_up_compositor::{Flaws, MadeUpCompositor};
use crate::mutter::Mutter;
use crate::portal::PortalSession;
use crate::screen::Screen;
use crate::sway::Sway;

fn doctor(display: Option<&str>, more: impl FnOnce(&mut Command)) -> Ran {
    let mut command = flowpipe(&["doctor", "--json"]);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"] {
        command.env_remove(name);
    }
    if let Some(display) = display {
        command.env("DISPLAY", display);
    }
    more(&mut command);
    command.output().unwrap().into()
}

fn check(printed: &Value, name: &str) -> Value {
    let mut checks = printed["checks"].as_array().unwrap().iter();
    let found = checks.find(|it| it["check"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name}: {printed:#}"));
    if ["warning", "problem"]
        .iter()
        .any(|it| found["severity"] == *it)
    {
        assert!(found["advice"].is_string(), "{found:#}");
    }
    found.clone()
}

fn expect(printed: &Value, name: &str, severity: &str, text: &str) {
    let found = check(printed, name);
    assert_eq!(found["severity"], severity, "{found:#}");
    let said = found["found"].as_str().unwrap();
    assert!(said.contains(text), "{found:#}");
}

#[test]
fn a_screen_with_a_window_manager_is_all_that_is_needed() {
    let screen = Screen::start_with_manager();
    let printed = doctor(Some(screen.display()), |_| {}).expect(0).json();
    expect(&printed, "display", "ok", "1280 x 1200");
    expect(&printed, "window-manager", "ok", "lackbox");
    expect(&printed, "xtest", "ok", "XTEST");
    expect(&printed, "wayland", "ok", "not a Wayland session");
    let words = "It reports windows, other windows over them, panels and notifications over them, the pointer's place and";
    expect(&printed, "desktop", "ok", words);
    expect(&printed, "desktop", "ok", screen.display());
    expect(&printed, "opencv", "ok", "vision-opencv loads");
    expect(&printed, "plugins", "ok", " in ");
    assert_eq!(printed["problems"], 0);
    // As text, with advice.
    let without: Ran = flowpipe(&["doctor"])
        .env_remove("DISPLAY")
        .env("WAYLAND_DISPLAY", "wayland-7")
        .output()
        .unwrap()
        .into();
    let text = without.expect(1).stdout;
    assert!(text.contains("a Wayland session (wayland-7)"), "{text}");
    assert!(
        text.contains("-> check that the compositor of WAYLAND_DISPLAY runs"),
        "{text}"
    );
    assert!(text.contains("1 problem, "), "{text}");
}

#[test]
fn a_wayland_session_is_described() {
    let sway = Sway::start([800, 600], "1");
    let printed = doctor(None, |command| sway.set(command)).expect(0).json();
    expect(&printed, "display", "skipped", "no X11 display");
    expect(
        &printed,
        "wayland",
        "ok",
        "pictures, monitors, mouse, windows (sway)",
    );
    let words =
        "It reports windows, other windows over them and the hotkey, not panels and notifications";
    expect(&printed, "desktop", "ok", words);
    let without_sway = |command: &mut Command| {
        sway.set(command);
        command.env_remove("SWAYSOCK");
    };
    let printed = doctor(None, without_sway).expect(0).json();
    expect(
        &printed,
        "wayland",
        "warning",
        "where windows are is unknown",
    );
    let socket = format!("`export SWAYSOCK={}`", sway.own_socket().display());
    let advice = check(&printed, "wayland")["advice"].to_string();
    assert!(advice.contains(&socket), "{advice}");
    let words = "without SWAYSOCK, by WAYLAND_DISPLAY=wayland-1). It reports nothing: not windows";
    expect(&printed, "desktop", "ok", words);
    // A shell without the session's variables, and one with a wrong one.
    let export = format!(
        "`export WAYLAND_DISPLAY=wayland-1 SWAYSOCK={}`",
        sway.own_socket().display()
    );
    for (display, check_name) in [(None, "display"), (Some("wayland-9"), "wayland")] {
        let printed = doctor(None, |command| {
            sway.set(command);
            command.env_remove("WAYLAND_DISPLAY").env_remove("SWAYSOCK");
            command.env_remove("XDG_SESSION_TYPE");
            command.envs(display.map(|name| ("WAYLAND_DISPLAY", name)));
        });
        let advice = check(&printed.json(), check_name)["advice"].clone();
        let advice = advice.as_str().unwrap();
        assert!(advice.contains(&export), "{advice}");
    }
}

#[test]
fn a_session_of_gnome_is_described() {
    let mutter = Mutter::start([800, 600], "1");
    let described_with = |code: i32, change: &dyn Fn(&mut Command)| {
        let set = |command: &mut Command| {
            mutter.set(command);
            change(command);
        };
        doctor(None, set).expect(code).json()
    };
    let described = |change: &dyn Fn(&mut Command)| described_with(0, change);
    let printed = described(&|_| {});
    let words = "of GNOME: pictures, monitors, mouse; where windows are is unknown";
    expect(&printed, "wayland", "ok", words);
    assert_eq!(printed["warnings"], 0, "{printed:#}");
    let words = "It reports the pointer's place, not windows";
    expect(&printed, "desktop", "ok", words);
    // The type of the session is enough.
    let printed = described(&|command| {
        command.env_remove("WAYLAND_DISPLAY");
    });
    let words = "(by XDG_SESSION_TYPE=wayland)";
    expect(&printed, "desktop", "ok", words);
    // Nothing of the screen is seen without it.
    let printed = described_with(1, &|command| {
        command.env("PIPEWIRE_REMOTE", "nowhere");
    });
    let words = "GNOME, in which PipeWire does not answer";
    expect(&printed, "wayland", "problem", words);
    let advice = check(&printed, "wayland")["advice"].to_string();
    assert!(
        advice.contains("systemctl --user start pipewire"),
        "{advice}"
    );
    let printed = described(&|command| {
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    });
    let words = "without wlroots' protocols for: pictures";
    expect(&printed, "wayland", "warning", words);
    let words = "\"auto\" is an error: this Wayland session (by WAYLAND_DISPLAY=";
    expect(&printed, "desktop", "warning", words);
    // Nor is it captured.
    let mut run = flowpipe(&["run", "live", "--set", "screen.monitor=1"]);
    mutter.set(&mut run);
    run.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    let ran = Ran::from(run.output().unwrap());
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let words = "does not have wlroots' protocols, and neither GNOME nor a desktop portal";
    assert!(ran.stderr.contains(words), "{ran:#?}");
    // Another bus is not used in place of one whose address can't be read.
    let address = <OsStr as OsStrExt>::from_bytes(b"unix:path=/caf\xe9/bus");
    let mut run = flowpipe(&["run", "live", "--set", "screen.monitor=1"]);
    mutter.set(&mut run);
    run.env("DBUS_SESSION_BUS_ADDRESS", address);
    let ran = Ran::from(run.output().unwrap());
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let words = "DBUS_SESSION_BUS_ADDRESS is not UTF-8: set it";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

/// As inside of a compositor in a window of GNOME, which has the same bus.
#[test]
fn another_compositor_than_that_on_the_bus_is_a_problem() {
    let mutter = Mutter::start([800, 600], "1");
    let compositor = MadeUpCompositor::start(Flaws {
        has_no_pictures: true,
        ..Flaws::default()
    });
    let set = |command: &mut Command| {
        mutter.set(command);
        command.env("WAYLAND_DISPLAY", compositor.socket());
    };
    let printed = doctor(None, set).expect(1).json();
    let words = "the GNOME on the session's bus is another one";
    expect(&printed, "wayland", "problem", words);
    let advice = check(&printed, "wayland")["advice"].to_string();
    assert!(advice.contains("DBUS_SESSION_BUS_ADDRESS"), "{advice}");
    // Nor is it played.
    let mut run = flowpipe(&["run", "live", "--set", "screen.monitor=1"]);
    set(&mut run);
    let ran = Ran::from(run.output().unwrap());
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let words = "is not the GNOME that answers on the session's bus";
    assert!(ran.stderr.contains(words), "{ran:#?}");
}

#[test]
fn a_desktop_portal_is_described_and_asks_nobody() {
    let session = PortalSession::start([800, 600], "1");
    let printed = doctor(None, |command| session.set(command))
        .expect(0)
        .json();
    let words = "the desktop portal has ScreenCast 4 of monitors; no RemoteDesktop with a pointer: no mouse";
    expect(&printed, "portal", "ok", words);
    // The compositor's own protocols go first.
    let words = "\"auto\" is wlroots (sway, without SWAYSOCK, by WAYLAND_DISPLAY";
    expect(&printed, "desktop", "ok", words);
    let printed = doctor(None, |command| {
        session.set(command);
        command.env_remove("WAYLAND_DISPLAY");
    });
    let printed = printed.expect(0).json();
    let words = "\"auto\" is portal, which asks in a dialog";
    expect(&printed, "desktop", "ok", words);
    for name in ["wayland", "desktop"] {
        let advice = check(&printed, name)["advice"].to_string();
        assert!(advice.contains("captured, not played"), "{advice}");
    }
    let kept = session.state().join("portal-screen.toml");
    assert!(!kept.exists(), "nothing was allowed");
}

#[test]
fn no_window_manager_is_a_warning() {
    let screen = Screen::start();
    let printed = doctor(Some(screen.display()), |_| {}).expect(0).json();
    expect(
        &printed,
        "window-manager",
        "warning",
        "no window manager runs",
    );
    expect(&printed, "xtest", "ok", "XTEST");
}

#[test]
fn no_display_is_a_warning_and_an_unreachable_one_a_problem() {
    let printed = doctor(None, |_| {}).expect(0).json();
    expect(&printed, "display", "warning", "neither DISPLAY nor");
    expect(&printed, "desktop", "skipped", "neither DISPLAY nor");
    expect(&printed, "xtest", "skipped", "no X11 display");
    let printed = doctor(Some(":4711"), |_| {}).expect(1).json();
    expect(&printed, "display", "problem", "DISPLAY=:4711: ");
}

/// A program without its plugins, and one whose vision can't be loaded.
#[test]
fn plugins_that_are_missing_or_broken_are_problems() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("flowpipe");
    // By another process: a child that another test starts meanwhile would have a copy's descriptor, and the system starts
    // no file that is open for writing.
    let copied = Command::new("cp")
        .arg(built().join("flowpipe"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let alone = || -> Ran {
        let run = Command::new(&program)
            .args(["doctor", "--json"])
            .current_dir(folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .env_remove("FLOWPIPE_PLUGIN_PATH")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .output();
        run.unwrap().into()
    };
    let printed = alone().expect(1).json();
    expect(&printed, "plugins", "problem", "0 in 1 folder\n");
    expect(
        &printed,
        "opencv",
        "problem",
        "there is no plugin vision-opencv",
    );
    let library = folder.path().join("libvision_opencv.so");
    std::fs::write(&library, "no library").unwrap();
    let printed = alone().expect(1).json();
    expect(&printed, "opencv", "problem", "not a dynamic library");
    let advice = check(&printed, "opencv")["advice"].to_string();
    assert!(advice.contains("libopencv-core406"), "{advice}");
}

#[test]
fn too_little_space_is_a_problem() {
    // A file system that reports no space.
    let printed = doctor(None, |command| {
        command.current_dir("/proc");
    });
    let printed = printed.json();
    expect(&printed, "disk-space", "problem", "0 MiB free");
}
