//! A pointer and a keyboard of this program's own.
//!
//! One device is used for all monitors: the one that reaches most of them. A keyboard is taken when the first key is to be
//! pressed, and another one when that has gone: compositors replace theirs when the person changes the layout.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_guardian::{Input, PreparedReleases};

use super::connection::{Connection, LIMIT, now};
use super::interface::{self, Capability};
use super::keymap::Keymap;
use super::refused;
use super::server::{Device, Region};
use crate::error::{DesktopError, Result};
use crate::input::button_code;
use crate::key_code;
use crate::rect::Rect;

/// How long a keyboard may take that replaces another one.
const KEYBOARD_LIMIT: Duration = Duration::from_secs(2);
/// Within a pixel, and where compositors that round find it.
const WITHIN: f64 = 0.25;
/// Where the time is in a message that releases: at the end of the frame that it ends with.
const TIME_FROM_END: usize = size_of::<u64>();

/// A monitor, as the desktop describes it.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedMonitor {
    pub place: Rect,
    /// What relates its pictures to a region, if the desktop says it.
    pub mapping_id: Option<String>,
}

/// A monitor, and the region of the device that reaches it.
#[derive(Debug, PartialEq)]
struct Reach {
    place: Rect,
    region: Region,
    /// The region has places of its own, and is known by its name.
    is_named: bool,
}

pub(crate) struct EmulatedInput {
    pointer: Pointer,
    reach: Vec<Reach>,
    keyboard: Option<Keyboard>,
    guarded: Arc<PreparedReleases>,
    /// Whether something follows each move that does nothing, so that the compositor does not leave out moves.
    keeps_moves_apart: bool,
    /// Dropped last.
    connection: Connection,
}

struct Pointer {
    device: u64,
    absolute: u64,
    button: u64,
    scroll: Option<u64>,
}

struct Keyboard {
    device: u64,
    keys: u64,
    keymap: Arc<Keymap>,
    /// How often it had been paused when it was started.
    pauses: u32,
}

impl EmulatedInput {
    /// Takes the devices that a compositor gives on a socket.
    ///
    /// # Errors
    /// [`DesktopError::NoInput`] when it gives none that reach a monitor.
    pub(crate) fn connect(
        socket: OwnedFd,
        monitors: &[EmulatedMonitor],
        keeps_moves_apart: bool,
    ) -> Result<Self> {
        Self::open(socket, monitors, keeps_moves_apart).map_err(|reason| refused(&reason))
    }

    fn open(
        socket: OwnedFd,
        monitors: &[EmulatedMonitor],
        keeps_moves_apart: bool,
    ) -> std::result::Result<Self, String> {
        let connection = Connection::open(socket).map_err(|error| error.to_string())?;
        let what = "a device that goes to a place on a monitor and has buttons";
        let (pointer, reach, start) = connection.wait(what, LIMIT, |server| {
            let ready = server.ready();
            let usable = ready.iter().filter_map(|(id, device)| {
                let pointer = Pointer::of(*id, device)?;
                Some((pointer, reach(&device.regions, monitors)))
            });
            let best = usable.max_by_key(|(_, reach)| reach.len());
            let (pointer, reach) = best.filter(|(_, reach)| !reach.is_empty())?;
            server.in_use = Some(pointer.device);
            let start = interface::start_emulating(pointer.device, server.serial, 1);
            Some((pointer, reach, start))
        })?;
        connection.send(&start)?;
        connection.sync()?;
        let mut input = Self {
            guarded: Arc::new(PreparedReleases {
                socket: connection.socket().map_err(|error| error.to_string())?,
                releases: Vec::new(),
                time_from_end: Some(TIME_FROM_END),
            }),
            pointer,
            reach,
            keyboard: None,
            keeps_moves_apart,
            connection,
        };
        input
            .prepare_releases()
            .map_err(|error| error.to_string())?;
        Ok(input)
    }

    /// Whether a place is on a monitor that the device reaches.
    pub(crate) fn reaches(&self, at: [i32; 2]) -> bool {
        self.position(at).is_some()
    }

