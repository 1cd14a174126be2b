//! A compositor's side of libei that is made up, by the crate reis: it notes the input that it gets, and interrupts it on
//! request.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reis::PendingRequestResult;
use reis::eis::connection::DisconnectReason;
use reis::eis::device::DeviceType;
use reis::eis::keyboard::{Keyboard, KeymapType};
use reis::eis::{self, Context};
use reis::enumflags2::BitFlags;
use reis::handshake::EisHandshaker;
use reis::request::{Connection, Device, DeviceCapability, EisRequest, EisRequestConverter, Seat};

/// A region: its place, its size, its name.
pub type MadeUpRegion = ([u32; 2], [u32; 2], Option<&'static str>);

pub enum Interruption {
    Pause,
    RemovePointer,
    RemoveSeat,
    Disconnect(&'static str),
    /// As when the compositor crashes.
    Close,
    /// Another keyboard, with another keymap, as for another layout.
    ReplaceKeyboard(&'static str),
    PauseKeyboard,
    ResumeKeyboard,
    /// As when the compositor is stopped, until the sender is dropped.
    StandStill(Receiver<()>),
}

pub struct MadeUpEis {
    noted: Arc<Mutex<Vec<String>>>,
    interruptions: Sender<Interruption>,
}

impl MadeUpEis {
    /// Returns also the socket that the other side has.
    pub fn start(regions: Vec<MadeUpRegion>, keymap: Option<&'static str>) -> (Self, OwnedFd) {
        let (near, far) = UnixStream::pair().unwrap();
        let noted: Arc<Mutex<Vec<String>>> = Arc::default();
        let (interruptions, interrupted) = channel();
        let server = Server {
            regions,
            keymap,
            noted: Arc::clone(&noted),
            interrupted,
            pointer: None,
            keyboard: None,
            seat: None,
        };
        std::thread::spawn(move || server.serve(near));
        let eis = Self {
            noted,
            interruptions,
        };
        (eis, far.into())
    }

    /// What it got.
    pub fn noted(&self) -> Vec<String> {
        self.noted.lock().unwrap().clone()
    }

    pub fn interrupt(&self, by: Interruption) {
        self.interruptions.send(by).unwrap();
    }
}

struct Server {
    regions: Vec<MadeUpRegion>,
    keymap: Option<&'static str>,
    noted: Arc<Mutex<Vec<String>>>,
    interrupted: Receiver<Interruption>,
    pointer: Option<Device>,
    keyboard: Option<Device>,
    seat: Option<Seat>,
}

/// The next request. `None`: there is none yet.
fn next(context: &Context) -> Option<eis::Request> {
    match context.pending_request()? {
        PendingRequestResult::Request(request) => Some(request),
        other => panic!("it sends what reis can't read: {other:?}"),
    }
}

impl Server {
    fn note(&self, what: String) {
        self.noted.lock().unwrap().push(what);
    }

    fn serve(mut self, socket: UnixStream) {
        let context = Context::new(socket).unwrap();
        let mut handshaker = EisHandshaker::new(&context, 1);
        let mut converter: Option<EisRequestConverter> = None;
        loop {
            // What has come before an end counts: it may be a release.
            let is_open = context.read().is_ok();
            while let Some(request) = next(&context) {
                let Some(converter) = &mut converter else {
                    if let Some(answer) = handshaker.handle_request(request).unwrap() {
                        assert_eq!(answer.name.as_deref(), Some("flowpipe"));
                        let begun = EisRequestConverter::new(&context, answer, 1);
                        let all = BitFlags::<DeviceCapability>::all();
                        self.seat = Some(begun.handle().add_seat(Some("seat"), all));
                        converter = Some(begun);
                    }
                    continue;
                };
                converter.handle_request(request).unwrap();
                while let Some(request) = converter.next_request() {
                    self.take(&request);
                }
            }
            if !is_open {
                self.note("closed".to_owned());
                return;
            }
            if let Some(converter) = &converter
                && let Ok(by) = self.interrupted.try_recv()
                && self.interrupt(by, converter.handle())
            {
                return;
            }
            // The other side may have closed it.
            let _ = context.flush();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn take(&mut self, request: &EisRequest) {
        let noted = match request {
            EisRequest::Bind(bind) => {
                assert!(
                    bind.capabilities
                        .contains(DeviceCapability::PointerAbsolute)
                );
                assert!(!bind.capabilities.contains(DeviceCapability::Touch));
                self.add_pointer(&bind.seat);
                if let Some(keymap) = self.keymap {
                    self.keyboard = Some(add_keyboard(&bind.seat, keymap));
                }
                return;
            }
            EisRequest::DeviceStartEmulating(it) => {
                format!("start {}", it.device.name().unwrap())
            }
            EisRequest::DeviceStopEmulating(it) => format!("stop {}", it.device.name().unwrap()),
            EisRequest::PointerMotionAbsolute(it) => {
                format!("move {} {}", it.dx_absolute, it.dy_absolute)
            }
            EisRequest::Button(it) => format!("button {} {}", it.button, it.state as u32),
            EisRequest::KeyboardKey(it) => format!("key {} {}", it.key, it.state as u32),
            EisRequest::ScrollDelta(it) => format!("scroll {} {}", it.dx, it.dy),
            EisRequest::Frame(it) => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
                let now = now.tv_sec as u64 * 1_000_000;
                assert!(it.time.abs_diff(now) < 60_000_000, "{} at {now}", it.time);
                return;
            }
            other => format!("{other:?}"),
        };
        self.note(noted);
    }

    fn add_pointer(&mut self, seat: &Seat) {
        // Another one comes first, which goes to no place.
        let relative = DeviceCapability::Pointer | DeviceCapability::Button;
        let of = DeviceType::Virtual;
        seat.add_device(Some("relative"), of, relative, |_| {})
            .resumed();
        let capabilities =
            DeviceCapability::PointerAbsolute | DeviceCapability::Button | DeviceCapability::Scroll;
        let regions = self.regions.clone();
        let pointer = seat.add_device(Some("pointer"), of, capabilities, move |device| {
            for ([x, y], [width, height], name) in regions {
                if let Some(name) = name {
                    device.device().region_mapping_id(name);
                }
                device.device().region(x, y, width, height, 1.5);
            }
        });
        pointer.resumed();
        self.pointer = Some(pointer);
    }

    /// Returns whether it is over.
    fn interrupt(&mut self, by: Interruption, connection: &Connection) -> bool {
        match by {
            Interruption::Pause => self.pointer.as_ref().unwrap().paused(),
            Interruption::RemovePointer => self.pointer.as_ref().unwrap().remove(),
            Interruption::RemoveSeat => self.seat.as_ref().unwrap().remove(),
            Interruption::Disconnect(why) => {
                let explanation = Some(why).filter(|why| !why.is_empty());
                let connection = connection.connection();
                connection.disconnected(7, DisconnectReason::Disconnected, explanation);
            }
            Interruption::Close => return true,
            Interruption::ReplaceKeyboard(keymap) => {
                self.keyboard.take().unwrap().remove();
                self.keyboard = Some(add_keyboard(self.seat.as_ref().unwrap(), keymap));
            }
            Interruption::PauseKeyboard => self.keyboard.as_ref().unwrap().paused(),
            Interruption::ResumeKeyboard => self.keyboard.as_ref().unwrap().resumed(),
            Interruption::StandStill(until) => {
                self.note("asleep".to_owned());
                // The sender is dropped.
                let _ = until.recv();
                self.note("awake".to_owned());
            }
        }
        false
    }
}

fn add_keyboard(seat: &Seat, keymap: &str) -> Device {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(keymap.as_bytes()).unwrap();
    let only = DeviceCapability::Keyboard.into();
    let keyboard = seat.add_device(Some("keyboard"), DeviceType::Virtual, only, |device| {
        let keyboard: Keyboard = device.interface().unwrap();
        keyboard.keymap(KeymapType::Xkb, keymap.len() as u32, file.as_fd());
    });
    keyboard.resumed();
    keyboard
}
