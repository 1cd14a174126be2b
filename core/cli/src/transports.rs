//! How the machines of a run connect: over plain TCP on one machine, and else by a library that is loaded then.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::io;
use std::path::Path;

use flowpipe_config::pipeline::{Address, Machine, Machines};
use flowpipe_host::library::write_access;
use flowpipe_link::library::{Endpoint, TransportLibrary};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};
use flowpipe_link::transport::{FailureReason, Transport, TransportError};

use crate::certificates::{CertificateFiles, CertificatePaths};
use crate::connection_advice::advice;
use crate::exit::Failure;
use crate::plugins;

/// The library, without the prefix and the suffix of the system.
const LIBRARY: &str = "flowpipe_zenoh";

/// Starts the transport that opens connections to a machine that listens.
///
/// # Errors
/// When a certificate or the library is missing or wrong.
pub fn open(machines: &Machines, own: usize, peer: usize) -> Result<Box<dyn Transport>, Failure> {
    let [own, peer] = [own, peer].map(|it| &machines.all[it]);
    let started = match &peer.connect {
        Some(Address::Loopback(address)) => {
            let dialer = TcpDialer::new(*address, &own.name);
            dialer.map(|it| vec![boxed(it)])
        }
        Some(Address::Encrypted { .. }) => encrypted(own, peer.connect.as_ref(), true, &[peer])?,
        None => Err(nobody_listens()),
    };
    let mut transports = started.map_err(|error| failed(own, peer.connect.as_ref(), error))?;
    transports.pop().ok_or_else(|| nobody_listens().into())
}

/// Starts the transports that wait for connections of these machines, at one address. Listens only if there are some.
///
/// # Errors
/// When it can't listen, or when a certificate or the library is missing or wrong.
pub fn listen(
    machines: &Machines,
    own: usize,
    peers: &[usize],
) -> Result<Vec<Box<dyn Transport>>, Failure> {
    let own = &machines.all[own];
    if peers.is_empty() {
        return Ok(Vec::new());
    }
    let peers: Vec<_> = peers.iter().map(|it| &machines.all[*it]).collect();
    let started = match &own.listen {
        Some(Address::Loopback(address)) => {
            let names: Vec<_> = peers.iter().map(|it| it.name.as_str()).collect();
            let acceptors = TcpAcceptor::listen(*address, &names);
            acceptors.map(|all| all.into_iter().map(boxed).collect())
        }
        Some(Address::Encrypted { .. }) => encrypted(own, own.listen.as_ref(), false, &peers)?,
        None => Err(nobody_listens()),
    };
    started.map_err(|error| failed(own, own.listen.as_ref(), error))
}

type Started = io::Result<Vec<Box<dyn Transport>>>;

/// Starts transports of the library, one for each of the other machines.
fn encrypted(
    own: &Machine,
    address: Option<&Address>,
    opens: bool,
    peers: &[&Machine],
) -> Result<Started, Failure> {
    let files = CertificateFiles::read(own)?;
    let address = address.map(ToString::to_string).unwrap_or_default();
    let names: Vec<_> = peers.iter().map(|it| it.name.as_str()).collect();
    Ok(load()?.open(&Endpoint {
        opens,
        address: &address,
        own: &own.name,
        peers: &names,
        authority: &files.authority,
        certificate: &files.certificate,
        key: &files.key,
    }))
}

fn boxed(transport: impl Transport + 'static) -> Box<dyn Transport> {
    Box::new(transport)
}