    fn position(&self, at: [i32; 2]) -> Option<[f32; 2]> {
        self.reach.iter().find_map(|it| it.position(at))
    }

    /// Puts the pointer somewhere, in screen pixels.
    pub(crate) fn put(&mut self, at: [i32; 2]) -> Result<()> {
        self.check()?;
        self.send(&self.move_to(at)?)
    }

    /// The messages that put the pointer somewhere, in screen pixels.
    fn move_to(&self, at: [i32; 2]) -> Result<Vec<u8>> {
        let place = self.position(at).ok_or_else(|| {
            DesktopError::Input(format!(
                "{}, {} is on no monitor that the desktop's emulated pointer reaches",
                at[0], at[1]
            ))
        })?;
        let mut bytes = interface::go(self.pointer.absolute, place);
        bytes.extend(self.frame(self.pointer.device));
        if self.keeps_moves_apart {
            bytes.extend(self.nothing());
        }
        Ok(bytes)
    }

    /// Sends something that does nothing.
    pub(crate) fn send_nothing(&mut self) -> Result<()> {
        self.send(&self.nothing())
    }

    /// Puts the pointer somewhere, in screen pixels, and presses a button there: one batch, in which no move of a person comes
    /// between the two. Returns when the compositor has done both.
    pub(crate) fn press_at(&mut self, at: [i32; 2], button: u8) -> Result<()> {
        self.check()?;
        let mut bytes = self.move_to(at)?;
        bytes.extend(self.button(button, true)?);
        self.send(&bytes).and_then(|()| self.sync())
    }

    /// Presses or releases, and returns when the compositor has done it.
    pub(crate) fn press(&mut self, input: Input, is_down: bool) -> Result<()> {
        let bytes = match input {
            Input::Button(number) => self.button(number, is_down)?,
            Input::Key(code) => {
                let keyboard = self.keyboard.as_ref().ok_or_else(no_keyboard)?;
                if !self.takes_keys(keyboard) {
                    // What was pressed is released with the pause.
                    return match is_down {
                        true => Err(no_keyboard()),
                        false => Ok(()),
                    };
                }
                let number = key_code::key(code).and_then(|key| keyboard.keymap.key(key));
                let number = number.ok_or(DesktopError::Unsupported(
                    "a key that is not on the keyboard of this session, or not in all of its layouts,",
                ))?;
                let mut bytes = interface::press(keyboard.keys, number, is_down);
                bytes.extend(self.frame(keyboard.device));
                bytes
            }
        };
        match self.send(&bytes).and_then(|()| self.sync()) {
            // With the connection, the devices have ended, and what they had pressed.
            Err(DesktopError::Lost(_)) if !is_down && self.has_ended() => Ok(()),
            done => done,
        }
    }

    /// The messages that press or release a button.
    fn button(&self, number: u8, is_down: bool) -> Result<Vec<u8>> {
        let mut bytes = interface::press(self.pointer.button, button_code(number)?, is_down);
        bytes.extend(self.frame(self.pointer.device));
        Ok(bytes)
    }

    /// Whether a keyboard still takes keys since it was started.
    fn takes_keys(&self, keyboard: &Keyboard) -> bool {
        let server = self.connection.server();
        let ready = server.ready();
        let mut same = ready.iter().filter(|(id, _)| *id == keyboard.device);
        same.any(|(_, device)| device.pauses == keyboard.pauses)
    }

    /// Waits until the compositor has done all that was sent.
    pub(crate) fn sync(&self) -> Result<()> {
        self.connection
            .sync()
            .map_err(|reason| self.failure(reason))
    }

    /// Looks whether the compositor still takes input.
    pub(crate) fn check(&self) -> Result<()> {
        let end = self.connection.server().end.clone();
        end.map_or(Ok(()), |reason| Err(interrupted(&reason)))
    }

    fn has_ended(&self) -> bool {
        self.connection.server().end.is_some()
    }

