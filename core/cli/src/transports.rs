//! How the machines of a run connect: over plain TCP on one machine, and else by a library that is loaded then.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::io;
use std::path::Path;

use flowpipe_config::pipeline::{Address, Machines};
use flowpipe_host::library::write_access;
use flowpipe_link::library::{Endpoint, TransportLibrary};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::Transport;

use crate::certificates::CertificateFiles;
use crate::exit::Failure;
use crate::plugins;

/// The library, without the prefix and the suffix of the system.
const LIBRARY: &str = "flowpipe_zenoh";

/// Starts the transport between two machines of a run. `opens`: this one opens the connections.
///
/// # Errors
/// When it can't listen, or when a certificate or the library is missing or wrong.
pub fn open(
    machines: &Machines,
    own: usize,
    peer: usize,
    opens: bool,
) -> Result<Box<dyn Transport>, Failure> {
    let [own, peer] = [own, peer].map(|it| &machines.all[it]);
    let Some(address) = (if opens { &peer.connect } else { &own.listen }) else {
        let why = "neither machine listens";
        return Err(Failure::Config(why.to_owned()));
    };
    let path = address.to_string();
    let failure = |error| Failure::File {
        path: path.clone(),
        error,
    };
    match address {
        Address::Loopback(address) => Ok(match opens {
            true => Box::new(TcpDialer::new(*address).map_err(failure)?),
            false => Box::new(TcpAcceptor::new(*address).map_err(failure)?),
        }),
        Address::Encrypted { .. } => {
            let files = CertificateFiles::read(own)?;
            let endpoint = Endpoint {
                opens,
                address: &path,
                machines: [&own.name, &peer.name],
                authority: &files.authority,
                certificate: &files.certificate,
                key: &files.key,
            };
            load()?.open(&endpoint).map_err(failure)
        }
    }
}

/// Loads the library. It is beside the program or its plugins, and nowhere else.
///
/// # Errors
/// When it is not there, when other users can change it, or when it can't be loaded.
pub fn load() -> Result<TransportLibrary, Failure> {
    let name = file_name();
    let mut folders = plugins::beside_program().into_iter();
    let Some(path) = folders.find_map(|it| Some(it.join(&name)).filter(|path| path.is_file()))
    else {
        return Err(Failure::Run(format!(
            "{name} is missing, which connects machines: install it beside the program's plugins"
        )));
    };
    let failure = |text: String| Failure::File {
        path: path.display().to_string(),
        error: io::Error::other(text),
    };
    write_access::check(&path).map_err(|error| failure(error.to_string()))?;
    // SAFETY: it is a library of this project by its name and its place, and nobody else can change it.
    unsafe { TransportLibrary::load(&path) }.map_err(|error| failure(error.to_string()))
}

/// Whether a file has the name of the library, which is among the plugins and is none.
pub fn is_library(path: &Path) -> bool {
    path.file_name() == Some(file_name().as_ref())
}

fn file_name() -> String {
    format!("{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}")
}
