//! A program that sends pictures, as compositors do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use pipewire::channel::{Sender, channel};
use pipewire::context::ContextRc;
use pipewire::main_loop::MainLoopRc;
use pipewire::properties::properties;
use pipewire::spa::param::ParamType;
use pipewire::spa::param::format::{FormatProperties, MediaSubtype, MediaType};
use pipewire::spa::param::video::VideoFormat;
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{
    ChoiceValue, Object, Pod, Property, PropertyFlags, Value, object, property,
};
use pipewire::spa::sys::{
    SPA_DATA_DmaBuf, SPA_DATA_FLAG_READWRITE, SPA_DATA_MemFd, SPA_META_Header,
    SPA_META_VideoDamage, SPA_PARAM_BUFFERS_blocks, SPA_PARAM_BUFFERS_buffers,
    SPA_PARAM_BUFFERS_dataType, SPA_POD_PROP_FLAG_DONT_FIXATE, SPA_POD_PROP_FLAG_MANDATORY,
    spa_chunk, spa_meta_header, spa_meta_region, spa_region,
};
use pipewire::spa::utils::{
    Choice, ChoiceEnum, ChoiceFlags, Direction, Fraction, Id, Rectangle, SpaTypes,
};
use pipewire::stream::{Stream, StreamFlags, StreamRc, StreamState};
use pipewire::sys::pw_buffer;

use super::canvas::{Area, Canvas, write};
use super::memory::Memory;

/// What is sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub size: [u32; 2],
    /// Bytes before the first row.
    pub offset: u32,
    /// Bytes after each row.
    pub gap: u32,
    /// The kinds that are offered, the preferred one first.
    pub kinds: Vec<Kind>,
}

/// A kind of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Memory,
    /// In one of some layouts. Without a real one, it is other memory.
    DmaBuf {
        modifiers: Vec<i64>,
        is_real: bool,
    },
}

impl Sent {
    pub(super) fn stride(&self) -> u32 {
        self.size[0] * 4 + self.gap
    }

    /// Where a picture lies.
    pub(super) fn chunk(&self) -> spa_chunk {
        spa_chunk {
            offset: self.offset,
            size: self.stride() * self.size[1],
            stride: self.stride() as i32,
            flags: 0,
        }
    }
}

/// A pixel of a picture.
pub(super) fn pixel(picture: u32, x: u32, y: u32) -> [u8; 4] {
    let mixed = (picture.wrapping_mul(0x9e37_79b1) ^ x.wrapping_mul(0x85eb_ca6b))
        .wrapping_add(y.wrapping_mul(0xc2b2_ae35));
    (mixed ^ mixed >> 15).to_le_bytes()
}

/// What changes on the screen before a picture of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Painted {
    /// What is painted, each part as in a picture of a number.
    pub areas: Vec<(Area, u32)>,
    /// What is said to have changed.
    pub regions: Vec<spa_region>,
    /// It is numbered and not sent, as if PipeWire had replaced it with the next one.
    pub is_replaced: bool,
}

enum Order {
    Draw(u32, spa_chunk),
    Show(Painted),
    Send(Sent),
    End,
}

/// It ends when it is dropped.
pub(super) struct Producer {
    pub node: u32,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    /// Whether buffers were made as DMA-BUF, for each.
    made: mpsc::Receiver<bool>,
    /// Whether there was room for regions beside a picture, for each that was shown.
    shown: mpsc::Receiver<bool>,
}

impl Producer {
    pub(super) fn start(socket: &Path, sent: Sent) -> Self {
        Self::start_as("producer", socket, sent)
    }

