//! The C boundary, as `flowpipe_link::library::abi` declares it. No panic crosses it.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use flowpipe_link::library::abi::{
    self, Bytes, DONE, DONE_OF_SEVERAL, Ends, FAILED, Functions, NOTHING, Named, Output, Status,
};
use flowpipe_link::library::{Endpoint, NamedMachine};
use flowpipe_link::transport::{Connection, Received, Transport, TransportError};

use crate::acceptor::Acceptor;
use crate::certificates;
use crate::dialer::Dialer;

static FUNCTIONS: Functions = Functions {
    version: abi::VERSION,
    create_certificates,
    open,
    connect,
    release_transport,
    send,
    flush,
    receive,
    close,
    release_connection,
};

/// The functions of this library.
#[unsafe(no_mangle)]
pub extern "C" fn flowpipe_transport() -> *const Functions {
    &raw const FUNCTIONS
}

type BoxedTransport = Box<dyn Transport>;
type SharedConnection = Arc<dyn Connection>;

/// Runs the body of a function, and writes its error.
///
/// # Safety
/// `error` is valid during the call.
unsafe fn run(
    error: *mut Output,
    body: impl FnOnce() -> Result<Status, Box<dyn std::error::Error>>,
) -> Status {
    let (status, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failed)) => (status_of(&*failed), failed.to_string()),
        // It has been printed.
        Err(_) => (FAILED, "the transport has panicked".to_owned()),
    };
    // SAFETY: the caller promises it.
    if let Some(error) = unsafe { error.as_mut() } {
        // SAFETY: as above. What does not fit is cut off.
        unsafe { error.write(text.as_bytes()) };
    }
    status
}

