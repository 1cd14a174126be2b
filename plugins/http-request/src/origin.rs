//! The servers that a config names, and whether a URL is of one of them.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;
use ureq::http::Uri;

/// The longest URL, in bytes.
const LONGEST_URL: usize = 8_192;

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    is_encrypted: bool,
    /// Lower case; that of IPv6 in brackets.
    host: String,
    port: u16,
}

/// Why a text is no URL.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UrlError {
    /// It can't be read.
    #[error("it is no URL: {0}")]
    Malformed(String),
    /// Too long.
    #[error("it has more than {LONGEST_URL} bytes")]
    TooLong,
    /// Another protocol.
    #[error("it has to start with http:// or https://")]
    Scheme,
    /// It has a user or a password.
    #[error("it names a user: send it in a header field, by headers_from_env")]
    User,
    /// It has more than a server.
    #[error("it has more than scheme, host and port")]
    MoreThanServer,
}

impl Origin {
    /// The server of a config.
    ///
    /// # Errors
    /// When it is none, or has more than that.
    pub fn read(text: &str) -> Result<Self, UrlError> {
        let (uri, origin) = url(text)?;
        let is_bare = uri.path() == "/" && uri.query().is_none() && !text.contains('#');
        match is_bare {
            true => Ok(origin),
            false => Err(UrlError::MoreThanServer),
        }
    }

    /// Whether it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether others can read what is sent to it: it is another machine, and not encrypted. A name may lead anywhere, but
    /// for `localhost`.
    pub fn is_exposed(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = address.parse::<IpAddr>();
        let is_here = self.host == "localhost"
            || address.is_ok_and(|address| address.to_canonical().is_loopback());
        !self.is_encrypted && !is_here
    }
}

/// Reads a URL, and finds its server.
///
/// # Errors
/// When it is none of HTTP.
pub fn url(text: &str) -> Result<(Uri, Origin), UrlError> {
    if text.len() > LONGEST_URL {
        return Err(UrlError::TooLong);
    }
    let uri: Uri = text
        .parse()
        .map_err(|error: ureq::http::uri::InvalidUri| UrlError::Malformed(error.to_string()))?;
    let is_encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(UrlError::Scheme),
    };
    let authority = uri.authority().ok_or(UrlError::Scheme)?;
    if authority.as_str().contains('@') {
        return Err(UrlError::User);
    }
    let host = authority.host().to_ascii_lowercase();
    let port = match authority.as_str().strip_prefix(authority.host()) {
        Some("") => None,
        // What is behind the host is a port or wrong.
        _ => Some(
            authority
                .port_u16()
                .ok_or_else(|| UrlError::Malformed("its port is no number".to_owned()))?,
        ),
    };
    if host.is_empty() {
        return Err(UrlError::Malformed("it has no host".to_owned()));
    }
    let origin = Origin {
        is_encrypted,
        host,
        port: port.unwrap_or(if is_encrypted { 443 } else { 80 }),
    };
    Ok((uri, origin))
}

/// Whether a host is written as an address, or is this machine by its usual name: whoever wrote it knows where it is.
pub fn is_explicit(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(formatter, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn origin(text: &str) -> String {
        Origin::read(text).map_or_else(|error| error.to_string(), |it| it.to_string())
    }

    #[test]
    fn servers_are_compared_by_scheme_host_and_port() {
        assert_eq!(
            origin("https://API.example.org"),
            "https://api.example.org:443"
        );
        assert_eq!(
            origin("http://api.example.org/"),
            "http://api.example.org:80"
        );
        assert_eq!(origin("http://[::1]:8080"), "http://[::1]:8080");
        assert_eq!(
            url("https://api.example.org:443/a?b#c").unwrap().1,
            Origin::read("https://api.example.org").unwrap()
        );
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for (text, error) in [
            ("api.example.org", UrlError::Scheme),
            ("/a", UrlError::Scheme),
            ("ftp://example.org", UrlError::Scheme),
            ("http://a:b@example.org", UrlError::User),
            ("http://example.org@127.0.0.1", UrlError::User),
            ("http://example.org/a", UrlError::MoreThanServer),
            ("http://example.org?a", UrlError::MoreThanServer),
        ] {
            assert_eq!(Origin::read(text), Err(error), "{text}");
        }
        for malformed in [
            "",
            "http://",
            "file:///etc/passwd",
            "http://a b",
            "http://a:99999",
            "http://a:x",
            "http://ä",
        ] {
            Origin::read(malformed).unwrap_err();
        }
        assert_eq!(
            url(&format!("http://a/{}", "x".repeat(9_000))),
            Err(UrlError::TooLong)
        );
    }

    #[test]
    fn what_leaves_the_machine_unencrypted_is_exposed() {
        for (server, is_exposed) in [
            ("http://example.org", true),
            ("http://10.0.0.1", true),
            ("http://0.0.0.0", true),
            ("http://localhost.example.org", true),
            ("http://[2001:db8::1]:80", true),
            ("https://example.org", false),
            ("http://LOCALHOST:8000", false),
            ("http://127.0.0.1:8000", false),
            ("http://[::1]", false),
            ("http://[::ffff:127.0.0.1]", false),
        ] {
            let origin = Origin::read(server).unwrap();
            assert_eq!(origin.is_exposed(), is_exposed, "{server}");
        }
    }

    #[test]
    fn an_address_is_explicit_and_a_name_is_not() {
        for explicit in ["127.0.0.1", "[::1]", "localhost", "10.0.0.1"] {
            assert!(is_explicit(explicit), "{explicit}");
        }
        for name in [
            "example.org",
            "127.1",
            "2130706433",
            "localhost.example.org",
        ] {
            assert!(!is_explicit(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_refused(text in any::<String>(), scheme in "https?://|") {
            let _ = url(&format!("{scheme}{text}"));
        }
    }
}
