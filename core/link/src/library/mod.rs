//! Transports that a dynamic library implements, which is loaded when one is needed.

pub mod abi;

use std::ffi::c_void;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use self::abi::{Bytes, Ends, Entry, Functions, Named, Output, Status};
use crate::packet::MAX_PACKET;
use crate::transport::{Connection, Received, Transport, TransportError};

/// The longest error, certificate or key.
const LONGEST_TEXT: usize = 32 << 10;

/// A library that is loaded. It stays loaded until the program ends: unloading is unsafe.
#[derive(Clone, Copy, Debug)]
pub struct TransportLibrary(&'static Functions);

/// Why a library can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The system refuses it.
    #[error("can't be loaded: {0}")]
    Load(#[from] libloading::Error),
    /// It is of another version.
    #[error(
        "it is of version {found}, and this program needs {}: install both together",
        abi::VERSION
    )]
    Version {
        /// The version of its boundary.
        found: u32,
    },
    /// It returned nothing.
    #[error("it has no functions")]
    Empty,
}

/// What transports connect, and by which certificates.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// Whether it opens connections to the address, or listens there.
    pub opens: bool,
    /// `tls/HOST:PORT`.
    pub address: &'a str,
    /// The name of this machine.
    pub own: &'a str,
    /// The names of the other ones: of one, if it opens connections.
    pub peers: &'a [&'a str],
    /// The certificate of the authority that both trust (PEM).
    pub authority: &'a [u8],
    /// This machine's certificate (PEM).
    pub certificate: &'a [u8],
    /// Its private key (PEM).
    pub key: &'a [u8],
}

/// The certificates of the machines of a pipeline, as PEM.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The certificate of their authority. Nobody has its private key.
    pub authority: String,
    /// Of each machine.
    pub machines: Vec<MachineCertificate>,
}

/// The certificate of a machine, as PEM.
#[derive(Clone, Debug)]
pub struct MachineCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A machine that needs a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMachine {
    /// Its name.
    pub name: String,
    /// The names and numeric addresses by which others reach it.
    pub hosts: Vec<String>,
}

impl NamedMachine {
    /// A machine with these hosts.
    #[must_use]
    pub fn new(name: &str, hosts: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        }
    }
}

struct LibraryTransport {
    functions: &'static Functions,
    transport: *mut c_void,
}

struct LibraryConnection {
    functions: &'static Functions,
    connection: *mut c_void,
}

// SAFETY: the ABI demands that each function may be called from any thread.
unsafe impl Send for LibraryTransport {}
// SAFETY: as above.
unsafe impl Send for LibraryConnection {}
// SAFETY: as above, and at the same time.
unsafe impl Sync for LibraryConnection {}