/// Why transports could not be started, with the file or the address that it is about.
fn failed(own: &Machine, address: Option<&Address>, error: io::Error) -> Failure {
    let paths = CertificatePaths::of(own);
    let reason = TransportError::reason(&error);
    let file = match reason {
        Some(FailureReason::OwnCertificate) => paths.certificate,
        Some(FailureReason::OwnKey) => paths.key,
        Some(FailureReason::OwnAuthority) => paths.authority,
        // Nothing is connected yet.
        Some(
            FailureReason::Unreachable
            | FailureReason::UnknownHost
            | FailureReason::NoAnswer
            | FailureReason::UnknownAuthority
            | FailureReason::Expired
            | FailureReason::OtherHost
            | FailureReason::WrongCertificate
            | FailureReason::RefusedCertificate
            | FailureReason::OtherMachine,
        )
        | None => {
            let address = address.map(ToString::to_string).unwrap_or_default();
            let reason = match (is_in_use(&error), is_elsewhere(&error)) {
                (true, _) => {
                    "another program listens there, perhaps as the same machine: end it, or change `listen`".to_owned()
                }
                (false, true) => {
                    "it is not an address of this machine: change `listen` to one of its own, or to 0.0.0.0 for all"
                        .to_owned()
                }
                (false, false) => error.to_string(),
            };
            // Such as an address that the machine does not have yet: the next start may succeed.
            return Failure::Run(format!("{address}: {reason}"));
        }
    };
    // As a file that is missing.
    let advice = advice(reason, &own.name);
    Failure::Config(format!("{}: {error}: {advice}", file.display()))
}

/// Whether another program listens at the address. The errors of TLS have only texts.
fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse || error.to_string().contains("Address already in use")
}

/// Whether the address is none of this machine. The errors of TLS have only texts.
fn is_elsewhere(error: &io::Error) -> bool {
    let texts = [
        "Cannot assign requested address",
        "Can't assign requested address",
    ];
    error.kind() == io::ErrorKind::AddrNotAvailable
        || texts.iter().any(|it| error.to_string().contains(it))
}

/// The pipeline reader reports it.
fn nobody_listens() -> io::Error {
    io::Error::other("neither machine listens")
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

#[cfg(test)]
mod tests {
    use flowpipe_link::library::abi;

    use super::*;

    fn desk() -> Machine {
        Machine {
            name: "desk".to_owned(),
            listen: None,
            connect: None,
            certificates: "keys".to_owned(),
            reconnect_timeout: Machine::DEFAULT_RECONNECT_TIMEOUT,
        }
    }

    #[test]
    fn an_address_in_use_has_its_advice() {
        for error in [
            io::Error::from(io::ErrorKind::AddrInUse),
            io::Error::other("no listener on 127.0.0.1:1: Address already in use (os error 98)"),
        ] {
            let failure = failed(&desk(), None, error);
            assert_eq!(failure.exit_code(), 1);
            let text = failure.to_string();
            assert!(text.contains("another program listens there"), "{text}");
            assert!(!text.contains("127.0.0.1"), "{text}");
        }
    }

    #[test]
    fn an_address_of_another_machine_has_its_advice() {
        let text =
            "Unable to open listener tls/10.9.8.7:1: Cannot assign requested address (os error 99)";
        for error in [
            io::Error::from(io::ErrorKind::AddrNotAvailable),
            io::Error::other(text),
        ] {
            let failure = failed(&desk(), None, error);
            assert_eq!(failure.exit_code(), 1);
            let text = failure.to_string();
            assert!(
                text.contains("it is not an address of this machine: change `listen`"),
                "{text}"
            );
            assert!(!text.contains("10.9.8.7"), "{text}");
        }
    }

    #[test]
    fn a_wrong_file_of_this_machine_is_a_bad_config_that_names_it() {
        for (_, reason) in abi::REASONS {
            let failure = failed(&desk(), None, TransportError::of(reason, "it is wrong"));
            let file = match reason {
                FailureReason::OwnCertificate => "desk.pem",
                FailureReason::OwnKey => "desk.key",
                FailureReason::OwnAuthority => "ca.pem",
                _ => {
                    assert_eq!(failure.exit_code(), 1, "{reason:?}");
                    continue;
                }
            };
            assert_eq!(failure.exit_code(), 78, "{reason:?}");
            let expected = Path::new("keys").join(file).display().to_string();
            let expected = format!("{expected}: it is wrong: copy the files of machine desk");
            assert!(failure.to_string().starts_with(&expected), "{failure}");
        }
    }
}
