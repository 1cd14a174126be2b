//! A window of one colour under Wayland, which notes what the pointer and the keyboard do in it.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_keyboard::{self, KeyState, WlKeyboard};
use wayland_client::protocol::wl_pointer::{self, ButtonState, WlPointer};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_seat::{self, Capability, WlSeat};
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{Connection, Dispatch, QueueHandle, WEnum, delegate_noop};
use wayland_protocols::xdg::shell::client::xdg_surface::{self, XdgSurface};
use wayland_protocols::xdg::shell::client::xdg_toplevel::XdgToplevel;
use wayland_protocols::xdg::shell::client::xdg_wm_base::{self, XdgWmBase};

/// The code of the left button.
pub const LEFT: u32 = 0x110;

/// What the pointer did, in the window's own units, and the keyboard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointerEvent {
    /// It came into the window, or moved there.
    At(f64, f64),
    /// A button by Linux's number: 0x110 is the left one.
    Pressed(u32),
    /// A button.
    Released(u32),
    /// A key by Linux's number.
    KeyPressed(u32),
    /// A key.
    KeyReleased(u32),
}

/// A window, in a process of its own: the desktop skips those of the process that asks. It closes when this is dropped.
pub struct WaylandWindow {
    process: Child,
    events: Arc<Mutex<Vec<PointerEvent>>>,
}

/// What the process of a window gets: socket, title, width, height, colour, and the title of its dialog, if it has one.
const DESCRIPTION: &str = "FLOWPIPE_TEST_WINDOW";
type Description = (PathBuf, String, i32, i32, [u8; 3], Option<String>);
/// What it prints once the window is shown.
const SHOWN: &str = "shown";

impl WaylandWindow {
    /// Opens one. `colour`: red, green, blue. Returns once it is shown.
    ///
    /// The process is this test's own file: a test file that uses this has an ignored test `window_process` that calls
    /// [`run_window`].
    ///
    /// # Panics
    /// When the compositor does not answer.
    pub fn open(socket: &Path, title: &str, size: [u32; 2], colour: [u8; 3]) -> Self {
        Self::open_all(socket, title, size, colour, None)
    }

    /// The same with a dialog of its own, which looks like it. What the pointer and the keyboard do is noted of both.
    ///
    /// # Panics
    /// As [`WaylandWindow::open`].
    pub fn open_with_dialog(
        socket: &Path,
        title: &str,
        size: [u32; 2],
        colour: [u8; 3],
        dialog: &str,
    ) -> Self {
        Self::open_all(socket, title, size, colour, Some(dialog))
    }

