//! The compositor's globals: what it offers, by interface. It is not trusted to come to an end.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wayland_client::backend::protocol::Message;
use wayland_client::backend::{Backend, ObjectData, ObjectId};
use wayland_client::protocol::wl_display;
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, Proxy, QueueHandle};

use crate::answer;
use crate::counted;
use crate::lost::Lost;

/// How many a compositor announces at most while this program is connected, those that it has taken back included. Sway
/// begins with some fifty, and announces one when a monitor is switched on.
const MOST: usize = 1 << 12;

/// The globals as they are now.
pub struct Globals {
    registry: WlRegistry,
    list: Arc<GlobalList>,
}

#[derive(Default)]
struct GlobalList(Mutex<Announced>);

#[derive(Default)]
struct Announced {
    globals: Vec<Global>,
    /// How many came until now.
    count: usize,
}

struct Global {
    number: u32,
    interface: String,
    version: u32,
}

impl Globals {
    /// Those of a compositor that answers.
    ///
    /// # Errors
    /// [`Lost`] when it does not, or announces too many.
    pub fn of(connection: &Connection) -> Result<Self, Lost> {
        let list: Arc<GlobalList> = Arc::default();
        let question = wl_display::Request::GetRegistry {};
        let registry = connection
            .display()
            .send_constructor(question, Arc::clone(&list) as Arc<dyn ObjectData>)
            .map_err(|error| Lost(error.to_string()))?;
        let answered = answer::roundtrip(connection, &mut connection.new_event_queue(), &mut ());
        if list.lock().count > MOST {
            let why = format!("the compositor announces more than {MOST} globals");
            return Err(Lost(why));
        }
        answered.map(|()| Self { registry, list })
    }

    /// The interfaces, in the order in which they were announced.
    #[must_use]
    pub fn interfaces(&self) -> Vec<String> {
        let list = self.list.lock();
        list.globals.iter().map(|it| it.interface.clone()).collect()
    }

    /// Whether there is one of an interface.
    pub fn has<I: Proxy>(&self) -> bool {
        !self.all::<I>().is_empty()
    }

    /// The number and the version of each of an interface, in their order.
    pub fn all<I: Proxy>(&self) -> Vec<(u32, u32)> {
        let list = self.list.lock();
        let globals = list.globals.iter();
        let found = globals.filter(|it| it.interface == I::interface().name);
        found.map(|it| (it.number, it.version)).collect()
    }

    /// Binds the first one of an interface, in no version beyond the newest that is used here. `None`: there is none.
    pub fn bind<I, S>(&self, handle: &QueueHandle<S>, newest: u32) -> Option<I>
    where
        I: Proxy + 'static,
        S: Dispatch<I, ()> + 'static,
    {
        let &(number, version) = self.all::<I>().first()?;
        Some(self.bind_one(number, version.min(newest), handle, ()))
    }

    /// Binds one.
    pub fn bind_one<I, S, U>(
        &self,
        number: u32,
        version: u32,
        handle: &QueueHandle<S>,
        data: U,
    ) -> I
    where
        I: Proxy + 'static,
        S: Dispatch<I, U> + 'static,
        U: Send + Sync + 'static,
    {
        let id = (I::interface(), version);
        let request = wl_registry::Request::Bind { name: number, id };
        counted::create(&self.registry, request, handle, data)
    }
}

impl GlobalList {
    fn lock(&self) -> MutexGuard<'_, Announced> {
        // Nothing here can be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Announced {
    /// Whether it is not one too many.
    fn add(&mut self, global: Global) -> bool {
        self.count = self.count.saturating_add(1);
        let is_kept = self.count <= MOST;
        if is_kept {
            self.globals.push(global);
        }
        is_kept
    }
}

impl ObjectData for GlobalList {
    fn event(
        self: Arc<Self>,
        backend: &Backend,
        message: Message<ObjectId, OwnedFd>,
    ) -> Option<Arc<dyn ObjectData>> {
        let connection = Connection::from_backend(backend.clone());
        match WlRegistry::parse_event(&connection, message) {
            Ok((
                _,
                wl_registry::Event::Global {
                    name,
                    interface,
                    version,
                },
            )) => {
                let global = Global {
                    number: name,
                    interface,
                    version,
                };
                if !self.lock().add(global) {
                    counted::end(backend);
                }
            }
            Ok((_, wl_registry::Event::GlobalRemove { name })) => {
                self.lock().globals.retain(|it| it.number != name);
            }
            // Something else, or malformed.
            _ => {}
        }
        None
    }

    fn destroyed(&self, _: ObjectId) {}
}
