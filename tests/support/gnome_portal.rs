//! GNOME's desktop portal in a session of Mutter, with its real dialog, and a hand that answers it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use flowpipe_desktop::input::{Input, InputDevice};
use flowpipe_desktop::{Desktop, Grabber, Rect};

use crate::live_play::LiveScreen;
use crate::mutter::{Mutter, start_silent};
use crate::screen::wait_for;

/// What shows the dialog.
const BACKEND: &str = "/usr/libexec/xdg-desktop-portal-gnome";
/// How long a click may take to have an effect before it is repeated.
const EFFECT: Duration = Duration::from_secs(10);

/// The switch "Allow Remote Interaction" of the dialog of GNOME 43: logical pixels from the middle of the monitor.
const SWITCH: [i32; 2] = [190, 72];
/// The dialog's button "Share", to the right of the game's window, so that nothing else changes there.
const SHARE: [i32; 2] = [228, -127];
/// How much is looked at around these places, in logical pixels: less than the width and height of what is drawn there.
const LOOKED_AT: [i32; 2] = [24, 12];

/// A session in which the portal answers. It ends when it is dropped.
pub struct GnomePortal {
    /// They end in the opposite order, and before the compositor.
    programs: Vec<Child>,
    folder: tempfile::TempDir,
    mutter: Mutter,
}

impl GnomePortal {
    /// Starts one with a screen of a width and height in pixels and a scale, such as "1.25". `None`: GNOME's portal is not
    /// installed, which is printed.
    ///
    /// # Panics
    /// When something else is not installed or does not start.
    pub fn start(size: [u32; 2], scale: &str) -> Option<Self> {
        if !Path::new(BACKEND).exists() {
            flowpipe_testing::note!("skipped: xdg-desktop-portal-gnome is not installed");
            return None;
        }
        let mut portal = Self {
            programs: Vec::new(),
            folder: tempfile::tempdir().expect("a temporary folder"),
            mutter: Mutter::start(size, scale),
        };
        portal.run("/usr/libexec/xdg-permission-store");
        portal.run(BACKEND);
        portal.wait_for("org.freedesktop.impl.portal.desktop.gnome");
        portal.run("/usr/libexec/xdg-desktop-portal");
        portal.wait_for("org.freedesktop.portal.Desktop");
        Some(portal)
    }

    /// Starts a program as the user of the test, and not as that of the compositor: the portal looks into the `/proc` of
    /// those that call it.
    fn run(&mut self, program: &str) {
        let mut command = Command::new(program);
        self.mutter.set(&mut command);
        command
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path())
            .env("GSETTINGS_BACKEND", "memory")
            .env("GDK_BACKEND", "wayland")
            // Without a graphics card the dialog is drawn sooner so.
            .env("GSK_RENDERER", "cairo");
        self.programs.push(start_silent(&mut command));
    }

    /// Waits until a name on the bus has an owner.
    fn wait_for(&mut self, name: &str) {
        wait_for(name, || {
            for program in &mut self.programs {
                let ended = program.try_wait().expect("it was started");
                assert!(ended.is_none(), "{program:?} did not start: {ended:?}");
            }
            let bus = "org.freedesktop.DBus";
            let method = "org.freedesktop.DBus.NameHasOwner";
            let answer = self
                .mutter
                .call(bus, "/org/freedesktop/DBus", method, &[name])?;
            answer.starts_with("(true").then_some(())
        });
    }

    /// Waits for the dialog, and allows what it asks for. Then the dialog is gone.
    pub fn allow(&self) {
        Hand::new(&self.mutter).allow();
    }
}

impl LiveScreen for GnomePortal {
    fn set(&self, command: &mut Command) {
        self.mutter.set(command);
    }

    fn wait_for_window(&self, title: &str) {
        self.mutter.wait_for_window(title);
    }

    fn save_picture(&self, path: &Path) {
        self.mutter.save_picture(path);
    }
}

impl Drop for GnomePortal {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            // It may have ended by itself; then there is nothing to end.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// Clicks in the dialog as a person would, through Mutter's own interfaces, when it is seen.
struct Hand {
    monitor: Rect,
    grabber: Grabber,
    device: Box<dyn InputDevice>,
}

impl Hand {
    fn new(mutter: &Mutter) -> Self {
        let desktop = Desktop::connect_mutter(&mutter.bus(), &mutter.pipewire_socket());
        let desktop = desktop.unwrap();
        Self {
            monitor: desktop.monitors().unwrap()[0].place,
            grabber: desktop.grabber().unwrap(),
            device: desktop.input().unwrap(),
        }
    }

    fn allow(mut self) {
        // A click before the dialog is drawn would go to the window below it. A move beside the game does no harm, and
        // programs learn that there is a pointer: there is none before.
        wait_for("dialog", || {
            self.device.put(self.at(SHARE)).unwrap();
            self.look(SWITCH).iter().all(is_light).then_some(())
        });
        // The button can be pressed already, but would share the screen alone.
        self.click_until(SWITCH, |hand| hand.look(SWITCH).iter().any(is_accent));
        wait_for("button", || {
            self.look(SHARE).iter().any(is_accent).then_some(())
        });
        self.click_until(SHARE, |hand| !hand.look(SHARE).iter().any(is_accent));
    }

    /// Clicks, and again where that has no effect: the dialog may not have been ready.
    fn click_until(&mut self, place: [i32; 2], has_effect: impl Fn(&mut Self) -> bool) {
        wait_for("effect of a click", || {
            let at = self.at(place);
            self.device.put(at).unwrap();
            self.device.press(Input::Button(1)).unwrap();
            self.device.release(Input::Button(1)).unwrap();
            let clicked = Instant::now();
            while clicked.elapsed() < EFFECT {
                if has_effect(self) {
                    return Some(());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            None
        });
    }

    /// A place on the screen, given from the middle of the monitor.
    fn at(&self, [x, y]: [i32; 2]) -> [i32; 2] {
        let Rect { width, height, .. } = self.monitor;
        let [middle_x, middle_y] = [width, height].map(|length| length.cast_signed() / 2);
        [self.monitor.x + middle_x + x, self.monitor.y + middle_y + y]
    }

    /// The colours around a place: red, green, blue.
    fn look(&mut self, place: [i32; 2]) -> Vec<[u8; 3]> {
        let [x, y] = self.at(place);
        let [width, height] = LOOKED_AT;
        let rect = Rect {
            x: x - width / 2,
            y: y - height / 2,
            width: width.cast_unsigned(),
            height: height.cast_unsigned(),
        };
        let picture = self.grabber.grab(rect).unwrap();
        let pixels = picture.expect("it is on the screen").pixels;
        let colours = pixels.chunks_exact(4).map(|it| [it[2], it[1], it[0]]);
        colours.collect()
    }
}

/// Whether a colour is one of the dialog, with the switch off. The game is black, and what is behind it dark.
fn is_light(colour: &[u8; 3]) -> bool {
    colour.iter().all(|it| *it > 180)
}

/// Whether a colour is GNOME's blue: that of a switch which is on, and of a button which can be pressed. No colour of the
/// game is like it.
fn is_accent([red, green, blue]: &[u8; 3]) -> bool {
    blue.saturating_sub(*red) > 130 && (90..190).contains(green)
}
