//! What the other side has said: its objects, and how far they are. Without I/O.
//!
//! The end of the connection, or of a device in use, is final. Objects are counted, and what is not understood is passed
//! over, so that memory is bounded.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::interface::{self, Capability, FIRST_OF_SERVER, HANDSHAKE};
use super::keymap::Keymap;
use super::wire::{Arguments, Incoming, Malformed, Message};

/// The most objects at the same time, and the most regions of a device.
const MOST_OBJECTS: usize = 512;
const MOST_REGIONS: usize = 64;
/// The longest name of a region, in bytes.
const LONGEST_NAME: usize = 256;
/// The longest explanation that is passed on, in characters.
const LONGEST_EXPLANATION: usize = 200;
/// Why it is over. libeis removes the parts of a device first.
const REMOVED: &str = "it has removed the pointer, as for other monitors";
/// No screen of today is wider or higher, or further away, in the compositor's units.
const FARTHEST: u32 = 1 << 17;

/// Why the connection has to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("it sends what can't be read: {0}")]
    Malformed(#[from] Malformed),
    #[error("it sends what can't be: {0}")]
    Impossible(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Connection,
    Seat,
    Device,
    /// Of a device: its capability, if it is used.
    Part(u64, Option<Capability>),
}

/// A part of the screen that a device reaches, in the compositor's units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Region {
    pub offset: [u32; 2],
    pub size: [u32; 2],
    /// What relates it to something elsewhere, such as a stream of pictures.
    pub mapping_id: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    seat: u64,
    /// The objects of its capabilities, in the order of [`Capability::ALL`].
    parts: [Option<u64>; Capability::ALL.len()],
    pub regions: Vec<Region>,
    /// Of the next region.
    mapping_id: Option<String>,
    pub keymap: Option<Arc<Keymap>>,
    is_described: bool,
    is_resumed: bool,
    /// How often it was paused: it has to be started again after each.
    pub pauses: u32,
}

impl Device {
    /// The object by which it does something.
    pub(super) fn part(&self, capability: Capability) -> Option<u64> {
        *self.parts.get(capability as usize)?
    }

    /// Whether it takes input.
    pub(super) fn is_ready(&self) -> bool {
        self.is_described && self.is_resumed
    }
}

#[derive(Default)]
pub(super) struct Server {
    objects: HashMap<u64, Object>,
    devices: HashMap<u64, Device>,
    /// Of each seat: what has to be asked for to get the capabilities that are used.
    seats: HashMap<u64, u64>,
    pub connection: Option<u64>,
    is_introduced: bool,
    /// The number that came last. It goes back with what is sent.
    pub serial: u32,
    /// The last question for an answer when all is done, and the last one that was answered.
    pub asked: u64,
    pub answered: u64,
    /// The device whose end is the end.
    pub in_use: Option<u64>,
    /// Why it is over.
    pub end: Option<String>,
}

impl Server {
    /// Devices that take input, in the order in which they came.
    pub(super) fn ready(&self) -> Vec<(u64, &Device)> {
        let devices = self.devices.iter().map(|(id, device)| (*id, device));
        let mut ready: Vec<_> = devices.filter(|(_, device)| device.is_ready()).collect();
        ready.sort_by_key(|(id, _)| *id);
        ready
    }

