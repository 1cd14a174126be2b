//! Whose certificates are trusted.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use flowpipe_plugin::{Error, Result};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Where systems have the certificates of authorities: Debian, Fedora, SUSE, Alpine and macOS.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// The largest file of them, in bytes. Debian's has some 200,000.
const LARGEST: u64 = 8 << 20;

/// Encryption that trusts the authorities of a file, or those of the system.
///
/// # Errors
/// When there is no such file, or it has no certificates.
pub fn tls(file: Option<&str>) -> Result<TlsConfig> {
    let file = match file {
        Some(file) => file,
        None => SYSTEM
            .into_iter()
            .find(|file| Path::new(file).is_file())
            .ok_or_else(|| {
                Error::bad_config(format!(
                    "there is no file of the certificates of authorities ({}): install the package ca-certificates, or \
                     name one by ca_file",
                    SYSTEM.join(", ")
                ))
            })?,
    };
    let certificates = read(Path::new(file)).map_err(|error| {
        Error::bad_config(error.to_string()).context(format!("can't use {file}"))
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

fn read(file: &Path) -> Result<Vec<Certificate<'static>>> {
    let file = flowpipe_output::open_regular(file)?;
    if file.metadata()?.len() > LARGEST {
        return Err(Error::new(format!("it has more than {LARGEST} bytes")));
    }
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text)?;
    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
        .collect::<Result<_, _>>()?;
    match certificates.is_empty() {
        true => Err(Error::new("it has no certificates as PEM")),
        false => Ok(certificates),
    }
}