    /// Starts one that calls its stream so.
    pub(super) fn start_as(name: &'static str, socket: &Path, sent: Sent) -> Self {
        let (orders, receiver) = channel();
        let (ready, node) = mpsc::channel();
        let (makes, made) = mpsc::channel();
        let (shows, shown) = mpsc::channel();
        let socket = socket.to_str().unwrap().to_owned();
        let thread = std::thread::spawn(move || {
            let main = MainLoopRc::new(None).unwrap();
            let context = ContextRc::new(&main, None).unwrap();
            let core = context
                .connect_rc(Some(properties! { "remote.name" => socket }))
                .unwrap();
            let class = properties! { "media.class" => "Video/Source", "media.role" => "Screen" };
            let stream = StreamRc::new(core, name, class).unwrap();
            let state = Rc::new(RefCell::new(State {
                sent: sent.clone(),
                is_dma_buf: false,
                memory: HashMap::new(),
                made: makes,
                canvas: Canvas::new(sent.size),
                owed: Vec::new(),
                sequence: 0,
                shown: shows,
            }));
            let _listener = stream
                .add_local_listener_with_user_data(Rc::clone(&state))
                .state_changed(move |stream, _, _, now| {
                    if now == StreamState::Paused {
                        // The test may have ended.
                        let _ = ready.send(stream.node_id());
                    }
                })
                .param_changed(|stream, state, id, format| {
                    if let (Some(format), true) = (format, id == ParamType::Format.as_raw()) {
                        state.borrow_mut().agree(stream, format);
                    }
                })
                // SAFETY: the library gives one that is there.
                .add_buffer(|_, state, buffer| unsafe { state.borrow_mut().add(buffer) })
                .remove_buffer(|_, state, buffer| {
                    state.borrow_mut().memory.remove(&buffer);
                })
                .register()
                .unwrap();
            let formats = sent.formats();
            stream
                .connect(
                    Direction::Output,
                    None,
                    StreamFlags::DRIVER | StreamFlags::ALLOC_BUFFERS,
                    &mut pods(&formats),
                )
                .unwrap();
            let (drawn, ended) = (stream.clone(), main.clone());
            let _receiver = receiver.attach(main.loop_(), move |order| match order {
                Order::Draw(picture, chunk) => state.borrow_mut().draw(&drawn, picture, chunk),
                Order::Show(painted) => state.borrow_mut().show(&drawn, &painted),
                Order::Send(sent) => {
                    let formats = sent.formats();
                    let mut state = state.borrow_mut();
                    state.canvas = Canvas::new(sent.size);
                    state.sent = sent;
                    drop(state);
                    drawn.update_params(&mut pods(&formats)).unwrap();
                }
                Order::End => ended.quit(),
            });
            main.run();
        });
        Self {
            node: node.recv_timeout(super::daemon::PATIENCE).unwrap(),
            orders,
            thread: Some(thread),
            made,
            shown,
        }
    }

    /// Draws a picture, if somebody receives. It is where a chunk says.
    pub(super) fn draw(&self, picture: u32, chunk: spa_chunk) {
        self.order(Order::Draw(picture, chunk));
    }

    /// Changes the screen, and sends a picture of it if somebody receives; otherwise the next one names what has changed.
    pub(super) fn show(&self, painted: Painted) {
        self.order(Order::Show(painted));
    }

    /// Whether there was room for regions beside each picture that was shown since the last call.
    pub(super) fn shown(&self) -> Vec<bool> {
        self.shown.try_iter().collect()
    }

    /// Sends other pictures from now on.
    pub(super) fn send(&self, sent: Sent) {
        self.order(Order::Send(sent));
    }

    /// The kinds of buffers that were made since the last call: DMA-BUF or not.
    pub(super) fn made(&self) -> Vec<bool> {
        self.made.try_iter().collect()
    }