/// The status of a call that has failed.
fn status_of(failed: &(dyn std::error::Error + 'static)) -> Status {
    let reason = failed.downcast_ref().and_then(TransportError::reason);
    let mut reasons = abi::REASONS.iter();
    let found = reasons.find(|(_, it)| Some(*it) == reason);
    found.map_or(FAILED, |(status, _)| *status)
}

/// A text of the other side.
///
/// # Safety
/// It is valid for `'a`.
unsafe fn text<'a>(bytes: Bytes) -> Result<&'a str, Box<dyn std::error::Error>> {
    // SAFETY: the caller promises it.
    Ok(std::str::from_utf8(unsafe { bytes.get() })?)
}

unsafe extern "C" fn create_certificates(
    machines: *const Named,
    count: usize,
    outputs: *mut Output,
    error: *mut Output,
) -> Status {
    let body = || {
        let mut named = Vec::new();
        for index in 0..count {
            // SAFETY: the ABI demands that there are so many.
            let machine = unsafe { machines.add(index).read() };
            // SAFETY: the ABI demands that texts are valid during the call.
            let (name, hosts) = unsafe { (text(machine.name)?, text(machine.hosts)?) };
            named.push(NamedMachine {
                name: name.to_owned(),
                hosts: hosts.lines().map(str::to_owned).collect(),
            });
        }
        let created = certificates::create(&named)?;
        let texts = std::iter::once(&created.authority);
        let machines = created.machines.iter();
        let texts = texts.chain(machines.flat_map(|it| [&it.certificate, &it.key]));
        for (index, text) in texts.enumerate() {
            // SAFETY: the ABI demands that there is one for each text.
            let output = unsafe { &mut *outputs.add(index) };
            // SAFETY: the ABI demands that it is valid during the call.
            if !unsafe { output.write(text.as_bytes()) } {
                return Err("there is no room for a certificate".into());
            }
        }
        Ok(DONE)
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn open(
    ends: *const Ends,
    transports: *mut *mut c_void,
    error: *mut Output,
) -> Status {
    let body = || {
        // SAFETY: the ABI demands that it is valid during the call.
        let ends = unsafe { &*ends };
        let mut peers = Vec::new();
        for index in 0..ends.count {
            // SAFETY: the ABI demands that there are so many, and that texts are valid during the call.
            peers.push(unsafe { text(ends.peers.add(index).read())? });
        }
        // SAFETY: as above.
        let endpoint = unsafe {
            Endpoint {
                opens: ends.opens != 0,
                address: text(ends.address)?,
                own: text(ends.own)?,
                peers: &peers,
                authority: ends.authority.get(),
                certificate: ends.certificate.get(),
                key: ends.key.get(),
            }
        };
        let opened: Vec<BoxedTransport> = match endpoint.opens {
            true => vec![Box::new(Dialer::new(&endpoint)?)],
            false => {
                let acceptors = Acceptor::listen(&endpoint)?;
                let boxed = |it| Box::new(it) as BoxedTransport;
                acceptors.into_iter().map(boxed).collect()
            }
        };
        // A dialer is refused for another number of machines.
        for (index, opened) in opened.into_iter().enumerate() {
            let opened = Box::into_raw(Box::new(opened)).cast();
            // SAFETY: the ABI demands that there is room for as many as there are other machines.
            unsafe { transports.add(index).write(opened) };
        }
        Ok(DONE)
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn connect(
    transport: *mut c_void,
    wait_ms: u64,
    connection: *mut *mut c_void,
    error: *mut Output,
) -> Status {
    let body = || {
        // SAFETY: the ABI demands that `open` wrote it, that it is not released, and that one thread calls this.
        let transport = unsafe { &mut *transport.cast::<BoxedTransport>() };
        let Some(connected) = transport.connect(Duration::from_millis(wait_ms))? else {
            return Ok(NOTHING);
        };
        let connected = Box::into_raw(Box::new(connected)).cast();
        // SAFETY: the ABI demands that it is valid.
        unsafe { connection.write(connected) };
        Ok(DONE)
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn release_transport(transport: *mut c_void) {
    let body = || {
        // SAFETY: the ABI demands that `open` wrote it, and that nothing uses it from now on.
        drop(unsafe { Box::from_raw(transport.cast::<BoxedTransport>()) });
        Ok(DONE)
    };
    // SAFETY: there is no place for an error.
    unsafe { run(std::ptr::null_mut(), body) };
}

unsafe extern "C" fn send(connection: *mut c_void, packet: Bytes, error: *mut Output) -> Status {
    let body = || {
        // SAFETY: the ABI demands that the packet is valid during the call, and the connection not released.
        unsafe { shared(connection).send(packet.get())? };
        Ok(DONE)
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn flush(connection: *mut c_void, error: *mut Output) -> Status {
    let body = || {
        // SAFETY: the ABI demands that it is not released.
        unsafe { shared(connection).flush()? };
        Ok(DONE)
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn receive(
    connection: *mut c_void,
    packet: *mut Output,
    error: *mut Output,
) -> Status {
    let body = || {
        let mut content = Vec::new();
        // SAFETY: the ABI demands that it is not released.
        let status = match unsafe { shared(connection).receive(&mut content)? } {
            Received::Packet => DONE,
            Received::PacketOfSeveral => DONE_OF_SEVERAL,
            Received::Closed => return Ok(NOTHING),
        };
        // SAFETY: the ABI demands that it is valid during the call.
        match unsafe { (*packet).write(&content) } {
            true => Ok(status),
            false => Err("there is no room for a packet".into()),
        }
    };
    // SAFETY: the ABI demands it.
    unsafe { run(error, body) }
}

unsafe extern "C" fn close(connection: *mut c_void) {
    let body = || {
        // SAFETY: the ABI demands that it is not released.
        unsafe { shared(connection).close() };
        Ok(DONE)
    };
    // SAFETY: there is no place for an error.
    unsafe { run(std::ptr::null_mut(), body) };
}

unsafe extern "C" fn release_connection(connection: *mut c_void) {
    let body = || {
        // SAFETY: the ABI demands that `connect` wrote it, and that nothing uses it from now on.
        drop(unsafe { Box::from_raw(connection.cast::<SharedConnection>()) });
        Ok(DONE)
    };
    // SAFETY: there is no place for an error.
    unsafe { run(std::ptr::null_mut(), body) };
}

/// A connection.
///
/// # Safety
/// `connect` wrote it, and it is not released.
unsafe fn shared<'a>(connection: *mut c_void) -> &'a dyn Connection {
    // SAFETY: the caller promises it.
    unsafe { &**connection.cast::<SharedConnection>() }
}
