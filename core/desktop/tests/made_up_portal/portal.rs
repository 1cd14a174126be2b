//! A portal that is made up, on a bus of its own: its answers are set, and it notes what it is asked.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zbus::blocking::{Connection, MessageIterator, connection::Builder};
use zbus::message::{Message, Type};
use zbus::zvariant::{Fd, OwnedObjectPath, OwnedValue, Value};

/// PipeWire's number of what it shows.
pub const NODE: u32 = 42;
const SERVICE: &str = "org.freedesktop.portal.Desktop";
const REQUEST: &str = "org.freedesktop.portal.Request";
const SESSION: &str = "org.freedesktop.portal.Session";

pub type Properties = HashMap<&'static str, Value<'static>>;

/// A monitor that is not the first one.
pub fn monitor() -> Properties {
    HashMap::from([
        ("position", Value::new((100, -50))),
        ("size", Value::new((640, 480))),
        ("source_type", Value::new(1_u32)),
    ])
}

/// What it answers.
pub struct Answers {
    /// The version of RemoteDesktop.
    pub remote_desktop: u32,
    /// The cursor modes.
    pub cursors: u32,
    pub devices: Value<'static>,
    pub streams: Value<'static>,
    /// Whether it gives tokens, each another one.
    pub tokens: bool,
    /// A token of its own.
    pub token: Option<Value<'static>>,
    /// A method that a person or it refuses, and the code.
    pub refuses: Option<(&'static str, u32)>,
    /// A method that is never answered, as when a dialog stays open.
    pub ignores: Option<&'static str>,
    /// A method that fails at once.
    pub fails_at: Option<&'static str>,
    /// A method instead of whose answer the session is closed.
    pub closes_at: Option<&'static str>,
    /// A method whose answer has other types.
    pub garbles: Option<&'static str>,
    /// A path of the session that is not the one that was asked for.
    pub session: Option<&'static str>,
    /// The socket of the PipeWire that has its pictures.
    pub pipewire: Option<PathBuf>,
    /// The socket for emulated input, which is given once. `None`: it has none.
    pub eis: Mutex<Option<OwnedFd>>,
    /// Whether it refuses to give that socket.
    pub refuses_eis: bool,
    /// Whether it takes a second to answer a move.
    pub slow_moves: Arc<AtomicBool>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            remote_desktop: 2,
            cursors: 7,
            devices: Value::new(3_u32),
            streams: Value::new(vec![(NODE, monitor())]),
            tokens: false,
            token: None,
            refuses: None,
            ignores: None,
            fails_at: None,
            closes_at: None,
            garbles: None,
            session: None,
            pipewire: None,
            eis: Mutex::default(),
            refuses_eis: false,
            slow_moves: Arc::default(),
        }
    }
}

/// What it was asked.
#[derive(Default)]
struct Noted {
    asked: Vec<String>,
    events: Vec<String>,
    /// Who has a session, and its path.
    session: Option<(String, String)>,
    tokens: u32,
    /// Whether a socket for emulated input was given: then it refuses its own methods.
    uses_eis: bool,
}

pub struct MadeUpPortal {
    connection: Connection,
    noted: Arc<Mutex<Noted>>,
    daemon: Child,
    folder: tempfile::TempDir,
}