impl TransportLibrary {
    /// Loads a library.
    ///
    /// # Errors
    /// When it can't be loaded, or is no such library.
    ///
    /// # Safety
    /// Its code runs in this process. It is one of this project, or keeps what [`abi`] demands.
    pub unsafe fn load(path: &Path) -> Result<Self, LibraryError> {
        // SAFETY: the caller promises it.
        let library = unsafe { libloading::Library::new(path) }?;
        // SAFETY: the ABI demands this type.
        let entry = unsafe { library.get::<Entry>(abi::ENTRY) }?;
        // SAFETY: the ABI has no conditions for this call.
        let functions = unsafe { entry().as_ref::<'static>() }.ok_or(LibraryError::Empty)?;
        if functions.version != abi::VERSION {
            return Err(LibraryError::Version {
                found: functions.version,
            });
        }
        std::mem::forget(library);
        Ok(Self(functions))
    }

    /// Starts a transport for each of the other machines, in their order.
    ///
    /// # Errors
    /// When it can't listen, or a certificate is wrong.
    pub fn open(&self, endpoint: &Endpoint<'_>) -> io::Result<Vec<Box<dyn Transport>>> {
        let text = |text: &str| Bytes::of(text.as_bytes());
        let peers: Vec<_> = endpoint.peers.iter().map(|peer| text(peer)).collect();
        let ends = Ends {
            opens: endpoint.opens.into(),
            address: text(endpoint.address),
            own: text(endpoint.own),
            peers: peers.as_ptr(),
            count: peers.len(),
            authority: Bytes::of(endpoint.authority),
            certificate: Bytes::of(endpoint.certificate),
            key: Bytes::of(endpoint.key),
        };
        let mut transports = vec![std::ptr::null_mut(); peers.len()];
        call(|error| {
            // SAFETY: all that is passed is valid during the call, with room for as many transports as there are peers.
            unsafe { (self.0.open)(&raw const ends, transports.as_mut_ptr(), error) }
        })?;
        let wrap = |transport| {
            let transport: Box<dyn Transport> = Box::new(LibraryTransport {
                functions: self.0,
                transport,
            });
            transport
        };
        Ok(transports.into_iter().map(wrap).collect())
    }

    /// Creates an authority, and a certificate of it for each machine.
    ///
    /// # Errors
    /// When a name can't be in a certificate.
    pub fn create_certificates(&self, machines: &[NamedMachine]) -> io::Result<Certificates> {
        let hosts: Vec<String> = machines.iter().map(|it| it.hosts.join("\n")).collect();
        let named: Vec<Named> = machines
            .iter()
            .zip(&hosts)
            .map(|(machine, hosts)| Named {
                name: Bytes::of(machine.name.as_bytes()),
                hosts: Bytes::of(hosts.as_bytes()),
            })
            .collect();
        let mut texts = vec![vec![0; LONGEST_TEXT]; 1 + 2 * named.len()];
        let mut outputs: Vec<Output> = texts.iter_mut().map(|text| Output::of(text)).collect();
        call(|error| {
            // SAFETY: all that is passed is valid during the call, with as many outputs as the ABI demands.
            unsafe {
                (self.0.create_certificates)(
                    named.as_ptr(),
                    named.len(),
                    outputs.as_mut_ptr(),
                    error,
                )
            }
        })?;
        let lengths: Vec<usize> = outputs.iter().map(|output| output.length).collect();
        let mut texts = texts.iter().zip(lengths).map(|(text, length)| {
            let text = text.get(..length).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        });
        let authority = texts.next().unwrap_or_default();
        let mut of_machines = Vec::new();
        while let (Some(certificate), Some(key)) = (texts.next(), texts.next()) {
            of_machines.push(MachineCertificate { certificate, key });
        }
        Ok(Certificates {
            authority,
            machines: of_machines,
        })
    }
}

impl Transport for LibraryTransport {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let mut connection = std::ptr::null_mut();
        let status = call(|error| {
            // SAFETY: the transport is not released, and this is the only thread that has it.
            unsafe { (self.functions.connect)(self.transport, wait_ms, &raw mut connection, error) }
        })?;
        let has_one = status != abi::NOTHING;
        Ok(has_one.then(|| {
            let functions = self.functions;
            let connection: Arc<dyn Connection> = Arc::new(LibraryConnection {
                functions,
                connection,
            });
            connection
        }))
    }
}

impl Drop for LibraryTransport {
    fn drop(&mut self) {
        // SAFETY: it is not released yet, and nobody else has it.
        unsafe { (self.functions.release_transport)(self.transport) };
    }
}

impl Connection for LibraryConnection {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        call(|error| {
            // SAFETY: the connection is not released, and the packet is valid during the call.
            unsafe { (self.functions.send)(self.connection, Bytes::of(packet), error) }
        })
        .map(drop)
    }

    fn flush(&self) -> io::Result<()> {
        call(|error| {
            // SAFETY: the connection is not released.
            unsafe { (self.functions.flush)(self.connection, error) }
        })
        .map(drop)
    }

    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Received> {
        packet.clear();
        packet.reserve(MAX_PACKET);
        let spare = packet.spare_capacity_mut();
        let most = spare.len().min(MAX_PACKET);
        let mut output = Output::of_spare(&mut spare[..most]);
        let status = call(|error| {
            // SAFETY: the connection is not released, and the output is valid during the call.
            unsafe { (self.functions.receive)(self.connection, &raw mut output, error) }
        })?;
        if output.length > most {
            let why = "the transport reports a longer packet than there is room for";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        // SAFETY: so many bytes have room, and the ABI demands that they are written.
        unsafe { packet.set_len(output.length) };
        Ok(match status {
            abi::NOTHING => Received::Closed,
            abi::DONE_OF_SEVERAL => Received::PacketOfSeveral,
            _ => Received::Packet,
        })
    }

    fn close(&self) {
        // SAFETY: the connection is not released.
        unsafe { (self.functions.close)(self.connection) };
    }
}

impl Drop for LibraryConnection {
    fn drop(&mut self) {
        // SAFETY: it is not released yet, and nobody else has it.
        unsafe { (self.functions.release_connection)(self.connection) };
    }
}

/// Calls a function that may write an error. Returns its status, unless it has failed.
fn call(function: impl FnOnce(*mut Output) -> Status) -> io::Result<Status> {
    // The error of a call is seldom written, and packets are many.
    let mut text = [0; 1024];
    let mut error = Output::of(&mut text);
    match function(&raw mut error) {
        status @ (abi::DONE | abi::NOTHING | abi::DONE_OF_SEVERAL) => Ok(status),
        failed => {
            let length = error.length;
            let text = text.get(..length).unwrap_or_default();
            let text = String::from_utf8_lossy(text).into_owned();
            let mut reasons = abi::REASONS.iter();
            Err(match reasons.find(|(status, _)| *status == failed) {
                Some((_, reason)) => TransportError::of(*reason, text),
                None => io::Error::other(text),
            })
        }
    }
}
