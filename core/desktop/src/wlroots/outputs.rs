//! The monitors, and which protocols the compositor has.

use flowpipe_wayland::{Globals, answer, counted};
use wayland_client::protocol::wl_output::{self, WlOutput};
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, WEnum};
use wayland_protocols::xdg::xdg_output::zv1::client::zxdg_output_manager_v1::{
    self, ZxdgOutputManagerV1,
};
use wayland_protocols::xdg::xdg_output::zv1::client::zxdg_output_v1::{self, ZxdgOutputV1};
#[cfg(feature = "input")]
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_wlr::screencopy::v1::client::zwlr_screencopy_manager_v1::ZwlrScreencopyManagerV1;

use crate::error::Result;
use crate::monitor::Monitor;
use crate::rect::Rect;

/// The monitors.
pub(crate) struct Outputs {
    connection: Connection,
    globals: Globals,
    queue: EventQueue<State>,
    manager: ZxdgOutputManagerV1,
    state: State,
}

/// A monitor.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub proxy: WlOutput,
    pub monitor: Monitor,
    /// How many pixels it has to the right and down, before it is turned.
    #[cfg_attr(
        not(all(feature = "portal", target_os = "linux")),
        allow(dead_code, reason = "the portal alone asks")
    )]
    pub pixels: [u32; 2],
    /// Whether what is shown on it is not turned or mirrored.
    pub is_upright: bool,
}

#[derive(Default)]
struct State {
    outputs: Vec<Described>,
}

/// What the compositor has said of a monitor.
struct Described {
    /// Its number among the compositor's globals.
    global: u32,
    output: Output,
}

/// The newest versions that are used here.
const OUTPUT_VERSION: u32 = 3;
const XDG_OUTPUT_VERSION: u32 = 3;

impl Outputs {
    /// `Ok(None)`: the compositor has no protocol for pictures, or for the places of monitors.
    pub(super) fn new(connection: &Connection) -> Result<Option<Self>> {
        Self::of(connection, true)
    }

    /// Those of a compositor with other protocols for pictures, or none. `Ok(None)`: it has none for the places of monitors.
    #[cfg(all(feature = "portal", target_os = "linux"))]
    pub(crate) fn without_pictures(connection: &Connection) -> Result<Option<Self>> {
        Self::of(connection, false)
    }

    fn of(connection: &Connection, needs_pictures: bool) -> Result<Option<Self>> {
        let globals = Globals::of(connection)?;
        if needs_pictures && !globals.has::<ZwlrScreencopyManagerV1>() {
            return Ok(None);
        }
        let queue = connection.new_event_queue();
        let Some(manager) = globals.bind(&queue.handle(), XDG_OUTPUT_VERSION) else {
            return Ok(None);
        };
        let mut outputs = Self {
            connection: connection.clone(),
            globals,
            queue,
            manager,
            state: State::default(),
        };
        outputs.follow();
        Ok(Some(outputs))
    }

    /// Adds the monitors that have come, and removes those that have gone.
    fn follow(&mut self) {
        let there = self.globals.all::<WlOutput>();
        let outputs = &mut self.state.outputs;
        outputs.retain(|it| there.iter().any(|(global, _)| *global == it.global));
        let handle = self.queue.handle();
        for (global, version) in there {
            if outputs.iter().any(|it| it.global == global) {
                continue;
            }
            let version = version.min(OUTPUT_VERSION);
            let proxy: WlOutput = self.globals.bind_one(global, version, &handle, global);
            let output = proxy.clone();
            let request = zxdg_output_manager_v1::Request::GetXdgOutput { output };
            let _: ZxdgOutputV1 = counted::create(&self.manager, request, &handle, global);
            outputs.push(Described {
                global,
                output: Output {
                    proxy,
                    monitor: Monitor {
                        name: String::new(),
                        place: Rect::default(),
                    },
                    pixels: [0; 2],
                    is_upright: true,
                },
            });
        }
    }

    #[cfg(feature = "input")]
    pub(super) fn has_keyboards(&self) -> bool {
        self.globals.has::<ZwpVirtualKeyboardManagerV1>()
    }

