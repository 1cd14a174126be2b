//! Certificates: an authority, and one for each machine.

use flowpipe_link::library::{Certificates, Endpoint, MachineCertificate, NamedMachine};
use flowpipe_link::transport::FailureReason;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

/// How long a certificate is valid.
const VALIDITY: Duration = Duration::days(2 * 365);
/// How long before its creation it is valid: clocks differ.
const BACKDATED: Duration = Duration::days(1);
/// The hosts by which every machine may be reached: those of the machine itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What is wrong with this machine's own certificate, its private key, or the certificate of its authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateError {
    /// It is no certificate in PEM.
    Malformed,
    /// It is another machine's.
    OfAnother(String),
    /// It is not valid any longer.
    Expired(String),
    /// It is not valid yet.
    NotYet(String),
    /// The private key is none in PEM that can be used.
    MalformedKey,
    /// The private key is not that of the certificate.
    OtherKey,
    /// The authority's is no certificate in PEM.
    MalformedAuthority,
}

impl CertificateError {
    /// Which of the files is wrong.
    #[must_use]
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Malformed | Self::OfAnother(_) | Self::Expired(_) | Self::NotYet(_) => {
                FailureReason::OwnCertificate
            }
            Self::MalformedKey | Self::OtherKey => FailureReason::OwnKey,
            Self::MalformedAuthority => FailureReason::OwnAuthority,
        }
    }
}

impl std::fmt::Display for CertificateError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed => write!(formatter, "the certificate is malformed"),
            Self::OfAnother(name) => write!(formatter, "the certificate is that of machine {name}"),
            Self::Expired(when) => write!(formatter, "the certificate has expired on {when}"),
            Self::NotYet(when) => write!(
                formatter,
                "the certificate is valid from {when}: check the clock of this machine"
            ),
            Self::MalformedKey => write!(formatter, "the private key is malformed"),
            Self::OtherKey => write!(formatter, "the private key is not that of the certificate"),
            Self::MalformedAuthority => {
                write!(formatter, "the certificate of the authority is malformed")
            }
        }
    }
}

/// Creates an authority, and a certificate for each machine: its name and its hosts.
///
/// # Errors
/// When a host can't be in a certificate.
pub fn create(machines: &[NamedMachine]) -> Result<Certificates, Error> {
    create_at(machines, OffsetDateTime::now_utc())
}

/// [`create`], at a time.
///
/// # Errors
/// As above.
pub fn create_at(machines: &[NamedMachine], now: OffsetDateTime) -> Result<Certificates, Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    (params.not_before, params.not_after) = (now - BACKDATED, now + VALIDITY);
    // No other authority has the same name, so that a certificate of another one is reported as such.
    let name = format!("flowpipe {:016x}", fastrand::u64(..));
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let mut created = Vec::new();
    for NamedMachine { name, hosts } in machines {
        let mut names: Vec<String> = Vec::new();
        for host in hosts.iter().map(String::as_str).chain(LOOPBACK) {
            if !names.iter().any(|known| known == host) {
                names.push(host.to_owned());
            }
        }
        let mut params = CertificateParams::new(names)?;
        (params.not_before, params.not_after) = (now - BACKDATED, now + VALIDITY);
        params.distinguished_name.remove(DnType::CommonName);
        params
            .distinguished_name
            .push(DnType::CommonName, name.as_str());
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        created.push(MachineCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        });
    }
    Ok(Certificates {
        authority: authority.pem(),
        machines: created,
    })
}

/// Checks that this machine has a certificate of its own that is valid now, the private key of it, and that of an
/// authority. Errors of zenoh about them may contain the private key.
///
/// # Errors
/// When one is wrong.
pub fn check(endpoint: &Endpoint<'_>) -> Result<(), CertificateError> {
    check_certificate(endpoint.certificate, endpoint.own)?;
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(endpoint.certificate).collect();
    let certificates = certificates.map_err(|_| CertificateError::Malformed)?;
    let key = PrivateKeyDer::from_pem_slice(endpoint.key);
    let key = key.map_err(|_| CertificateError::MalformedKey)?;
    let key = any_supported_type(&key).map_err(|_| CertificateError::MalformedKey)?;
    match CertifiedKey::new(certificates, key).keys_match() {
        // Not every kind of key can be compared.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => return Err(CertificateError::OtherKey),
        Err(_) => return Err(CertificateError::Malformed),
    }
    let mut authorities = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(endpoint.authority) {
        let authority = authority.map_err(|_| CertificateError::MalformedAuthority)?;
        let added = authorities.add(authority);
        added.map_err(|_| CertificateError::MalformedAuthority)?;
    }
    match authorities.is_empty() {
        true => Err(CertificateError::MalformedAuthority),
        false => Ok(()),
    }
}

