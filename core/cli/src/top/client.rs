//! The side of who looks: finds a run and listens to it.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use thiserror::Error;

use super::folder::{self, Place};
use super::wire::{Hello, Line, VERSION};

/// A run says who it is at once.
const SOON: Duration = Duration::from_secs(2);
/// A line is shorter than this: the largest boards come to some hundred kilobytes.
const LONGEST: u64 = 64 << 20;

/// A run that is listened to.
pub struct Connection {
    /// Who speaks.
    pub hello: Hello,
    /// What it tells. It ends with the run.
    pub lines: Receiver<Line>,
}

/// Why a run can't be looked at.
#[derive(Debug, Error)]
pub enum LookError {
    /// The folder of sockets.
    #[error("can't look for runs: {0}")]
    Folder(#[source] io::Error),
    /// There is no run of this number.
    #[error("process {0} is no run that can be looked at; `flowpipe top --list` names them")]
    NoSuchRun(u32),
    /// Another program.
    #[error(
        "run {pid} is of flowpipe {flowpipe}, which tells in another way (version {version}, here {VERSION})"
    )]
    Version {
        /// The process.
        pid: u32,
        /// The run's program.
        flowpipe: String,
        /// What it speaks.
        version: u64,
    },
    /// It hung up, or told something else.
    #[error("run {pid}: {error}")]
    Talk {
        /// The process.
        pid: u32,
        /// What.
        error: io::Error,
    },
}

/// All runs, the newest last. Those that just end, or are of another version, are left out.
///
/// # Errors
/// When the folder can't be looked into.
pub fn all() -> Result<Vec<Hello>, LookError> {
    let runs = folder::open().and_then(|folder| folder::runs(&folder));
    let runs = runs.map_err(LookError::Folder)?;
    let mut hellos: Vec<Hello> = Vec::new();
    for (place, stream) in runs {
        match greet(&place, stream) {
            Ok((hello, _)) => hellos.push(hello),
            Err(error) => tracing::info!("{error}"),
        }
    }
    hellos.sort_by_key(|hello| (hello.started_unix_ns, hello.pid));
    Ok(hellos)
}

/// Listens to the run of a process.
///
/// # Errors
/// See [`LookError`].
pub fn connect(pid: u32) -> Result<Connection, LookError> {
    let folder = folder::open().map_err(LookError::Folder)?;
    let place = folder::place(&folder, pid);
    let stream = open(&place.path).map_err(|_| LookError::NoSuchRun(pid))?;
    let (hello, reader) = greet(&place, stream)?;
    let (to, lines) = crossbeam_channel::bounded(64);
    let listens = std::thread::Builder::new()
        .name("flowpipe-guest".into())
        .spawn(move || listen(reader, &to));
    listens.map_err(|error| LookError::Talk { pid, error })?;
    Ok(Connection { hello, lines })
}

fn open(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

/// Hears who speaks.
fn greet(place: &Place, stream: UnixStream) -> Result<(Hello, BufReader<UnixStream>), LookError> {
    let pid = place.pid;
    let talk = |error| LookError::Talk { pid, error };
    stream.set_read_timeout(Some(SOON)).map_err(talk)?;
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    reader
        .by_ref()
        .take(LONGEST)
        .read_line(&mut text)
        .map_err(talk)?;
    reader.get_ref().set_read_timeout(None).map_err(talk)?;
    // Whatever else may change, these two stay.
    let told: serde_json::Value = serde_json::from_str(&text).map_err(|it| talk(it.into()))?;
    let version = told["version"].as_u64().unwrap_or_default();
    if version != u64::from(VERSION) {
        return Err(LookError::Version {
            pid,
            flowpipe: told["flowpipe"].as_str().unwrap_or("?").to_owned(),
            version,
        });
    }
    match serde_json::from_value(told).map_err(|it| talk(it.into()))? {
        Line::Hello(hello) => Ok((hello, reader)),
        _ => Err(talk(io::ErrorKind::InvalidData.into())),
    }
}

/// Hands on what is told until nobody speaks or nobody takes it.
fn listen(mut reader: BufReader<UnixStream>, to: &Sender<Line>) {
    let mut text = String::new();
    loop {
        text.clear();
        match reader.by_ref().take(LONGEST).read_line(&mut text) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        // Half a line is what a killed run leaves.
        let Ok(line) = serde_json::from_str(&text) else {
            return;
        };
        if to.send(line).is_err() {
            return;
        }
    }
}