impl MadeUpPortal {
    pub fn start(answers: Answers) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("bus.conf");
        let socket = folder.path().join("bus");
        let text = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow user=\"*\"/><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>\
             <allow own=\"*\"/></policy></busconfig>",
            socket.display()
        );
        std::fs::write(&config, text).unwrap();
        let daemon = Command::new("dbus-daemon")
            .arg("--nofork")
            .arg(format!("--config-file={}", config.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("dbus-daemon: {error}: `./x test` installs it"));
        let address = format!("unix:path={}", socket.display());
        let began = Instant::now();
        let connection = loop {
            match Builder::address(address.as_str()).unwrap().build() {
                Ok(connection) => break connection,
                Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let noted: Arc<Mutex<Noted>> = Arc::default();
        let messages = MessageIterator::from(&connection);
        let (answering, notes) = (connection.clone(), Arc::clone(&noted));
        std::thread::spawn(move || {
            for message in messages.map_while(Result::ok) {
                if message.message_type() == Type::MethodCall {
                    answer(&answering, &answers, &notes, &message);
                }
            }
        });
        let portal = Self {
            connection,
            noted,
            daemon,
            folder,
        };
        portal.own(SERVICE);
        portal
    }

    /// Takes a name on the bus.
    pub fn own(&self, name: &str) {
        let bus = "org.freedesktop.DBus";
        self.connection
            .call_method(
                Some(bus),
                "/org/freedesktop/DBus",
                Some(bus),
                "RequestName",
                &(name, 0_u32),
            )
            .unwrap();
    }

    pub fn bus(&self) -> String {
        format!("unix:path={}", self.path("bus").display())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The requests, each with its options by name.
    pub fn asked(&self) -> Vec<String> {
        self.noted.lock().unwrap().asked.clone()
    }

    /// How often it was asked for something.
    pub fn count(&self, method: &str) -> usize {
        let asked = self.asked();
        asked.iter().filter(|it| it.starts_with(method)).count()
    }

    /// What the mouse did.
    pub fn events(&self) -> Vec<String> {
        self.noted.lock().unwrap().events.clone()
    }

    /// The same, without so many first ones.
    pub fn events_after(&self, count: usize) -> Vec<String> {
        self.noted.lock().unwrap().events[count..].to_vec()
    }

    pub fn close_session(&self) {
        let session = self.noted.lock().unwrap().session.clone();
        let (to, path) = session.unwrap();
        signal(
            &self.connection,
            &to,
            &path,
            SESSION,
            "Closed",
            &Properties::new(),
        );
    }
}

impl Drop for MadeUpPortal {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn signal<B>(connection: &Connection, to: &str, path: &str, interface: &str, name: &str, body: &B)
where
    B: serde::Serialize + zbus::zvariant::DynamicType,
{
    // A test that has ended waits for none.
    let _ = connection.emit_signal(Some(to), path, interface, name, body);
}

type Options = HashMap<String, OwnedValue>;

fn answer(connection: &Connection, answers: &Answers, noted: &Mutex<Noted>, message: &Message) {
    let header = message.header();
    let method = header.member().unwrap().as_str().to_owned();
    let sender = header.sender().unwrap().to_string();
    let body = message.body();
    let mut noted = noted.lock().unwrap();
    let options: Options = match method.as_str() {
        "Get" => {
            let (_, name): (String, String) = body.deserialize().unwrap();
            let is_remote = body
                .deserialize::<(String, String)>()
                .unwrap()
                .0
                .ends_with("RemoteDesktop");
            let value = match name.as_str() {
                "version" if is_remote => answers.remote_desktop,
                "version" => 4,
                "AvailableSourceTypes" => 3,
                "AvailableCursorModes" => answers.cursors,
                _ => 7,
            };
            connection.reply(&header, &Value::new(value)).unwrap();
            return;
        }
        "ConnectToEIS" => {
            let (_, _): (OwnedObjectPath, Options) = body.deserialize().unwrap();
            match answers.eis.lock().unwrap().take() {
                Some(socket) => {
                    noted.uses_eis = true;
                    connection.reply(&header, &Fd::from(socket)).unwrap();
                }
                None => {
                    let name = match answers.refuses_eis {
                        true => "org.freedesktop.DBus.Error.AccessDenied",
                        false => "org.freedesktop.DBus.Error.UnknownMethod",
                    };
                    connection.reply_error(&header, name, &"none").unwrap();
                }
            }
            return;
        }
        _ if noted.uses_eis && method.starts_with("Notify") => {
            noted.events.push(format!("refused {method}"));
            let name = "org.freedesktop.DBus.Error.AccessDenied";
            connection
                .reply_error(&header, name, &"it uses EIS")
                .unwrap();
            return;
        }
        "NotifyPointerMotionAbsolute" => {
            let (_, _, node, x, y): (OwnedObjectPath, Options, u32, f64, f64) =
                body.deserialize().unwrap();
            noted.events.push(format!("move {node} {x} {y}"));
            if answers.slow_moves.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_secs(1));
            }
            connection.reply(&header, &()).unwrap();
            return;
        }
        "NotifyPointerButton" | "NotifyKeyboardKeysym" => {
            let (_, _, number, state): (OwnedObjectPath, Options, i32, u32) =
                body.deserialize().unwrap();
            let what = match method.as_str() {
                "NotifyPointerButton" => "button",
                _ => "symbol",
            };
            noted.events.push(format!("{what} {number} {state}"));
            // The guardian's wants no answer, and gets one.
            connection.reply(&header, &()).unwrap();
            return;
        }
        "OpenPipeWireRemote" if answers.fails_at == Some("OpenPipeWireRemote") => Options::new(),
        "OpenPipeWireRemote" => {
            let remote = match &answers.pipewire {
                Some(socket) => UnixStream::connect(socket).unwrap(),
                // Nobody answers there.
                None => UnixStream::pair().unwrap().0,
            };
            noted.asked.push(method);
            let remote = Fd::from(OwnedFd::from(remote));
            connection.reply(&header, &remote).unwrap();
            return;
        }
        "CreateSession" => body.deserialize().unwrap(),
        "Start" => {
            body.deserialize::<(OwnedObjectPath, String, Options)>()
                .unwrap()
                .2
        }
        "SelectSources" | "SelectDevices" => {
            body.deserialize::<(OwnedObjectPath, Options)>().unwrap().1
        }
        _ => return,
    };
    let mut words: Vec<String> = options
        .iter()
        .map(|(name, value)| format!("{name}={} ", shown(value)))
        .collect();
    words.sort();
    noted.asked.push(format!("{method} {}", words.concat()));
    let is = |wanted: Option<&str>| wanted == Some(method.as_str());
    if is(answers.fails_at) {
        let name = "org.freedesktop.DBus.Error.Failed";
        connection.reply_error(&header, name, &"it fails").unwrap();
        return;
    }
    let name = |key: &str| String::try_from(options[key].try_clone().unwrap()).unwrap();
    let own = sender.trim_start_matches(':').replace('.', "_");
    let base = "/org/freedesktop/portal/desktop";
    let request = format!("{base}/request/{own}/{}", name("handle_token"));
    let path = OwnedObjectPath::try_from(request.as_str()).unwrap();
    connection.reply(&header, &path).unwrap();
    let mut results = Properties::new();
    match method.as_str() {
        "CreateSession" => {
            let session = format!("{base}/session/{own}/{}", name("session_handle_token"));
            noted.session = Some((sender.clone(), session.clone()));
            let session = answers.session.map_or(session, str::to_owned);
            results.insert("session_handle", Value::new(session));
        }
        "Start" => {
            results.insert("devices", answers.devices.try_clone().unwrap());
            results.insert("streams", answers.streams.try_clone().unwrap());
            noted.tokens += 1;
            let token = answers
                .tokens
                .then(|| Value::new(format!("token {}", noted.tokens)));
            let own = answers.token.as_ref().map(|it| it.try_clone().unwrap());
            if let Some(token) = token.or(own) {
                results.insert("restore_token", token);
            }
        }
        _ => {}
    }
    if is(answers.ignores) {
        return;
    }
    if is(answers.closes_at) {
        let (to, path) = noted.session.clone().unwrap();
        signal(
            connection,
            &to,
            &path,
            SESSION,
            "Closed",
            &Properties::new(),
        );
    } else if is(answers.garbles) {
        signal(
            connection,
            &sender,
            &request,
            REQUEST,
            "Response",
            &("granted", 7_u32),
        );
    } else {
        let refused = answers.refuses.filter(|(refused, _)| *refused == method);
        let code = refused.map_or(0, |(_, code)| code);
        signal(
            connection,
            &sender,
            &request,
            REQUEST,
            "Response",
            &(code, results),
        );
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::U32(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Str(value) => format!("{:?}", value.as_str()),
        other => format!("{other:?}"),
    }
}
