//! Certificates: an authority, and one for each machine.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

/// How long a certificate is valid.
const VALIDITY: Duration = Duration::days(2 * 365);
/// How long before its creation it is valid: clocks differ.
const BACKDATED: Duration = Duration::days(1);
/// The hosts by which every machine may be reached: those of the machine itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What is wrong with this machine's own certificate.
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
}

impl std::fmt::Display for CertificateError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed => write!(formatter, "the certificate is malformed"),
            Self::OfAnother(name) => write!(formatter, "the certificate is that of machine {name}"),
            Self::Expired(when) => write!(
                formatter,
                "the certificate has expired on {when}: create new ones (flowpipe machine init)"
            ),
            Self::NotYet(when) => write!(
                formatter,
                "the certificate is valid from {when}: check the clock of this machine"
            ),
        }
    }
}

/// The certificates of some machines, as PEM.
pub struct Created {
    /// That of the authority. Its private key is forgotten.
    pub authority: String,
    /// Of each machine the certificate and the private key.
    pub machines: Vec<[String; 2]>,
}

/// Creates an authority, and a certificate for each machine: its name and its hosts.
///
/// # Errors
/// When a host can't be in a certificate.
pub fn create(machines: &[(&str, Vec<&str>)]) -> Result<Created, Error> {
    create_at(machines, OffsetDateTime::now_utc())
}

/// [`create`], at a time.
///
/// # Errors
/// As above.
pub fn create_at(machines: &[(&str, Vec<&str>)], now: OffsetDateTime) -> Result<Created, Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    (params.not_before, params.not_after) = (now - BACKDATED, now + VALIDITY);
    // No other authority has the same name, so that a certificate of another one is reported as such.
    let name = format!("flowpipe {:016x}", fastrand::u64(..));
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let mut created = Vec::new();
    for (name, hosts) in machines {
        let mut names: Vec<String> = Vec::new();
        for host in hosts.iter().chain(&LOOPBACK) {
            if !names.iter().any(|known| known == host) {
                names.push((*host).to_owned());
            }
        }
        let mut params = CertificateParams::new(names)?;
        (params.not_before, params.not_after) = (now - BACKDATED, now + VALIDITY);
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, *name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        created.push([certificate.pem(), key.serialize_pem()]);
    }
    Ok(Created {
        authority: authority.pem(),
        machines: created,
    })
}

/// Checks that a certificate is that of a machine, and valid now.
///
/// # Errors
/// When it is not.
pub fn check(certificate: &[u8], machine: &str) -> Result<(), CertificateError> {
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
        let created = create_at(&[("rack1", vec!["rack1.example"])], now).unwrap();
        created.machines[0][0].clone()
    }

    #[test]
    fn a_certificate_is_that_of_its_machine_while_it_is_valid() {
        let now = OffsetDateTime::now_utc();
        let valid = certificate(now);
        assert_eq!(check(valid.as_bytes(), "rack1"), Ok(()));
        let other = CertificateError::OfAnother("rack1".into());
        assert_eq!(check(valid.as_bytes(), "desk"), Err(other));
        let expired = check(certificate(now - Duration::days(731)).as_bytes(), "rack1");
        let day = (now - Duration::days(1)).date().to_string();
        assert_eq!(expired, Err(CertificateError::Expired(day)));
        let early = check(certificate(now + Duration::days(3)).as_bytes(), "rack1");
        let day = (now + Duration::days(2)).date().to_string();
        assert_eq!(early, Err(CertificateError::NotYet(day)));
    }

    #[test]
    fn malformed_certificates_are_refused() {
        let valid = certificate(OffsetDateTime::now_utc());
        for text in ["", "no certificate", &valid[..valid.len() / 2]] {
            let found = check(text.as_bytes(), "rack1");
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
}