fn check_certificate(certificate: &[u8], machine: &str) -> Result<(), CertificateError> {
    let (_, pem) = parse_x509_pem(certificate).map_err(|_| CertificateError::Malformed)?;
    let certificate = pem.parse_x509().map_err(|_| CertificateError::Malformed)?;
    let name = certificate.subject().iter_common_name().next();
    let name = name.and_then(|name| name.as_str().ok()).unwrap_or_default();
    if name != machine {
        return Err(CertificateError::OfAnother(name.to_owned()));
    }
    let validity = certificate.validity();
    let now = OffsetDateTime::now_utc();
    let (begin, end) = (
        validity.not_before.to_datetime(),
        validity.not_after.to_datetime(),
    );
    if now < begin {
        return Err(CertificateError::NotYet(begin.date().to_string()));
    }
    if now > end {
        return Err(CertificateError::Expired(end.date().to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(now: OffsetDateTime) -> String {
        let created = create_at(&[NamedMachine::new("rack1", &["rack1.example"])], now).unwrap();
        created.machines[0].certificate.clone()
    }

    #[test]
    fn a_certificate_is_that_of_its_machine_while_it_is_valid() {
        let now = OffsetDateTime::now_utc();
        let valid = certificate(now);
        assert_eq!(check_certificate(valid.as_bytes(), "rack1"), Ok(()));
        let other = CertificateError::OfAnother("rack1".into());
        assert_eq!(check_certificate(valid.as_bytes(), "desk"), Err(other));
        let expired = check_certificate(certificate(now - Duration::days(731)).as_bytes(), "rack1");
        let day = (now - Duration::days(1)).date().to_string();
        assert_eq!(expired, Err(CertificateError::Expired(day)));
        let early = check_certificate(certificate(now + Duration::days(3)).as_bytes(), "rack1");
        let day = (now + Duration::days(2)).date().to_string();
        assert_eq!(early, Err(CertificateError::NotYet(day)));
    }

    #[test]
    fn malformed_certificates_are_refused() {
        let valid = certificate(OffsetDateTime::now_utc());
        for text in ["", "no certificate", &valid[..valid.len() / 2]] {
            let found = check_certificate(text.as_bytes(), "rack1");
            assert_eq!(found, Err(CertificateError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_certificate_names_the_hosts_of_its_machine() {
        let text = certificate(OffsetDateTime::now_utc());
        let (_, pem) = parse_x509_pem(text.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        let names = certificate.subject_alternative_name().unwrap().unwrap();
        let names = format!("{:?}", names.value.general_names);
        for name in ["rack1.example", "localhost", "[127, 0, 0, 1]"] {
            assert!(names.contains(name), "{name}: {names}");
        }
        assert!(!certificate.is_ca());
    }

    #[test]
    fn the_key_is_that_of_the_certificate_and_the_authority_is_one() {
        let names = ["desk", "rack"].map(|name| NamedMachine::new(name, &[]));
        let created = create(&names).unwrap();
        let MachineCertificate { certificate, key } = &created.machines[0];
        let other_key = &created.machines[1].key;
        let checked = |certificate: &str, key: &str, authority: &str| {
            check(&Endpoint {
                opens: true,
                address: "tls/localhost:1",
                own: "desk",
                peers: &["rack"],
                authority: authority.as_bytes(),
                certificate: certificate.as_bytes(),
                key: key.as_bytes(),
            })
        };
        let authority = &*created.authority;
        let half = |text: &str| text[..text.len() / 2].to_owned();
        // Well-formed PEM of something else.
        let [no_key, no_authority] = ["PRIVATE KEY", "CERTIFICATE"]
            .map(|kind| format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n"));
        assert_eq!(checked(certificate, key, authority), Ok(()));
        for key in ["", "nothing", &half(key), &no_key, certificate] {
            let found = checked(certificate, key, authority);
            assert_eq!(found, Err(CertificateError::MalformedKey), "{key}");
        }
        let found = checked(certificate, other_key, authority);
        assert_eq!(found, Err(CertificateError::OtherKey));
        for authority in ["", "nothing", &half(authority), &no_authority, key] {
            let found = checked(certificate, key, authority);
            assert_eq!(
                found,
                Err(CertificateError::MalformedAuthority),
                "{authority}"
            );
        }
        let found = checked(&half(certificate), key, authority);
        assert_eq!(found, Err(CertificateError::Malformed));
    }
}