    /// Takes a keyboard, if there is none. Returns whether there is another one than before.
    pub(crate) fn prepare_keys(&mut self) -> Result<bool> {
        self.check()?;
        let started = self.keyboard.as_ref().map(|it| (it.device, it.pauses));
        let taken = self
            .connection
            .wait("a keyboard", KEYBOARD_LIMIT, |server| {
                let ready = server.ready();
                let mut keyboards = ready
                    .iter()
                    .rev()
                    .filter_map(|(id, device)| Keyboard::of(*id, device));
                let is_started =
                    |(id, device): &(u64, &Device)| Some((*id, device.pauses)) == started;
                if ready.iter().any(is_started) {
                    return Some(None);
                }
                Some(Some((keyboards.next()?, server.serial)))
            });
        let Ok(taken) = taken else {
            self.check()?;
            return Err(no_keyboard());
        };
        let Some((keyboard, serial)) = taken else {
            return Ok(false);
        };
        self.send(&interface::start_emulating(keyboard.device, serial, 1))?;
        self.sync()?;
        self.keyboard = Some(keyboard);
        self.prepare_releases()
            .map_err(|error| DesktopError::Input(error.to_string()))?;
        Ok(true)
    }

    /// What releases on this connection.
    pub(crate) fn guarded(&self) -> Arc<PreparedReleases> {
        Arc::clone(&self.guarded)
    }

    fn prepare_releases(&mut self) -> std::io::Result<()> {
        let release = |device: u64, of: u64, number: u32| {
            let mut bytes = interface::press(of, number, false);
            bytes.extend(self.frame(device));
            bytes
        };
        let Pointer { device, button, .. } = self.pointer;
        let buttons = (1..=3).filter_map(|number| {
            let bytes = release(device, button, button_code(number).ok()?);
            Some((Input::Button(number), bytes))
        });
        let mut releases: Vec<_> = buttons.collect();
        if let Some(keyboard) = &self.keyboard {
            releases.extend(key_code::all().filter_map(|(code, key)| {
                let number = keyboard.keymap.key(key)?;
                let bytes = release(keyboard.device, keyboard.keys, number);
                Some((Input::Key(code), bytes))
            }));
        }
        self.guarded = Arc::new(PreparedReleases {
            socket: self.connection.socket()?,
            releases,
            time_from_end: Some(TIME_FROM_END),
        });
        Ok(())
    }

    fn frame(&self, device: u64) -> Vec<u8> {
        interface::frame(device, self.connection.server().serial, now())
    }

    fn nothing(&self) -> Vec<u8> {
        let Some(scroll) = self.pointer.scroll else {
            return Vec::new();
        };
        let mut bytes = interface::scroll_by_nothing(scroll);
        bytes.extend(self.frame(self.pointer.device));
        bytes
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        let sent = self.connection.send(bytes);
        sent.map_err(|reason| self.failure(reason))
    }

    /// What was not sent or answered. After that, it is not known what has been done: it is over.
    fn failure(&self, reason: String) -> DesktopError {
        self.connection.end(&reason);
        interrupted(&reason)
    }
}

impl Drop for EmulatedInput {
    fn drop(&mut self) {
        let serial = self.connection.server().serial;
        let keyboard = self.keyboard.as_ref().map(|it| it.device);
        for device in [self.pointer.device].into_iter().chain(keyboard) {
            // At the end of the connection the devices end too.
            let _ = self
                .connection
                .send(&interface::stop_emulating(device, serial));
        }
    }
}

impl Pointer {
    /// `None`: it does not go to a place, or has no buttons.
    fn of(id: u64, device: &Device) -> Option<Self> {
        Some(Self {
            device: id,
            absolute: device.part(Capability::Absolute)?,
            button: device.part(Capability::Button)?,
            scroll: device.part(Capability::Scroll),
        })
    }
}

impl Keyboard {
    fn of(id: u64, device: &Device) -> Option<Self> {
        Some(Self {
            device: id,
            keys: device.part(Capability::Keyboard)?,
            keymap: device.keymap.clone()?,
            pauses: device.pauses,
        })
    }
}