    /// The number of the next question for an answer. Objects of this side are numbered from one.
    pub(super) fn next_question(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// It is over. The first reason counts.
    pub(super) fn end(&mut self, reason: impl Into<String>) {
        self.end.get_or_insert_with(|| reason.into());
    }

    /// Takes a message. Returns what is to be sent.
    ///
    /// # Errors
    /// When it can't be taken: nothing of this connection is trusted any more.
    pub(super) fn take(
        &mut self,
        message: &Message,
        incoming: &mut Incoming,
    ) -> Result<Vec<u8>, Broken> {
        let id = message.object;
        let mut with = message.arguments();
        let opcode = message.opcode;
        if id == HANDSHAKE {
            return self.take_handshake(opcode, with);
        }
        if id < FIRST_OF_SERVER {
            // An object of this side: an answer to a question.
            let is_answer = opcode == 0 && id > self.answered && id <= self.asked;
            with.id()?;
            with.end()?;
            if is_answer {
                self.answered = id;
            }
            return Ok(Vec::new());
        }
        match self.objects.get(&id).copied() {
            Some(Object::Connection) => self.take_connection(opcode, with),
            Some(Object::Seat) => self.take_seat(id, opcode, with),
            Some(Object::Device) => {
                self.take_device(id, opcode, with)?;
                Ok(Vec::new())
            }
            Some(Object::Part(device, capability)) => {
                self.take_part((id, device, capability), opcode, with, incoming)?;
                Ok(Vec::new())
            }
            None => Err(Broken::Impossible("an object that is not there")),
        }
    }

    fn take_handshake(&mut self, opcode: u32, mut with: Arguments<'_>) -> Result<Vec<u8>, Broken> {
        match opcode {
            0 if !self.is_introduced => {
                with.number()?;
                self.is_introduced = true;
                with.end()?;
                return Ok(interface::introduction());
            }
            1 if self.is_introduced => {
                with.text()?;
                with.number()?;
            }
            2 if self.is_introduced && self.connection.is_none() => {
                self.serial = with.number()?;
                let id = self.create(&mut with, Object::Connection)?;
                self.connection = Some(id);
            }
            _ => return Err(Broken::Impossible("a handshake out of turn")),
        }
        with.end()?;
        Ok(Vec::new())
    }

    fn take_connection(&mut self, opcode: u32, mut with: Arguments<'_>) -> Result<Vec<u8>, Broken> {
        let mut reply = Vec::new();
        match opcode {
            0 => {
                self.serial = with.number()?;
                let reason = with.number()?;
                let explanation = with.text()?.unwrap_or_default();
                self.end(disconnected(reason, explanation));
            }
            1 => {
                let seat = self.create(&mut with, Object::Seat)?;
                self.seats.insert(seat, 0);
            }
            2 => {
                // Of an object that this side knew until a moment ago.
                self.serial = with.number()?;
                with.id()?;
            }
            3 => {
                // It ends with the answer: it need not be kept.
                let ping = with.id()?;
                with.number()?;
                reply = interface::pong(ping);
            }
            _ => return Err(Broken::Impossible("an event of a connection")),
        }
        with.end()?;
        Ok(reply)
    }

    fn take_seat(
        &mut self,
        id: u64,
        opcode: u32,
        mut with: Arguments<'_>,
    ) -> Result<Vec<u8>, Broken> {
        let mut reply = Vec::new();
        match opcode {
            0 => {
                self.serial = with.number()?;
                self.remove_seat(id);
            }
            1 => _ = with.text()?,
            2 => {
                let mask = with.id()?;
                let name = with.text()?.unwrap_or_default();
                if Capability::of(name).is_some() {
                    *self.seats.entry(id).or_default() |= mask;
                }
            }
            3 => {
                let wanted = self.seats.get(&id).copied().unwrap_or_default();
                reply = interface::bind(id, wanted);
            }
            4 => {
                let device = self.create(&mut with, Object::Device)?;
                let described = Device {
                    seat: id,
                    ..Device::default()
                };
                self.devices.insert(device, described);
            }
            _ => return Err(Broken::Impossible("an event of a seat")),
        }
        with.end()?;
        Ok(reply)
    }

    fn take_device(&mut self, id: u64, opcode: u32, mut with: Arguments<'_>) -> Result<(), Broken> {
        let Some(device) = self.devices.get_mut(&id) else {
            return Err(Broken::Impossible("an object that is not there"));
        };
        if device.is_described && matches!(opcode, 1..=6 | 12) {
            return Err(Broken::Impossible("a device that changes"));
        }
        match opcode {
            0 => {
                self.serial = with.number()?;
                self.remove_device(id);
            }
            1 => _ = with.text()?,
            2 => _ = with.number()?,
            3 => _ = (with.number()?, with.number()?),
            4 => {
                let mapping_id = device.mapping_id.take();
                let region = region(&mut with, mapping_id)?;
                if device.regions.len() == MOST_REGIONS {
                    return Err(Broken::Impossible("a device of so many regions"));
                }
                device.regions.push(region);
            }
            5 => {
                let part = with.id()?;
                let capability = Capability::of(with.text()?.unwrap_or_default());
                with.number()?;
                if let Some(place) = capability.and_then(|it| device.parts.get_mut(it as usize)) {
                    *place = Some(part);
                }
                self.insert(part, Object::Part(id, capability))?;
            }
            6 => device.is_described = true,
            7 => {
                device.is_resumed = true;
                self.serial = with.number()?;
            }
            8 => {
                device.is_resumed = false;
                device.pauses = device.pauses.wrapping_add(1);
                self.serial = with.number()?;
                if self.in_use == Some(id) {
                    self.end("it has paused the pointer");
                }
            }
            // What a receiver of input would get.
            9 | 11 => return Err(Broken::Impossible("input to this program")),
            10 => self.serial = with.number()?,
            12 => {
                let name = with.text()?;
                let name = name.filter(|name| name.len() <= LONGEST_NAME);
                device.mapping_id = name.map(str::to_owned);
            }
            _ => return Err(Broken::Impossible("an event of a device")),
        }
        Ok(with.end()?)
    }

    /// Takes an event of a device's capability. Of those, a keyboard alone has something to say to who sends input.
    fn take_part(
        &mut self,
        (id, device, capability): (u64, u64, Option<Capability>),
        opcode: u32,
        mut with: Arguments<'_>,
        incoming: &mut Incoming,
    ) -> Result<(), Broken> {
        match (opcode, capability) {
            (0, _) => {
                self.serial = with.number()?;
                self.objects.remove(&id);
                if let Some(device) = self.devices.get_mut(&device) {
                    device.parts.iter_mut().for_each(|part| {
                        part.take_if(|it| *it == id);
                    });
                }
                if self.in_use == Some(device) {
                    self.end(REMOVED);
                }
                Ok(with.end()?)
            }
            (1, Some(Capability::Keyboard)) => {
                let (kind, size) = (with.number()?, with.number()?);
                with.end()?;
                let file: OwnedFd = incoming.file()?;
                if let Some(device) = self.devices.get_mut(&device) {
                    // A keyboard without keys that are understood presses none.
                    device.keymap = Keymap::read(kind, size, file).map(Arc::new);
                }
                Ok(())
            }
            // Modifiers, and what would be input to this program.
            _ => Ok(()),
        }
    }

    /// Takes a new object of the other side, with its version.
    fn create(&mut self, with: &mut Arguments<'_>, object: Object) -> Result<u64, Broken> {
        let id = with.id()?;
        with.number()?;
        self.insert(id, object)?;
        Ok(id)
    }

    fn insert(&mut self, id: u64, object: Object) -> Result<(), Broken> {
        if self.objects.len() == MOST_OBJECTS {
            return Err(Broken::Impossible("so many objects"));
        }
        if id < FIRST_OF_SERVER || self.objects.insert(id, object).is_some() {
            return Err(Broken::Impossible(
                "a new object with the number of another",
            ));
        }
        Ok(())
    }

    fn remove_seat(&mut self, seat: u64) {
        self.objects.remove(&seat);
        self.seats.remove(&seat);
        let devices = self.devices.iter();
        let of_seat: Vec<u64> = devices
            .filter(|(_, device)| device.seat == seat)
            .map(|(id, _)| *id)
            .collect();
        for device in of_seat {
            if self.in_use == Some(device) {
                self.end("it has removed the seat of the pointer");
            }
            self.remove_device(device);
        }
    }

    fn remove_device(&mut self, device: u64) {
        if self.in_use == Some(device) {
            self.end(REMOVED);
        }
        self.devices.remove(&device);
        self.objects.retain(|id, object| {
            let is_part = matches!(object, Object::Part(of, _) if *of == device);
            *id != device && !is_part
        });
    }
}

/// A part of the screen. Its physical scale, the last argument, is for movement by a distance.
fn region(with: &mut Arguments<'_>, mapping_id: Option<String>) -> Result<Region, Broken> {
    let offset = [with.number()?, with.number()?];
    let size = [with.number()?, with.number()?];
    with.fraction()?;
    let is_possible =
        offset.iter().chain(&size).all(|&it| it <= FARTHEST) && size.iter().all(|&it| it > 0);
    match is_possible {
        true => Ok(Region {
            offset,
            size,
            mapping_id,
        }),
        false => Err(Broken::Impossible("a region without a place on a screen")),
    }
}

/// Why the other side has ended the connection.
fn disconnected(reason: u32, explanation: &str) -> String {
    let reason = match reason {
        0 => "it has ended the connection".to_owned(),
        1 => "it has ended the connection after an error".to_owned(),
        2 => "it has ended the connection: it takes no input".to_owned(),
        3..=5 => {
            format!("it has ended the connection: it does not understand this program ({reason})")
        }
        other => format!("it has ended the connection, for the reason {other}"),
    };
    match explanation {
        "" => reason,
        said => {
            let said: String = said.chars().take(LONGEST_EXPLANATION).collect();
            format!("{reason}: {said:?}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::libei::wire::Request;

    const CONNECTION: u64 = FIRST_OF_SERVER;
    const SEAT: u64 = FIRST_OF_SERVER + 1;
    const DEVICE: u64 = FIRST_OF_SERVER + 2;
    const ABSOLUTE: u64 = FIRST_OF_SERVER + 3;

    /// Takes a message.
    fn take(server: &mut Server, request: Request) -> Result<Vec<u8>, Broken> {
        let mut incoming = Incoming::default();
        incoming.add(&request.bytes(), std::iter::empty())?;
        let message = incoming.next()?.unwrap();
        server.take(&message, &mut incoming)
    }

    /// One with a device that is ready.
    fn ready() -> Server {
        let mut server = Server::default();
        let event = Request::new;
        for message in [
            event(HANDSHAKE, 0).number(1),
            event(HANDSHAKE, 2).number(1).id(CONNECTION).number(1),
            event(CONNECTION, 1).id(SEAT).number(1),
            event(SEAT, 2).id(4).text("ei_pointer_absolute"),
            event(SEAT, 2).id(8).text("ei_touchscreen"),
            event(SEAT, 4).id(DEVICE).number(2),
            event(DEVICE, 5)
                .id(ABSOLUTE)
                .text("ei_pointer_absolute")
                .number(1),
            event(DEVICE, 6),
            event(DEVICE, 7).number(5),
        ] {
            take(&mut server, message).unwrap();
        }
        server
    }

    #[test]
    fn what_is_used_is_bound_and_ready() {
        let mut server = ready();
        let bound = take(&mut server, Request::new(SEAT, 3)).unwrap();
        assert_eq!(bound, interface::bind(SEAT, 4), "no touch screen");
        let ready = server.ready();
        assert_eq!((ready.len(), ready[0].0), (1, DEVICE));
        assert_eq!(ready[0].1.part(Capability::Absolute), Some(ABSOLUTE));
        assert_eq!(ready[0].1.part(Capability::Button), None);
        assert_eq!(server.serial, 5);
    }

    #[test]
    fn the_end_of_another_device_is_not_the_end() {
        for (message, reason) in [
            (Request::new(DEVICE, 8).number(6), "paused"),
            (Request::new(DEVICE, 0).number(6), "removed"),
            (Request::new(ABSOLUTE, 0).number(6), "removed"),
            (Request::new(SEAT, 0).number(6), "removed the seat"),
        ] {
            let mut server = ready();
            let bytes = message.bytes();
            let end = |server: &mut Server| {
                let mut incoming = Incoming::default();
                incoming.add(&bytes, std::iter::empty()).unwrap();
                let message = incoming.next().unwrap().unwrap();
                server.take(&message, &mut incoming).unwrap();
                server.end.clone()
            };
            assert_eq!(end(&mut server), None, "{reason}");
            let mut used = ready();
            used.in_use = Some(DEVICE);
            let end = end(&mut used).unwrap();
            assert!(end.contains(reason), "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_messages_panic_and_memory_is_bounded(
            sent in prop::collection::vec(
                (0..6_u64, 0..14_u32, prop::collection::vec(any::<u8>(), 0..8), any::<u64>()),
                0..300,
            ),
        ) {
            let mut server = ready();
            server.in_use = Some(DEVICE);
            for (object, opcode, more, id) in sent {
                let object = if object == 5 { HANDSHAKE } else { CONNECTION + object };
                let mut request = Request::new(object, opcode);
                for byte in more {
                    request = match byte % 4 {
                        0 => request.number(u32::from(byte)),
                        1 => request.id(CONNECTION + id % 9),
                        2 => request.fraction(f32::from(byte)),
                        _ => request.text("ei_keyboard"),
                    };
                }
                // What a message that can't be does, the end of the connection undoes.
                let _ = take(&mut server, request);
                prop_assert!(server.objects.len() <= MOST_OBJECTS);
                prop_assert!(server.devices.len() <= MOST_OBJECTS);
            }
        }
    }
}
