//! The session's bus, on which Mutter and the desktop portal answer.

use std::ffi::OsStr;
use std::io;
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

#[cfg(feature = "input")]
use flowpipe_guardian::{Input, PreparedReleases};
use flowpipe_process::patience::Patience;
use flowpipe_process::time_limit::within;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::address::transport::{Transport, UnixSocket};
use zbus::blocking::connection::Builder;
use zbus::blocking::{Connection, MessageIterator};
use zbus::message::{Message, Type as MessageType};
#[cfg(any(feature = "input", feature = "portal"))]
use zbus::zvariant::OwnedValue;
use zbus::zvariant::{DynamicType, Type};
use zbus::{Address, names::BusName};

use crate::error::{DesktopError, Result};
#[cfg(feature = "input")]
use crate::input::button_code;
#[cfg(feature = "input")]
use crate::key_code;

/// How long an answer may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// The bus itself.
pub(crate) const BUS: Object<'_> = Object::main("org.freedesktop.DBus", "/org/freedesktop/DBus");

/// A connection of its own.
pub(crate) struct Bus {
    connection: Connection,
    /// The same connection.
    socket: UnixStream,
}

/// An object of a service's, as seen through one of its interfaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    /// Of the interface.
    pub service: &'a str,
    pub path: &'a str,
    pub interface: &'a str,
}

impl<'a> Object<'a> {
    /// The main object of a service, which has the service's name.
    pub(crate) const fn main(service: &'a str, path: &'a str) -> Self {
        Self {
            service,
            path,
            interface: service,
        }
    }
}

impl Bus {
    /// Connects to the bus of an address; `None`: to that of the session that this program runs in.
    pub(crate) fn connect(address: Option<&str>) -> Result<Self> {
        let failed = |reason: String| DesktopError::NoDesktop {
            reason: format!("the session's bus does not answer: {reason}"),
        };
        if address.is_none() {
            check_session_address()?;
        }
        let address = address.map(str::to_owned);
        // The library waits without limit.
        let opened = within(LIMIT, "bus-connects", move || open(address.as_deref()))
            .map_err(|error| failed(error.to_string()))?
            .ok_or_else(|| failed(format!("it was silent for {LIMIT:?}")))?;
        let (connection, socket) = opened.map_err(|error| failed(error.to_string()))?;
        Ok(Self { connection, socket })
    }

    #[cfg(feature = "portal")]
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether a name on the bus has an owner now.
    pub(crate) fn has_owner(&self, name: &str) -> zbus::Result<bool> {
        self.call(BUS, "NameHasOwner", &BusName::try_from(name)?)
    }

    /// The process that owns a name on the bus.
    #[cfg(feature = "wlroots")]
    pub(crate) fn process(&self, name: &str) -> zbus::Result<u32> {
        let name = BusName::try_from(name)?;
        self.call(BUS, "GetConnectionUnixProcessID", &name)
    }

    /// Asks, and waits for the answer.
    pub(crate) fn call<Q, A>(
        &self,
        object: Object<'_>,
        method: &str,
        question: &Q,
    ) -> zbus::Result<A>
    where
        Q: Serialize + DynamicType,
        A: DeserializeOwned + Type,
    {
        call(&self.connection, object, method, question)
    }

    /// What an object has under a name.
    #[cfg(any(feature = "input", feature = "portal"))]
    pub(crate) fn property(&self, object: Object<'_>, name: &str) -> zbus::Result<OwnedValue> {
        let properties = Object {
            interface: "org.freedesktop.DBus.Properties",
            ..object
        };
        self.call(properties, "Get", &(object.interface, name))
    }

    /// Calls a handler for each signal that matches the rules, on a thread of its own. Ends when the handler breaks or the
    /// connection closes; then the returned flag is true. `begin` runs after the rules are added and before the first signal
    /// is handled, and returns the handler. `thread`: the thread's name.
    pub(crate) fn listen<H>(
        &self,
        thread: &str,
        rules: &[&str],
        begin: impl FnOnce() -> zbus::Result<H>,
    ) -> zbus::Result<Arc<AtomicBool>>
    where
        H: FnMut(&Message) -> ControlFlow<()> + Send + 'static,
    {
        let messages = MessageIterator::from(&self.connection);
        // The rules end with the connection, which nobody asks the bus for.
        for rule in rules {
            self.call::<_, ()>(BUS, "AddMatch", rule)?;
        }
        let mut hear = begin()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::Builder::new()
            .name(thread.to_owned())
            .spawn(move || {
                let signals = messages
                    .map_while(zbus::Result::ok)
                    .filter(|message| message.message_type() == MessageType::Signal);
                for signal in signals {
                    if hear(&signal).is_break() {
                        break;
                    }
                }
                over.store(true, Ordering::Release);
            })?;
        Ok(is_over)
    }