/// The monitors that a device reaches.
fn reach(regions: &[Region], monitors: &[EmulatedMonitor]) -> Vec<Reach> {
    let of = |monitor: &EmulatedMonitor| {
        let place = monitor.place;
        let named = monitor.mapping_id.as_ref().and_then(|name| {
            let mut regions = regions.iter();
            regions.find(|it| it.mapping_id.as_ref() == Some(name))
        });
        let mut regions = regions.iter();
        let there = regions.find(|it| it.place().contains([place.x, place.y]));
        let is_named = named.is_some();
        named.or(there).map(|region| Reach {
            place,
            region: region.clone(),
            is_named,
        })
    };
    monitors.iter().filter_map(of).collect()
}

impl Region {
    fn place(&self) -> Rect {
        let [x, y] = self.offset.map(u32::cast_signed);
        let [width, height] = self.size;
        Rect {
            x,
            y,
            width,
            height,
        }
    }
}

impl Reach {
    /// Where a place of the screen is for the device. `None`: beyond what it reaches.
    fn position(&self, at: [i32; 2]) -> Option<[f32; 2]> {
        if !self.place.contains(at) {
            return None;
        }
        if !self.is_named {
            let there = self.region.place().contains(at);
            return there.then(|| at.map(|at| (f64::from(at) + WITHIN) as f32));
        }
        // A region may have another size than the monitor has in the compositor's units.
        let Rect {
            x,
            y,
            width,
            height,
        } = self.place;
        let [left, top] = self.region.offset.map(f64::from);
        let [columns, rows] = self.region.size.map(f64::from);
        let along = |at: i32, from: i32, length: u32, first: f64, units: f64| {
            let within = f64::from(at.abs_diff(from)) + WITHIN;
            (first + within * units / f64::from(length)) as f32
        };
        Some([
            along(at[0], x, width, left, columns),
            along(at[1], y, height, top, rows),
        ])
    }
}

fn interrupted(reason: &str) -> DesktopError {
    DesktopError::Lost(format!("it has interrupted the emulated input: {reason}"))
}

fn no_keyboard() -> DesktopError {
    DesktopError::Unsupported(
        "pressing keys (the desktop gives no keyboard through libei, or none with a keymap)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONITOR: Rect = Rect {
        x: 100,
        y: -50,
        width: 640,
        height: 480,
    };

    fn region(offset: [u32; 2], size: [u32; 2], name: Option<&str>) -> Region {
        Region {
            offset,
            size,
            mapping_id: name.map(str::to_owned),
        }
    }

    fn reach_of(regions: Vec<Region>, name: Option<&str>, place: Rect) -> Vec<Reach> {
        let mapping_id = name.map(str::to_owned);
        reach(&regions, &[EmulatedMonitor { place, mapping_id }])
    }

    #[test]
    fn a_region_with_the_monitor_s_name_has_places_of_its_own() {
        let regions = || {
            vec![
                region([0, 0], [2000, 2000], Some("other")),
                region([3000, 0], [1280, 960], Some("it")),
            ]
        };
        let reach = &reach_of(regions(), Some("it"), MONITOR)[0];
        assert_eq!(reach.position([100, -50]), Some([3000.5, 0.5]));
        assert_eq!(reach.position([739, 429]), Some([4278.5, 958.5]));
        assert_eq!(reach.position([740, 0]), None);
        // A place above the screen's first one can't be in a region.
        assert_eq!(reach_of(regions(), Some("third"), MONITOR), []);
    }

    #[test]
    fn a_region_without_a_name_has_the_screen_s_places() {
        let place = Rect { y: 50, ..MONITOR };
        let regions = vec![
            region([0, 0], [100, 600], None),
            region([100, 50], [600, 480], None),
        ];
        let reach = &reach_of(regions, Some("it"), place)[0];
        assert_eq!(reach.position([100, 50]), Some([100.25, 50.25]));
        assert_eq!(reach.position([699, 529]), Some([699.25, 529.25]));
        assert_eq!(reach.position([700, 60]), None, "beyond the region");
        assert_eq!(reach.position([99, 60]), None, "beyond the monitor");
    }
}
