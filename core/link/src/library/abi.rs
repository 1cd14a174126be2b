//! The C declarations between the program and a library with a transport.
//!
//! No memory and no panic crosses the boundary: each side passes memory of its own for the time of a call.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::transport::FailureReason;

/// The version of these declarations. A library of another version is refused.
pub const VERSION: u32 = 6;
/// The name of the function that a library exports: an [`Entry`].
pub const ENTRY: &str = "flowpipe_transport";

/// What a call has done.
pub type Status = i32;
/// All that was asked.
pub const DONE: Status = 0;
/// Nothing: there was no connection in that time, or the connection is closed.
pub const NOTHING: Status = 1;
/// It failed, for a reason that has no number: the error is written.
pub const FAILED: Status = 2;
/// All that was asked; and the next packet has arrived, too.
pub const DONE_OF_SEVERAL: Status = 15;
/// It failed for this reason: the error is written.
pub const REASONS: [(Status, FailureReason); 12] = [
    (3, FailureReason::Unreachable),
    (4, FailureReason::UnknownAuthority),
    (5, FailureReason::Expired),
    (6, FailureReason::OtherHost),
    (7, FailureReason::OtherMachine),
    (8, FailureReason::OwnCertificate),
    (9, FailureReason::OwnKey),
    (10, FailureReason::OwnAuthority),
    (11, FailureReason::UnknownHost),
    (12, FailureReason::NoAnswer),
    (13, FailureReason::WrongCertificate),
    (14, FailureReason::RefusedCertificate),
];

/// Bytes that the callee reads during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first one; null if there are none.
    pub data: *const u8,
    /// How many.
    pub length: usize,
}

/// Memory that the callee writes during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// The first byte.
    pub data: *mut u8,
    /// How many fit.
    pub capacity: usize,
    /// How many are written: at most as many as fit.
    pub length: usize,
}

/// What transports connect.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// 1: it opens connections to the address. 0: it listens there, for all other machines.
    pub opens: u32,
    /// `tls/HOST:PORT`.
    pub address: Bytes,
    /// The name of this machine.
    pub own: Bytes,
    /// The names of the other ones. One that opens connections has one.
    pub peers: *const Bytes,
    /// How many there are.
    pub count: usize,
    /// The certificate of the authority that both trust (PEM).
    pub authority: Bytes,
    /// This machine's certificate (PEM).
    pub certificate: Bytes,
    /// Its private key (PEM).
    pub key: Bytes,
}

/// A machine that needs a certificate.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name.
    pub name: Bytes,
    /// The names and numeric addresses by which others reach it, separated by line ends.
    pub hosts: Bytes,
}

/// The functions of a library. Each may be called from any thread; texts are UTF-8.
#[repr(C)]
#[derive(Debug)]
pub struct Functions {
    /// [`VERSION`].
    pub version: u32,
    /// Creates an authority, and a certificate for each of `count` machines. `outputs` has room for `1 + 2 * count`
    /// texts: the certificate of the authority, then each machine's certificate and private key.
    pub create_certificates: unsafe extern "C" fn(
        machines: *const Named,
        count: usize,
        outputs: *mut Output,
        error: *mut Output,
    ) -> Status,
    /// Starts a transport for each of the other machines, and writes them in this order to `transports`. Each can be used
    /// until it is released.
    pub open: unsafe extern "C" fn(
        ends: *const Ends,
        transports: *mut *mut c_void,
        error: *mut Output,
    ) -> Status,
    /// Opens a connection, or waits for one, at most for about this time. One thread at a time calls this. A connection
    /// can be used until it is released, also longer than its transport.
    pub connect: unsafe extern "C" fn(
        transport: *mut c_void,
        wait_ms: u64,
        connection: *mut *mut c_void,
        error: *mut Output,
    ) -> Status,
    /// Closes a transport.
    pub release_transport: unsafe extern "C" fn(transport: *mut c_void),
    /// Sends a packet, or buffers it until `flush`.
    pub send:
        unsafe extern "C" fn(connection: *mut c_void, packet: Bytes, error: *mut Output) -> Status,
    /// Sends what is buffered.
    pub flush: unsafe extern "C" fn(connection: *mut c_void, error: *mut Output) -> Status,
    /// Waits for a packet, of at most [`MAX_PACKET`](crate::MAX_PACKET) bytes. [`DONE_OF_SEVERAL`]: the next call does not
    /// wait. [`NOTHING`]: the connection is closed.
    pub receive: unsafe extern "C" fn(
        connection: *mut c_void,
        packet: *mut Output,
        error: *mut Output,
    ) -> Status,
    /// Closes a connection: calls that wait return. It does not wait itself.
    pub close: unsafe extern "C" fn(connection: *mut c_void),
    /// Closes a connection that nothing uses any longer.
    pub release_connection: unsafe extern "C" fn(connection: *mut c_void),
}

/// The function that a library exports. What it returns stays valid.
pub type Entry = unsafe extern "C" fn() -> *const Functions;

impl Bytes {
    /// Bytes of this side.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            length: bytes.len(),
        }
    }

    /// The bytes of the other side.
    ///
    /// # Safety
    /// They are valid for `'a`.
    #[must_use]
    pub unsafe fn get<'a>(self) -> &'a [u8] {
        match self.data.is_null() {
            true => &[],
            // SAFETY: the caller promises it.
            false => unsafe { std::slice::from_raw_parts(self.data, self.length) },
        }
    }
}

impl Output {
    /// Memory of this side.
    #[must_use]
    pub fn of(bytes: &mut [u8]) -> Self {
        Self {
            data: bytes.as_mut_ptr(),
            capacity: bytes.len(),
            length: 0,
        }
    }

    /// Memory of this side that has no content yet.
    #[must_use]
    pub fn of_spare(bytes: &mut [MaybeUninit<u8>]) -> Self {
        Self {
            data: bytes.as_mut_ptr().cast(),
            capacity: bytes.len(),
            length: 0,
        }
    }

    /// Writes into memory of the other side. Returns whether all bytes fit; otherwise the first ones are written.
    ///
    /// # Safety
    /// The memory is valid and nobody else uses it.
    pub unsafe fn write(&mut self, bytes: &[u8]) -> bool {
        let length = bytes.len().min(self.capacity);
        if length > 0 {
            // SAFETY: the caller promises that `capacity` bytes are valid, and that they are no part of `bytes`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, length) };
        }
        self.length = length;
        length == bytes.len()
    }
}