    /// Has something done, and does not wait. What is sent later is done later.
    #[cfg(all(feature = "input", feature = "mutter"))]
    pub(crate) fn send(&self, message: &Message) -> zbus::Result<()> {
        send(&self.connection, message, LIMIT)
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // Threads that wait for signals end. It may be closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Asks on a connection, and waits for the answer.
pub(crate) fn call<Q, A>(
    connection: &Connection,
    object: Object<'_>,
    method: &str,
    question: &Q,
) -> zbus::Result<A>
where
    Q: Serialize + DynamicType,
    A: DeserializeOwned + Type,
{
    let asked = connection.inner().call_method(
        Some(object.service),
        object.path,
        Some(object.interface),
        method,
        question,
    );
    // The library's own limit (`method_timeout`) counts stalls: an answer that came meanwhile would be late.
    let answer = wait_for(asked, LIMIT).ok_or_else(|| {
        let why = format!("{} has not answered for {LIMIT:?}", object.service);
        io::Error::new(io::ErrorKind::TimedOut, why)
    })??;
    answer.body().deserialize()
}

/// Sends a message, and waits until the bus has room for it: with a button down, not without a limit.
#[cfg(all(feature = "input", feature = "mutter"))]
fn send(connection: &Connection, message: &Message, limit: Duration) -> zbus::Result<()> {
    wait_for(connection.inner().send(message), limit).ok_or_else(|| {
        let why = format!("the session's bus has accepted nothing for {limit:?}");
        io::Error::new(io::ErrorKind::TimedOut, why)
    })?
}

/// Wakes a thread that waits for a future.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future, at most for a time. `None`: it takes longer.
fn wait_for<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut patience = Patience::new(limit);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        patience.wait(thread::park_timeout)?;
    }
}

/// The user as whom a program on the bus runs.
#[cfg(feature = "portal")]
pub(crate) fn user(connection: &Connection, name: &str) -> zbus::Result<u32> {
    let name = BusName::try_from(name)?;
    call(connection, BUS, "GetConnectionUnixUser", &name)
}