    fn open_all(
        socket: &Path,
        title: &str,
        [width, height]: [u32; 2],
        colour: [u8; 3],
        dialog: Option<&str>,
    ) -> Self {
        let description = serde_json::json!([socket, title, width, height, colour, dialog]);
        let itself = std::env::current_exe().expect("a test knows its own file");
        let mut process = Command::new(itself)
            .args(["--exact", "window_process", "--ignored", "--nocapture"])
            .env(DESCRIPTION, description.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test can start its own file");
        let stdout = process.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // With one thread, the test's name stands before it.
        let is_shown = lines.any(|line| line.ends_with(SHOWN));
        assert!(is_shown, "the window {title:?} was not shown");
        let events: Arc<Mutex<Vec<PointerEvent>>> = Arc::default();
        let noted = Arc::clone(&events);
        std::thread::spawn(move || {
            for event in lines.filter_map(|line| read(&line)) {
                noted.lock().expect("no test panics with it").push(event);
            }
        });
        Self { process, events }
    }

    /// What happened since the last question.
    pub fn take(&self) -> Vec<PointerEvent> {
        std::mem::take(&mut self.events.lock().expect("no test panics with it"))
    }

    /// Whether a key was pressed since the last question. Forgets what happened.
    pub fn took_a_key(&self) -> bool {
        let is_key = |it: &PointerEvent| matches!(it, PointerEvent::KeyPressed(_));
        self.take().iter().any(is_key)
    }

    /// All that happened, without forgetting it.
    pub fn events(&self) -> Vec<PointerEvent> {
        self.events.lock().expect("no test panics with it").clone()
    }
}

impl Drop for WaylandWindow {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An event as the window's process prints it.
fn read(line: &str) -> Option<PointerEvent> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let mut number = || words.next()?.parse::<f64>().ok();
    Some(match kind {
        "at" => PointerEvent::At(number()?, number()?),
        "pressed" => PointerEvent::Pressed(number()? as u32),
        "released" => PointerEvent::Released(number()? as u32),
        "key-pressed" => PointerEvent::KeyPressed(number()? as u32),
        "key-released" => PointerEvent::KeyReleased(number()? as u32),
        _ => return None,
    })
}

/// Shows the window that this process was started for, until it is killed.
///
/// # Panics
/// When the compositor does not answer.
pub fn run_window() {
    let Ok(description) = std::env::var(DESCRIPTION) else {
        return;
    };
    let (socket, title, width, height, colour, dialog): Description =
        serde_json::from_str(&description).expect("a window's description");
    let stream = UnixStream::connect(socket).expect("the compositor answers");
    let connection = Connection::from_socket(stream).expect("the compositor answers");
    let (globals, mut queue) =
        registry_queue_init::<State>(&connection).expect("the compositor answers");
    let handle = queue.handle();
    let missing = "every compositor has it";
    let compositor: WlCompositor = globals.bind(&handle, 1..=4, ()).expect(missing);
    let shm: WlShm = globals.bind(&handle, 1..=1, ()).expect(missing);
    let shell: XdgWmBase = globals.bind(&handle, 1..=1, ()).expect(missing);
    let _seat: WlSeat = globals.bind(&handle, 1..=5, ()).expect(missing);
    let mut state = State {
        buffer: solid(&shm, [width, height], colour, &handle),
        shown: Vec::new(),
        pointer: None,
        keyboard: None,
    };
    let mut parent: Option<XdgToplevel> = None;
    for title in [Some(title), dialog].into_iter().flatten() {
        let surface = compositor.create_surface(&handle, ());
        let xdg_surface = shell.get_xdg_surface(&surface, &handle, surface.clone());
        let toplevel = xdg_surface.get_toplevel(&handle, ());
        toplevel.set_title(title);
        toplevel.set_min_size(width, height);
        toplevel.set_max_size(width, height);
        if parent.is_some() {
            toplevel.set_parent(parent.as_ref());
        }
        surface.commit();
        while !state.shown.contains(&surface) {
            queue
                .blocking_dispatch(&mut state)
                .expect("the compositor answers");
        }
        queue.roundtrip(&mut state).expect("the compositor answers");
        // Only a window that is shown can be the parent of a dialog.
        parent = Some(toplevel);
    }
    println!("{SHOWN}");
    while queue.blocking_dispatch(&mut state).is_ok() {}
}

struct State {
    buffer: WlBuffer,
    /// The surfaces of the windows that are shown.
    shown: Vec<WlSurface>,
    pointer: Option<WlPointer>,
    keyboard: Option<WlKeyboard>,
}

fn solid(
    shm: &WlShm,
    [width, height]: [i32; 2],
    [red, green, blue]: [u8; 3],
    handle: &QueueHandle<State>,
) -> WlBuffer {
    let mut file: File = tempfile::tempfile().expect("a temporary file");
    let bytes = [blue, green, red, 255].repeat((width * height) as usize);
    file.write_all(&bytes).expect("there is room");
    let pool = shm.create_pool(file.as_fd(), bytes.len() as i32, handle, ());
    pool.create_buffer(0, width, height, 4 * width, Format::Xrgb8888, handle, ())
}

impl Dispatch<XdgSurface, WlSurface> for State {
    fn event(
        state: &mut Self,
        xdg_surface: &XdgSurface,
        event: xdg_surface::Event,
        surface: &WlSurface,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_surface::Event::Configure { serial } = event {
            xdg_surface.ack_configure(serial);
            surface.attach(Some(&state.buffer), 0, 0);
            surface.damage(0, 0, i32::MAX, i32::MAX);
            surface.commit();
            if !state.shown.contains(surface) {
                state.shown.push(surface.clone());
            }
        }
    }
}

impl Dispatch<XdgWmBase, ()> for State {
    fn event(
        _: &mut Self,
        shell: &XdgWmBase,
        event: xdg_wm_base::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_wm_base::Event::Ping { serial } = event {
            shell.pong(serial);
        }
    }
}

impl Dispatch<WlSeat, ()> for State {
    fn event(
        state: &mut Self,
        seat: &WlSeat,
        event: wl_seat::Event,
        (): &(),
        _: &Connection,
        handle: &QueueHandle<Self>,
    ) {
        if let wl_seat::Event::Capabilities {
            capabilities: WEnum::Value(capabilities),
        } = event
        {
            if !capabilities.contains(Capability::Pointer) {
                state.pointer = None;
            } else if state.pointer.is_none() {
                state.pointer = Some(seat.get_pointer(handle, ()));
            }
            if !capabilities.contains(Capability::Keyboard) {
                state.keyboard = None;
            } else if state.keyboard.is_none() {
                state.keyboard = Some(seat.get_keyboard(handle, ()));
            }
        }
    }
}

impl Dispatch<WlPointer, ()> for State {
    fn event(
        _: &mut Self,
        _: &WlPointer,
        event: wl_pointer::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            wl_pointer::Event::Enter {
                surface_x,
                surface_y,
                ..
            }
            | wl_pointer::Event::Motion {
                surface_x,
                surface_y,
                ..
            } => println!("at {surface_x} {surface_y}"),
            wl_pointer::Event::Button {
                button,
                state: WEnum::Value(button_state),
                ..
            } => match button_state {
                ButtonState::Pressed => println!("pressed {button}"),
                _ => println!("released {button}"),
            },
            _ => {}
        }
    }
}

impl Dispatch<WlKeyboard, ()> for State {
    fn event(
        _: &mut Self,
        _: &WlKeyboard,
        event: wl_keyboard::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_keyboard::Event::Key {
            key,
            state: WEnum::Value(state),
            ..
        } = event
        {
            match state {
                KeyState::Pressed => println!("key-pressed {key}"),
                _ => println!("key-released {key}"),
            }
        }
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for State {
    fn event(
        _: &mut Self,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}

delegate_noop!(State: ignore WlCompositor);
delegate_noop!(State: ignore WlShm);
delegate_noop!(State: ignore WlShmPool);
delegate_noop!(State: ignore WlBuffer);
delegate_noop!(State: ignore WlSurface);
delegate_noop!(State: ignore XdgToplevel);
