//! Windows: opened, found, moved and closed, on the server or by the manager.

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    AtomEnum, CLIENT_MESSAGE_EVENT, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _,
    CreateGCAux, CreateWindowAux, EventMask, InputFocus, MapState, PropMode, Rectangle, StackMode,
    Window, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::{Screen, wait_for};

impl Screen {
    /// Waits for a window to be on the screen, gives it the keyboard, and returns where its inside
    /// begins.
    pub fn window(&self, title: &str) -> [i16; 2] {
        let window = wait_for("window", || self.find(title));
        let place = self
            .connection
            .translate_coordinates(window, self.root, 0, 0)
            .expect("the server is there")
            .reply()
            .expect("the window is there");
        self.focus(window);
        [place.dst_x, place.dst_y]
    }

    /// Gives a window the keyboard: one of the screen, or 0 (none) or 1 (whatever is under the pointer).
    pub fn focus(&self, window: Window) {
        self.connection
            .set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME)
            .expect("the server is there")
            .check()
            .expect("the window can have the keyboard");
    }

    /// Opens a window without a title in another one that fills it.
    pub fn open_in(&self, parent: Window) -> Window {
        let window = self.connection.generate_id().expect("an id");
        let depth = x11rb::COPY_DEPTH_FROM_PARENT;
        let (class, visual) = (WindowClass::INPUT_OUTPUT, x11rb::COPY_FROM_PARENT);
        let plain = CreateWindowAux::new();
        self.connection
            .create_window(
                depth, window, parent, 0, 0, 2000, 2000, 0, class, visual, &plain,
            )
            .expect("the server is there");
        self.map(window);
        window
    }

    fn map(&self, window: Window) {
        self.connection
            .map_window(window)
            .expect("the server is there")
            .check()
            .expect("a window can be mapped");
    }

    /// The window around all others.
    pub fn root(&self) -> Window {
        self.root
    }

    /// Whether a window of that title is on the screen.
    pub fn has_window(&self, title: &str) -> bool {
        self.find(title).is_some()
    }

    /// Opens a plain window of one colour: its title, where its inside begins, its size.
    pub fn open(&self, title: &str, place: [i16; 2], size: [u16; 2], colour: [u8; 3]) -> Window {
        self.open_as(CreateWindowAux::new(), title, place, size, colour)
    }

    /// Opens a window that nobody sees, and that gets the clicks.
    pub fn open_invisible(&self, [x, y]: [i16; 2], [width, height]: [u16; 2]) -> Window {
        let window = self.connection.generate_id().expect("an id");
        let (class, visual) = (WindowClass::INPUT_ONLY, x11rb::COPY_FROM_PARENT);
        let unmanaged = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(EventMask::BUTTON_PRESS);
        self.connection
            .create_window(
                0, window, self.root, x, y, width, height, 0, class, visual, &unmanaged,
            )
            .expect("the server is there");
        self.map(window);
        window
    }

    /// The same of one pixel, around which the window manager puts no frame.
    pub fn open_dot(&self, title: &str, place: [i16; 2], colour: [u8; 3]) -> Window {
        let unmanaged = CreateWindowAux::new().override_redirect(1);
        self.open_as(unmanaged, title, place, [1, 1], colour)
    }

    fn open_as(
        &self,
        attributes: CreateWindowAux,
        title: &str,
        [x, y]: [i16; 2],
        size: [u16; 2],
        colour: [u8; 3],
    ) -> Window {
        let window = self.connection.generate_id().expect("an id");
        let background = attributes.background_pixel(pixel(colour));
        let [width, height] = size;
        self.connection
            .create_window(
                x11rb::COPY_DEPTH_FROM_PARENT,
                window,
                self.root,
                x,
                y,
                width,
                height,
                0,
                WindowClass::INPUT_OUTPUT,
                x11rb::COPY_FROM_PARENT,
                &background,
            )
            .expect("the server is there");
        self.rename(window, title);
        // "The user chose place and size": then managers leave them.
        let (hints, kind) = (AtomEnum::WM_NORMAL_HINTS, AtomEnum::WM_SIZE_HINTS);
        let mut chosen = [0_u32; 18];
        chosen[0] = 0b11;
        self.connection
            .change_property32(PropMode::REPLACE, window, hints, kind, &chosen)
            .expect("the server is there");
        self.map(window);
        wait_for("window", || self.find(title));
        window
    }

    /// Gives a window another title.
    pub fn rename(&self, window: Window, title: &str) {
        self.set_text(window, AtomEnum::WM_NAME, title);
    }

    fn set_text(&self, window: Window, property: AtomEnum, text: &str) {
        let kind = AtomEnum::STRING;
        self.connection
            .change_property8(PropMode::REPLACE, window, property, kind, text.as_bytes())
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Declares the process of a window, and the machine that it runs on.
    pub fn set_process(&self, window: Window, process: u32, machine: Option<&str>) {
        let (number, kind) = (self.atom("_NET_WM_PID"), AtomEnum::CARDINAL);
        self.connection
            .change_property32(PropMode::REPLACE, window, number, kind, &[process])
            .expect("the server is there")
            .check()
            .expect("the window is there");
        if let Some(machine) = machine {
            self.set_text(window, AtomEnum::WM_CLIENT_MACHINE, machine);
        }
    }

    /// Paints a rectangle of a window: from where, which size, which colour.
    pub fn paint(&self, window: Window, [x, y]: [i16; 2], size: [u16; 2], colour: [u8; 3]) {
        let context = self.connection.generate_id().expect("an id");
        let foreground = CreateGCAux::new().foreground(pixel(colour));
        let [width, height] = size;
        let rectangle = Rectangle {
            x,
            y,
            width,
            height,
        };
        self.connection
            .create_gc(context, window, &foreground)
            .expect("the server is there");
        self.connection
            .poly_fill_rectangle(window, context, &[rectangle])
            .expect("the server is there");
        self.connection
            .free_gc(context)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Closes a window that [`Screen::open`] opened.
    pub fn close(&self, window: Window) {
        self.connection
            .destroy_window(window)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    /// Asks the manager to minimise a window; without one, takes it off the screen.
    pub fn minimise(&self, title: &str) {
        let window = wait_for("window", || self.find(title));
        if self.manager.is_none() {
            self.connection
                .unmap_window(window)
                .expect("the server is there")
                .check()
                .expect("the window is there");
            return;
        }
        let (iconic, change) = (3, self.atom("WM_CHANGE_STATE"));
        let event = ClientMessageEvent {
            response_type: CLIENT_MESSAGE_EVENT,
            format: 32,
            sequence: 0,
            window,
            type_: change,
            data: [iconic, 0, 0, 0, 0].into(),
        };
        let to = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection
            .send_event(false, self.root, to, event)
            .expect("the server is there")
            .check()
            .expect("the window manager accepts it");
    }

    /// Asks for another place of a window's corner: its inside's, or with a manager its frame's.
    pub fn move_window(&self, title: &str, [x, y]: [i16; 2]) {
        let to = ConfigureWindowAux::new().x(i32::from(x)).y(i32::from(y));
        self.configure(title, &to);
    }

    /// Asks for another size of a window's inside.
    pub fn resize_window(&self, title: &str, [width, height]: [u16; 2]) {
        let to = ConfigureWindowAux::new()
            .width(u32::from(width))
            .height(u32::from(height));
        self.configure(title, &to);
    }

    /// Asks for a window to be put over all others.
    pub fn raise_window(&self, title: &str) {
        let to = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.configure(title, &to);
    }

    /// A request of the window's own, which the manager, where there is one, sees first.
    fn configure(&self, title: &str, to: &ConfigureWindowAux) {
        let window = wait_for("window", || self.find(title));
        self.connection
            .configure_window(window, to)
            .expect("the server is there")
            .check()
            .expect("the window is there");
    }

    pub(super) fn atom(&self, name: &str) -> u32 {
        self.connection
            .intern_atom(false, name.as_bytes())
            .expect("the server is there")
            .reply()
            .expect("an atom")
            .atom
    }

    fn find(&self, title: &str) -> Option<Window> {
        let tree = self.connection.query_tree(self.root).ok()?.reply().ok()?;
        let mut windows = tree.children;
        // With a manager, windows lie in frames, at most so deep.
        for _ in 0..3 {
            let found = windows.iter().find(|&&window| self.is_shown(window, title));
            if found.is_some() {
                return found.copied();
            }
            let children = windows.iter().filter_map(|&window| {
                let tree = self.connection.query_tree(window).ok()?.reply().ok()?;
                Some(tree.children)
            });
            windows = children.flatten().collect();
        }
        None
    }

    fn is_shown(&self, window: Window, title: &str) -> bool {
        // Windows may go while they are asked.
        let (name, text) = (AtomEnum::WM_NAME, AtomEnum::ANY);
        let name = self
            .connection
            .get_property(false, window, name, text, 0, 64);
        let name = name.ok().and_then(|name| name.reply().ok());
        let state = self.connection.get_window_attributes(window);
        let state = state.ok().and_then(|state| state.reply().ok());
        name.is_some_and(|name| name.value == title.as_bytes())
            && state.is_some_and(|state| state.map_state == MapState::VIEWABLE)
    }
}

/// A colour (red, green, blue) as the server takes it.
fn pixel([red, green, blue]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, red, green, blue])
}
