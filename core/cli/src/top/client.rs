//! The side of the viewer: finds a run and receives its messages.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use thiserror::Error;

use super::protocol::{Hello, Line, VERSION};
use super::sockets::{self, RunSocket};
use crate::user_folder;

/// The timeout for the greeting of a run.
const HELLO_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum length of a line. The largest boards take some hundred kilobytes.
const LONGEST: u64 = 64 << 20;

/// A connection to a run.
pub struct Connection {
    /// The greeting of the run.
    pub hello: Hello,
    /// Its messages. Disconnects at the end of the run.
    pub lines: Receiver<Line>,
}

/// Why a run can't be watched.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The folder of sockets.
    #[error("can't look for runs: {0}")]
    Folder(#[source] io::Error),
    /// There is no run of this number.
    #[error("process {0} is not a run that can be watched; `flowpipe top --list` lists them")]
    NoSuchRun(u32),
    /// Another version.
    #[error(
        "run {pid} is of flowpipe {flowpipe}, with another version of the protocol ({version}, here {VERSION})"
    )]
    Version {
        /// The process.
        pid: u32,
        /// The version of the run's program.
        flowpipe: String,
        /// The version of its protocol.
        version: u64,
    },
    /// It disconnected, or sent a malformed message.
    #[error("run {pid}: {error}")]
    Connection {
        /// The process.
        pid: u32,
        /// The error.
        error: io::Error,
    },
}

/// All runs, the newest last, except those that end meanwhile or have another version.
///
/// # Errors
/// When the folder can't be read.
pub fn all() -> Result<Vec<Hello>, ConnectError> {
    let runs = user_folder::open().and_then(|folder| sockets::runs(&folder));
    let runs = runs.map_err(ConnectError::Folder)?;
    let mut hellos: Vec<Hello> = Vec::new();
    for (socket, stream) in runs {
        match greet(&socket, stream) {
            Ok((hello, _)) => hellos.push(hello),
            Err(error) => tracing::info!("{error}"),
        }
    }
    hellos.sort_by_key(|hello| (hello.started_unix_ns, hello.pid));
    Ok(hellos)
}

/// Connects to the run of a process.
///
/// # Errors
/// See [`ConnectError`].
pub fn connect(pid: u32) -> Result<Connection, ConnectError> {
    let folder = user_folder::open().map_err(ConnectError::Folder)?;
    let socket = sockets::socket(&folder, pid);
    let stream = open(&socket.path).map_err(|_| ConnectError::NoSuchRun(pid))?;
    let (hello, reader) = greet(&socket, stream)?;
    let (to, lines) = crossbeam_channel::bounded(64);
    let started = std::thread::Builder::new()
        .name("flowpipe-top".into())
        .spawn(move || listen(reader, &to));
    started.map_err(|error| ConnectError::Connection { pid, error })?;
    Ok(Connection { hello, lines })
}

fn open(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

/// Reads the greeting.
fn greet(
    socket: &RunSocket,
    stream: UnixStream,
) -> Result<(Hello, BufReader<UnixStream>), ConnectError> {
    let pid = socket.pid;
    let failed = |error| ConnectError::Connection { pid, error };
    stream
        .set_read_timeout(Some(HELLO_TIMEOUT))
        .map_err(failed)?;
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    reader
        .by_ref()
        .take(LONGEST)
        .read_line(&mut text)
        .map_err(failed)?;
    reader.get_ref().set_read_timeout(None).map_err(failed)?;
    // Every version has these two fields.
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|it| failed(it.into()))?;
    let version = value["version"].as_u64().unwrap_or_default();
    if version != u64::from(VERSION) {
        return Err(ConnectError::Version {
            pid,
            flowpipe: value["flowpipe"].as_str().unwrap_or("?").to_owned(),
            version,
        });
    }
    match serde_json::from_value(value).map_err(|it| failed(it.into()))? {
        Line::Hello(hello) => Ok((hello, reader)),
        _ => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// Forwards lines until the run disconnects or the receiver is gone.
fn listen(mut reader: BufReader<UnixStream>, to: &Sender<Line>) {
    let mut text = String::new();
    loop {
        text.clear();
        match reader.by_ref().take(LONGEST).read_line(&mut text) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        // A killed run may leave an incomplete line.
        let Ok(line) = serde_json::from_str(&text) else {
            return;
        };
        if to.send(line).is_err() {
            return;
        }
    }
}
