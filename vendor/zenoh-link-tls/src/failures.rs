//
// Part of flowpipe, under the Apache License 2.0: the original has no such file.
//

//! Why connections are not made, by the types of errors: zenoh passes on their texts alone.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use rustls::{AlertDescription, CertificateError, Error};

/// Why a connection is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no TCP connection to the address.
    Unreachable,
    /// The certificates of both ends are of different authorities.
    UnknownAuthority,
    /// A certificate has expired.
    Expired,
    /// The certificate of the other end names another host.
    OtherHost,
}

static FIRST: Mutex<Option<Failure>> = Mutex::new(None);

/// The first failure since the last call.
pub fn take() -> Option<Failure> {
    first(Option::take)
}

pub(crate) fn note(failure: Failure) {
    first(|first| *first = first.or(Some(failure)));
}

/// Notes why a TLS connection has failed, if that is one of the reasons here.
pub(crate) fn note_error(error: &io::Error) {
    let error = error.get_ref().and_then(|error| error.downcast_ref());
    if let Some(failure) = error.and_then(of) {
        note(failure);
    }
}

fn of(error: &Error) -> Option<Failure> {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer)
        | Error::AlertReceived(AlertDescription::UnknownCA) => Some(Failure::UnknownAuthority),
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )
        | Error::AlertReceived(AlertDescription::CertificateExpired) => Some(Failure::Expired),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some(Failure::OtherHost),
        _ => None,
    }
}

fn first<T>(change: impl FnOnce(&mut Option<Failure>) -> T) -> T {
    change(&mut FIRST.lock().unwrap_or_else(PoisonError::into_inner))
}
