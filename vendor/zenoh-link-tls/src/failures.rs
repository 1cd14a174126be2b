//
// Part of flowpipe, under the Apache License 2.0: the original has no such file.
//

//! Why the connections of an endpoint are not made, by the types of errors: zenoh passes on their texts alone, and only to
//! the log of the process.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex, PoisonError,
    },
};

use rustls::{AlertDescription, CertificateError, Error};
use zenoh_protocol::core::endpoint::Config;

/// Why a connection is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no TCP connection to the address.
    Unreachable,
    /// The name of the host has no address.
    UnknownHost,
    /// The certificates of both ends are of different authorities.
    UnknownAuthority,
    /// A certificate has expired, or is not valid yet.
    Expired,
    /// The certificate of the other end names another host.
    OtherHost,
    /// The certificate of the other end is wrong in another way.
    WrongCertificate,
    /// The other end refuses the certificate of this one.
    RefusedCertificate,
}

/// What is known of a connection that is not made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Why, if it is one of these reasons.
    pub failure: Option<Failure>,
    /// What happened.
    pub text: Option<String>,
}

/// Gathers the failures of the endpoints whose config has its number.
#[derive(Debug)]
pub struct Watch(u64);

/// The key of the number in the config of an endpoint.
pub const WATCH: &str = "watch";

/// By the numbers of the watches.
static NOTED: Mutex<BTreeMap<u64, Noted>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Watch {
    /// Gathers failures from now on, until it is dropped.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        all(|noted| noted.insert(number, Noted::default()));
        Self(number)
    }

    /// Its number. No other watch of the process has it.
    pub fn number(&self) -> u64 {
        self.0
    }

    /// The first failure since the last call.
    pub fn take(&self) -> Noted {
        change(self.0, std::mem::take).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        all(|noted| noted.remove(&self.0));
    }
}

/// Notes for a watch what has happened, if nothing is noted.
pub fn note_text(watch: u64, text: impl FnOnce() -> String) {
    change(watch, |noted| {
        noted.text.get_or_insert_with(text);
    });
}

/// The watch of an endpoint, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Watched(Option<u64>);

impl Watched {
    pub(crate) fn of(config: &Config<'_>) -> Self {
        Self(config.get(WATCH).and_then(|number| number.parse().ok()))
    }

    pub(crate) fn note(self, failure: Failure) {
        if let Some(watch) = self.0 {
            change(watch, |noted| {
                noted.failure.get_or_insert(failure);
            });
        }
    }

    /// Notes why a TLS connection has failed, if that is one of the reasons here.
    pub(crate) fn note_error(self, error: &io::Error) {
        let error = error.get_ref().and_then(|error| error.downcast_ref());
        if let Some(failure) = error.and_then(of) {
            self.note(failure);
        }
    }

    /// Notes the text of a failure that nothing else reports.
    pub(crate) fn note_text(self, text: &str) {
        if let Some(watch) = self.0 {
            note_text(watch, || text.to_owned());
        }
    }
}

fn of(error: &Error) -> Option<Failure> {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer)
        | Error::AlertReceived(AlertDescription::UnknownCA) => Some(Failure::UnknownAuthority),
        Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )
        | Error::AlertReceived(AlertDescription::CertificateExpired) => Some(Failure::Expired),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some(Failure::OtherHost),
        Error::InvalidCertificate(_) => Some(Failure::WrongCertificate),
        // The first one also means that the certificate names another host.
        Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError,
        ) => Some(Failure::RefusedCertificate),
        _ => None,
    }
}

/// Changes what is noted for a watch. `None`: there is no such watch.
fn change<T>(watch: u64, change: impl FnOnce(&mut Noted) -> T) -> Option<T> {
    all(|noted| noted.get_mut(&watch).map(change))
}

fn all<T>(change: impl FnOnce(&mut BTreeMap<u64, Noted>) -> T) -> T {
    change(&mut NOTED.lock().unwrap_or_else(PoisonError::into_inner))
}