    fn order(&self, order: Order) {
        assert!(self.orders.send(order).is_ok(), "it runs");
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.order(Order::End);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

struct State {
    sent: Sent,
    /// As it was agreed on.
    is_dma_buf: bool,
    memory: HashMap<*mut pw_buffer, Memory>,
    made: mpsc::Sender<bool>,
    canvas: Canvas,
    /// What has changed that was not sent yet.
    owed: Vec<spa_region>,
    sequence: u64,
    shown: mpsc::Sender<bool>,
}

impl State {
    /// Chooses one layout, and says then what buffers are like.
    fn agree(&mut self, stream: &Stream, format: &Pod) {
        let key = Id(FormatProperties::VideoModifier.as_raw());
        let modifier = format.as_object().unwrap().find_prop(key);
        self.is_dma_buf = modifier.is_some();
        let is_open =
            modifier.is_some_and(|it| it.flags().bits() & SPA_POD_PROP_FLAG_DONT_FIXATE != 0);
        if is_open {
            let mut formats = vec![bytes(self.sent.format(Some((&[0], false))))];
            formats.extend(self.sent.formats());
            stream.update_params(&mut pods(&formats)).unwrap();
            return;
        }
        let kind = match self.is_dma_buf {
            true => SPA_DATA_DmaBuf,
            false => SPA_DATA_MemFd,
        };
        let count = ChoiceEnum::Range {
            default: 4,
            min: 2,
            max: 8,
        };
        let kinds = ChoiceEnum::Flags {
            default: 1 << kind,
            flags: Vec::new(),
        };
        let buffers = bytes(Object {
            type_: SpaTypes::ObjectParamBuffers.as_raw(),
            id: ParamType::Buffers.as_raw(),
            properties: vec![
                Property::new(SPA_PARAM_BUFFERS_buffers, choice(count)),
                Property::new(SPA_PARAM_BUFFERS_blocks, Value::Int(1)),
                Property::new(SPA_PARAM_BUFFERS_dataType, choice(kinds)),
            ],
        });
        let header = super::super::format::header().unwrap();
        let regions = super::super::format::regions().unwrap();
        stream
            .update_params(&mut pods(&[buffers, header, regions]))
            .unwrap();
    }

    /// Gives a buffer memory.
    unsafe fn add(&mut self, buffer: *mut pw_buffer) {
        let is_real = self
            .sent
            .kinds
            .iter()
            .any(|it| matches!(it, Kind::DmaBuf { is_real: true, .. }));
        let Sent { size, offset, .. } = self.sent;
        let length = offset + self.sent.stride() * size[1];
        let memory = Memory::new(length as usize, self.is_dma_buf && is_real);
        // SAFETY: as the caller promises. There is one part, as was agreed on.
        let data = unsafe { &mut *(*(*buffer).buffer).datas };
        data.type_ = match self.is_dma_buf {
            true => SPA_DATA_DmaBuf,
            false => SPA_DATA_MemFd,
        };
        data.flags = SPA_DATA_FLAG_READWRITE;
        data.fd = i64::from(memory.file.as_raw_fd());
        data.mapoffset = 0;
        data.maxsize = memory.bytes.len() as u32;
        self.memory.insert(buffer, memory);
        // The test may have ended.
        let _ = self.made.send(self.is_dma_buf);
    }

    fn draw(&mut self, stream: &Stream, picture: u32, chunk: spa_chunk) {
        // SAFETY: it is given back below.
        let buffer = unsafe { stream.dequeue_raw_buffer() };
        let Some(memory) = self.memory.get_mut(&buffer) else {
            return;
        };
        let [width, height] = self.sent.size;
        let stride = self.sent.stride() as usize;
        let rows = memory.bytes[self.sent.offset as usize..].chunks_mut(stride);
        for (y, row) in (0..height).zip(rows) {
            for (x, to) in (0..width).zip(row.chunks_exact_mut(4)) {
                to.copy_from_slice(&pixel(picture, x, y));
            }
        }
        // SAFETY: the library has made it, with one part.
        unsafe { *(*(*(*buffer).buffer).datas).chunk = chunk };
        // SAFETY: it came from this stream. As it drives the receivers, it is also sent.
        unsafe { stream.queue_raw_buffer(buffer) };
    }

    fn show(&mut self, stream: &Stream, painted: &Painted) {
        for &(area, picture) in &painted.areas {
            self.canvas.paint(area, picture);
        }
        self.owed.extend_from_slice(&painted.regions);
        if painted.is_replaced {
            self.sequence += 1;
            self.owed.clear();
            return;
        }
        // SAFETY: it is given back below.
        let buffer = unsafe { stream.dequeue_raw_buffer() };
        let Some(memory) = self.memory.get_mut(&buffer) else {
            return;
        };
        let row = self.sent.size[0] as usize * 4;
        let rows =
            memory.bytes[self.sent.offset as usize..].chunks_mut(self.sent.stride() as usize);
        for (to, from) in rows.zip(self.canvas.pixels.chunks_exact(row)) {
            to[..row].copy_from_slice(from);
        }
        self.sequence += 1;
        // SAFETY: the library has made it, with one part.
        let has_room = unsafe {
            let buffer = &mut *(*buffer).buffer;
            *(*buffer.datas).chunk = self.sent.chunk();
            let metas = std::slice::from_raw_parts(buffer.metas, buffer.n_metas as usize);
            let find = |kind| metas.iter().find(|it| it.type_ == kind);
            let header = find(SPA_META_Header)
                .unwrap()
                .data
                .cast::<spa_meta_header>();
            (*header).seq = self.sequence;
            let regions = find(SPA_META_VideoDamage).map(|it| {
                let room = it.size as usize / size_of::<spa_meta_region>();
                std::slice::from_raw_parts_mut(it.data.cast::<spa_meta_region>(), room)
            });
            regions.map(|to| write(&self.owed, to)).is_some()
        };
        self.owed.clear();
        // SAFETY: as in `draw`.
        unsafe { stream.queue_raw_buffer(buffer) };
        // The test may have ended.
        let _ = self.shown.send(has_room);
    }
}

impl Sent {
    fn formats(&self) -> Vec<Vec<u8>> {
        let formats = self.kinds.iter().map(|kind| match kind {
            Kind::Memory => self.format(None),
            Kind::DmaBuf { modifiers, .. } => self.format(Some((modifiers, true))),
        });
        formats.map(bytes).collect()
    }

    /// `modifiers`: the layouts of a device's memory, and whether one is to be chosen.
    fn format(&self, modifiers: Option<(&[i64], bool)>) -> Object {
        let [width, height] = self.size;
        let mut format = object!(
            SpaTypes::ObjectParamFormat,
            ParamType::EnumFormat,
            property!(FormatProperties::MediaType, Id, MediaType::Video),
            property!(FormatProperties::MediaSubtype, Id, MediaSubtype::Raw),
            property!(FormatProperties::VideoFormat, Id, VideoFormat::BGRx),
            property!(
                FormatProperties::VideoSize,
                Rectangle,
                Rectangle { width, height }
            ),
            property!(
                FormatProperties::VideoFramerate,
                Fraction,
                Fraction { num: 0, denom: 1 }
            ),
        );
        if let Some((modifiers, is_open)) = modifiers {
            let all = ChoiceEnum::Enum {
                default: modifiers[0],
                alternatives: modifiers.to_vec(),
            };
            let open = u32::from(is_open) * SPA_POD_PROP_FLAG_DONT_FIXATE;
            let modifier = Property {
                key: FormatProperties::VideoModifier.as_raw(),
                flags: PropertyFlags::from_bits_retain(SPA_POD_PROP_FLAG_MANDATORY | open),
                value: Value::Choice(ChoiceValue::Long(Choice(ChoiceFlags::empty(), all))),
            };
            format.properties.insert(3, modifier);
        }
        format
    }
}

fn choice(of: ChoiceEnum<i32>) -> Value {
    Value::Choice(ChoiceValue::Int(Choice(ChoiceFlags::empty(), of)))
}

fn bytes(object: Object) -> Vec<u8> {
    let to = std::io::Cursor::new(Vec::new());
    let written = PodSerializer::serialize(to, &Value::Object(object)).unwrap();
    written.0.into_inner()
}

fn pods(of: &[Vec<u8>]) -> Vec<&Pod> {
    of.iter().map(|it| Pod::from_bytes(it).unwrap()).collect()
}