/// A message that is not answered.
#[cfg(feature = "input")]
pub(crate) fn order<B>(object: Object<'_>, method: &str, body: &B) -> zbus::Result<Message>
where
    B: Serialize + DynamicType,
{
    Message::method_call(object.path, method)?
        .destination(object.service)?
        .interface(object.interface)?
        .with_flags(zbus::message::Flags::NoReplyExpected)?
        .build(body)
}

/// The number of a button or a key in RemoteDesktop's interfaces: Linux's code of the button, the symbol of the key.
///
/// # Errors
/// When there is no such button, or no key has the code.
#[cfg(feature = "input")]
pub(crate) fn number(input: Input) -> Result<u32> {
    match input {
        Input::Button(button) => button_code(button),
        Input::Key(code) => match key_code::key(code) {
            Some(key) => Ok(key.symbol),
            None => Err(DesktopError::Unsupported("another key")),
        },
    }
}

/// Messages that release on a connection, for a process that outlives this one. `release`: the message for a button or a
/// key, with its number.
#[cfg(feature = "input")]
pub(crate) fn prepared(
    bus: &Bus,
    release: impl Fn(Input, u32) -> zbus::Result<Message>,
) -> zbus::Result<PreparedReleases> {
    let known = |button| Some((Input::Button(button), button_code(button).ok()?));
    let buttons = (1..=3).filter_map(known);
    let keys = key_code::all().map(|(code, key)| (Input::Key(code), key.symbol));
    let prepare = |(input, number)| {
        let message = release(input, number)?;
        Ok((input, message.data().bytes().to_vec()))
    };
    Ok(PreparedReleases {
        socket: bus.socket.try_clone()?,
        releases: buttons
            .chain(keys)
            .map(prepare)
            .collect::<zbus::Result<_>>()?,
        time_from_end: None,
    })
}

/// Checks the variable that names the session's bus. zbus takes one that is not UTF-8 for one that is not set, and would
/// use another bus.
///
/// # Errors
/// When it is not UTF-8.
pub(crate) fn check_session_address() -> Result<()> {
    check_address(std::env::var_os("DBUS_SESSION_BUS_ADDRESS").as_deref())
}

fn check_address(address: Option<&OsStr>) -> Result<()> {
    match address {
        Some(address) if address.to_str().is_none() => Err(DesktopError::NoDesktop {
            reason:
                "DBUS_SESSION_BUS_ADDRESS is not UTF-8: set it to the address of the session's bus"
                    .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The address of a bus; `None`: of that of the session that this program runs in.
pub(crate) fn address(address: Option<&str>) -> String {
    let of_session = || Address::session().map_or_else(|_| String::new(), |it| it.to_string());
    address.map_or_else(of_session, str::to_owned)
}

fn open(address: Option<&str>) -> zbus::Result<(Connection, UnixStream)> {
    let address = match address {
        Some(address) => address.parse()?,
        None => Address::session()?,
    };
    let unsupported = || zbus::Error::Address("it is not a socket of this machine".to_owned());
    let Transport::Unix(unix) = address.transport() else {
        return Err(unsupported());
    };
    let socket = match unix.path() {
        UnixSocket::File(path) => UnixStream::connect(path)?,
        UnixSocket::Abstract(name) => {
            let address = SocketAddr::from_abstract_name(name.as_encoded_bytes())?;
            UnixStream::connect_addr(&address)?
        }
        _ => return Err(unsupported()),
    };
    let connection = Builder::async_io_unix_stream(socket.try_clone()?).build()?;
    Ok((connection, socket))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::os::unix::ffi::OsStrExt as _;
    #[cfg(all(feature = "input", feature = "mutter"))]
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use super::*;

    /// As one that stands still.
    #[cfg(all(feature = "input", feature = "mutter"))]
    #[test]
    fn a_bus_that_stops_reading_is_waited_for_up_to_a_limit() {
        struct Daemon(Child);

        impl Drop for Daemon {
            fn drop(&mut self) {
                // It may have ended by itself.
                let _ = self.0.kill();
                let _ = self.0.wait();
            }
        }

        let folder = tempfile::tempdir().unwrap();
        let address = format!("unix:path={}", folder.path().join("bus").display());
        let started = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile"])
            .arg(format!("--address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let daemon = Daemon(started.unwrap());
        let began = Instant::now();
        let bus = loop {
            match Bus::connect(Some(&address)) {
                Ok(bus) => break bus,
                Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "{error}"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        let process = rustix::process::Pid::from_child(&daemon.0);
        rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
        let message = order(BUS, "NameHasOwner", &"x".repeat(64 << 10)).unwrap();
        let limit = Duration::from_millis(150);
        // More than the socket has room for.
        let mut sent = (0..1000).map(|_| send(&bus.connection, &message, limit));
        let error = sent.find_map(std::result::Result::err).unwrap().to_string();
        assert!(error.contains("has accepted nothing for 150ms"), "{error}");
    }

    #[test]
    fn an_address_of_the_session_s_bus_that_is_not_utf_8_is_refused() {
        for address in [None, Some("unix:path=/run/bus"), Some("")] {
            assert!(check_address(address.map(OsStr::new)).is_ok());
        }
        let error = check_address(Some(OsStr::from_bytes(b"unix:path=/caf\xe9/bus")));
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("DBUS_SESSION_BUS_ADDRESS is not UTF-8"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_is_waited_for_up_to_a_limit() {
        let limit = Duration::from_millis(150);
        let began = Instant::now();
        assert_eq!(wait_for(pending::<()>(), limit), None);
        assert!(began.elapsed() >= limit);
        let mut is_asked = false;
        let answered = poll_fn(|context| {
            if std::mem::replace(&mut is_asked, true) {
                return Poll::Ready(7);
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        });
        assert_eq!(wait_for(answered, Duration::from_secs(60)), Some(7));
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
