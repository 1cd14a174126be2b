//! The process that reads manifests: loads libraries in order, and sends the manifests of each.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use flowpipe_host::library::loader;

use crate::child::{connection, end_if_alone, raise_oom_score, watch_host};
use crate::confinement::{Confinement, Unreadable, confine};
use crate::scanner::session::{Answer, Scan};
use crate::wire::Wire;

/// Runs as the process that reads manifests, until all are read or the host is gone.
#[must_use]
pub fn run() -> ExitCode {
    match scan() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            end_if_alone(&error);
            eprintln!(
                "a process that reads manifests, which only flowpipe itself can start: {error}"
            );
            ExitCode::FAILURE
        }
    }
}

fn scan() -> io::Result<()> {
    let socket = connection()?;
    let host = socket.try_clone()?.into();
    raise_oom_score();
    let mut wire = Wire::to_host(socket);
    let Some((Scan, names)) = wire.receive::<Scan>()? else {
        return Ok(());
    };
    // Nothing that a library prints here is output of the program.
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    let itself = std::process::id();
    let names = names.split(|&byte| byte == 0);
    let names = names.filter(|name| !name.is_empty());
    let paths: Vec<_> = names
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect();
    // A library needs no effects to return its manifests. Before there is a second thread.
    let confined = confine(&Confinement::without_effects(), &paths);
    let unreadable = confined.map_err(io::Error::other)?;
    watch_host(host)?;
    for (number, path) in paths.iter().enumerate() {
        let library = loader::load(path);
        // A library may fork when it is loaded. The copy ends here: only one process may answer.
        if std::process::id() != itself {
            let copy = rustix::process::getpid();
            let _ = rustix::process::kill_process(copy, rustix::process::Signal::KILL);
        }
        let scanned = library.map(|library| library.manifests.clone());
        let scanned = scanned.map_err(|error| Unreadable::explain(&unreadable, path, error));
        wire.send(&Answer { number, scanned }, b"", &[])?;
    }
    loader::deinit_all();
    Ok(())
}