    /// The monitors as they are now, the first one first.
    pub(crate) fn all(&mut self) -> Result<Vec<Output>> {
        // What has come since is handled before the answer. Of a monitor that has come, the compositor says more then.
        for _ in 0..2 {
            answer::roundtrip(&self.connection, &mut self.queue, &mut self.state)?;
            self.follow();
            if self.state.is_complete() {
                break;
            }
        }
        Ok(self.state.shown())
    }

    /// The monitors by what the compositor has said until now, the first one first.
    #[cfg(feature = "input")]
    pub(crate) fn known(&mut self) -> Result<Vec<Output>> {
        match self.known_at_once()? {
            Some(outputs) => Ok(outputs),
            None => self.all(),
        }
    }

    /// The same, without waiting. `Ok(None)`: a monitor has just come, of which the compositor says more.
    #[cfg(feature = "input")]
    fn known_at_once(&mut self) -> Result<Option<Vec<Output>>> {
        answer::read_what_has_come(&mut self.queue, &mut self.state)?;
        self.follow();
        Ok(self.state.is_complete().then(|| self.state.shown()))
    }

    /// The rectangle around all monitors, by what the compositor has said until now.
    #[cfg(feature = "input")]
    pub(super) fn layout(&mut self) -> Result<Rect> {
        Ok(layout(self.known()?))
    }

    /// The same, without waiting. `Ok(None)`: it is about to change.
    #[cfg(feature = "input")]
    pub(super) fn layout_at_once(&mut self) -> Result<Option<Rect>> {
        Ok(self.known_at_once()?.map(layout))
    }

    pub(super) fn monitors(&mut self) -> Result<Vec<Monitor>> {
        Ok(self.all()?.into_iter().map(|it| it.monitor).collect())
    }
}

#[cfg(feature = "input")]
fn layout(outputs: Vec<Output>) -> Rect {
    let places = outputs.into_iter().map(|it| it.monitor.place);
    places.reduce(Rect::union).unwrap_or_default()
}

impl State {
    /// Whether the place of each monitor is known. One that is off has none.
    fn is_complete(&self) -> bool {
        let mut places = self.outputs.iter().map(|it| it.output.monitor.place);
        places.all(|place| place.width > 0)
    }

    /// The monitors that are on.
    fn shown(&self) -> Vec<Output> {
        let outputs = self.outputs.iter().map(|it| &it.output);
        let shown = outputs.filter(|output| output.monitor.place.width > 0);
        shown.cloned().collect()
    }

    fn output(&mut self, global: u32) -> Option<&mut Output> {
        let mut outputs = self.outputs.iter_mut();
        outputs
            .find(|it| it.global == global)
            .map(|it| &mut it.output)
    }
}

impl Dispatch<WlOutput, u32> for State {
    fn event(
        state: &mut Self,
        _: &WlOutput,
        event: wl_output::Event,
        global: &u32,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let Some(output) = state.output(*global) else {
            return;
        };
        match event {
            wl_output::Event::Geometry { transform, .. } => {
                output.is_upright = transform == WEnum::Value(wl_output::Transform::Normal);
            }
            wl_output::Event::Mode {
                flags: WEnum::Value(flags),
                width,
                height,
                ..
            } if flags.contains(wl_output::Mode::Current) => {
                output.pixels = [width, height].map(|it| u32::try_from(it).unwrap_or(0));
            }
            _ => {}
        }
    }
}

impl Dispatch<ZxdgOutputV1, u32> for State {
    fn event(
        state: &mut Self,
        _: &ZxdgOutputV1,
        event: zxdg_output_v1::Event,
        global: &u32,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let Some(output) = state.output(*global) else {
            return;
        };
        let monitor = &mut output.monitor;
        match event {
            zxdg_output_v1::Event::Name { name } => monitor.name = name,
            zxdg_output_v1::Event::LogicalPosition { x, y } => {
                (monitor.place.x, monitor.place.y) = (x, y);
            }
            zxdg_output_v1::Event::LogicalSize { width, height } => {
                monitor.place.width = u32::try_from(width).unwrap_or(0);
                monitor.place.height = u32::try_from(height).unwrap_or(0);
            }
            _ => {}
        }
    }
}

impl Dispatch<ZxdgOutputManagerV1, ()> for State {
    fn event(
        _: &mut Self,
        _: &ZxdgOutputManagerV1,
        _: <ZxdgOutputManagerV1 as wayland_client::Proxy>::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}
