//! The parts of the protocol that are used: its interfaces, and the numbers of their requests.

use super::wire::Request;

/// What a device can do, of what this program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capability {
    /// To go to a place.
    Absolute,
    Button,
    Scroll,
    Keyboard,
}

impl Capability {
    pub(super) const ALL: [Self; 4] = [Self::Absolute, Self::Button, Self::Scroll, Self::Keyboard];

    pub(super) fn of(interface: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.interface() == interface)
    }

    pub(super) const fn interface(self) -> &'static str {
        match self {
            Self::Absolute => "ei_pointer_absolute",
            Self::Button => "ei_button",
            Self::Scroll => "ei_scroll",
            Self::Keyboard => "ei_keyboard",
        }
    }
}

/// The version of interfaces that is used, and that of devices, whose regions have names.
const VERSION: u32 = 1;
const DEVICE_VERSION: u32 = 2;
/// Of the handshake's context types: this program sends input.
const SENDER: u32 = 2;
/// The object that is there from the beginning.
pub(super) const HANDSHAKE: u64 = 0;
/// Objects that the other side creates have this number or a higher one.
pub(super) const FIRST_OF_SERVER: u64 = 0xff00_0000_0000_0000;

/// The answer to the first message.
pub(super) fn introduction() -> Vec<u8> {
    let handshake = |opcode| Request::new(HANDSHAKE, opcode);
    let mut bytes = handshake(0).number(VERSION).bytes();
    bytes.extend(handshake(3).text("flowpipe").bytes());
    bytes.extend(handshake(2).number(SENDER).bytes());
    let general = ["ei_connection", "ei_callback", "ei_pingpong", "ei_seat"];
    let capabilities = Capability::ALL.map(Capability::interface);
    let versions = general
        .into_iter()
        .chain(capabilities)
        .map(|name| (name, VERSION));
    for (name, version) in versions.chain([("ei_device", DEVICE_VERSION)]) {
        bytes.extend(handshake(4).text(name).number(version).bytes());
    }
    bytes.extend(handshake(1).bytes());
    bytes
}

/// Asks for an answer when all before it is done. `callback`: a new object.
pub(super) fn sync(connection: u64, callback: u64) -> Vec<u8> {
    let request = Request::new(connection, 0);
    request.id(callback).number(VERSION).bytes()
}

pub(super) fn pong(ping: u64) -> Vec<u8> {
    Request::new(ping, 0).id(0).bytes()
}

pub(super) fn bind(seat: u64, capabilities: u64) -> Vec<u8> {
    Request::new(seat, 1).id(capabilities).bytes()
}

pub(super) fn start_emulating(device: u64, serial: u32, sequence: u32) -> Vec<u8> {
    let request = Request::new(device, 1);
    request.number(serial).number(sequence).bytes()
}

pub(super) fn stop_emulating(device: u64, serial: u32) -> Vec<u8> {
    Request::new(device, 2).number(serial).bytes()
}

/// Has the input before it done. `time`: in microseconds, of the monotonic clock.
pub(super) fn frame(device: u64, serial: u32, time: u64) -> Vec<u8> {
    Request::new(device, 3).number(serial).id(time).bytes()
}

pub(super) fn go(absolute: u64, [x, y]: [f32; 2]) -> Vec<u8> {
    Request::new(absolute, 1).fraction(x).fraction(y).bytes()
}

pub(super) fn scroll_by_nothing(scroll: u64) -> Vec<u8> {
    Request::new(scroll, 1).fraction(0.0).fraction(0.0).bytes()
}

/// Presses or releases a button or a key, by Linux's number. `of`: the device's buttons or keys.
pub(super) fn press(of: u64, number: u32, is_down: bool) -> Vec<u8> {
    let request = Request::new(of, 1);
    request.number(number).number(u32::from(is_down)).bytes()
}
