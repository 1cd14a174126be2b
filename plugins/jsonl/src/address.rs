//! Which end of a stream a config names, and whether it may be used.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use flowpipe_plugin::{Error, Result};

/// The keys of a config that name an end: exactly one of them is set.
pub struct Ends<'a> {
    /// A file.
    pub path: Option<&'a str>,
    /// The key of standard input or output, and its value.
    pub standard: (&'static str, Option<bool>),
    /// A Unix socket.
    pub unix: Option<&'a str>,
    /// A TCP address.
    pub tcp: Option<&'a str>,
    /// Whether to listen at the socket.
    pub listen: bool,
    /// Whether addresses of other machines are permitted.
    pub allow_remote: bool,
}

/// An end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file.
    File(PathBuf),
    /// Standard input or output: the key of the config.
    Standard(&'static str),
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP address, as written, and all that it stands for.
    Tcp(String, Vec<SocketAddr>),
}

impl Ends<'_> {
    /// The end that the config names.
    ///
    /// # Errors
    /// When it names none, several, or one that may not be used.
    pub fn address(&self) -> Result<Address> {
        let (standard, is_standard) = self.standard;
        let named = [
            self.path.map(|path| Address::File(path.into())),
            (is_standard == Some(true)).then_some(Address::Standard(standard)),
            self.unix.map(|path| Address::Unix(path.into())),
            self.tcp
                .map(|text| Address::Tcp(text.to_owned(), Vec::new())),
        ];
        let mut named = named.into_iter().flatten();
        let (Some(address), None) = (named.next(), named.next()) else {
            return Err(Error::bad_config(format!(
                "set exactly one of path, {standard}, unix and tcp"
            )));
        };
        let is_socket = matches!(address, Address::Unix(_) | Address::Tcp(..));
        if self.listen && !is_socket {
            return Err(Error::bad_config(
                "listen is for sockets: set it with unix or tcp only",
            ));
        }
        match address {
            Address::Tcp(text, _) => {
                let all = resolved(&text, self.allow_remote)?;
                Ok(Address::Tcp(text, all))
            }
            Address::Unix(path) if cfg!(not(unix)) => Err(Error::bad_config(format!(
                "unix = {path:?}: this system's sockets are TCP sockets: use tcp"
            ))),
            address => Ok(address),
        }
    }
}

/// The addresses that a text stands for. Names of other machines are looked up only if they are permitted.
fn resolved(text: &str, allow_remote: bool) -> Result<Vec<SocketAddr>> {
    let wrong = |why: String| Error::bad_config(format!("tcp = {text:?}: {why}"));
    let is_local_name = text
        .rsplit_once(':')
        .is_some_and(|(host, _)| host == "localhost");
    let is_number = text.parse::<SocketAddr>().is_ok();
    if !is_number && !is_local_name && !allow_remote {
        return Err(wrong(
            "write an address of this machine, such as 127.0.0.1:7000, or set allow_remote = true"
                .to_owned(),
        ));
    }
    let all: Vec<_> = match text.to_socket_addrs() {
        Ok(all) => all.collect(),
        Err(error) => return Err(wrong(format!("{error}: write HOST:PORT"))),
    };
    match all.iter().find(|it| !it.ip().to_canonical().is_loopback()) {
        Some(other) if !allow_remote => Err(wrong(format!(
            "{} is not an address of this machine alone: other machines can be reached by it. Set allow_remote = true if \
             that is meant",
            other.ip()
        ))),
        _ if all.is_empty() => Err(wrong("there is no such host".to_owned())),
        _ => Ok(all),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Standard(key) if *key == "stdin" => formatter.write_str("standard input"),
            Self::Standard(_) => formatter.write_str("standard output"),
            Self::Unix(path) => write!(formatter, "the socket {}", path.display()),
            Self::Tcp(text, _) => write!(formatter, "the address {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(tcp: &str, allow_remote: bool) -> Result<Address> {
        Ends {
            path: None,
            standard: ("stdin", None),
            unix: None,
            tcp: Some(tcp),
            listen: false,
            allow_remote,
        }
        .address()
    }

    #[test]
    fn only_the_machines_own_addresses_are_permitted_by_themselves() {
        for own in [
            "127.0.0.1:7000",
            "[::1]:7000",
            "localhost:7000",
            "127.8.9.1:1",
        ] {
            assert!(matches!(address(own, false), Ok(Address::Tcp(..))), "{own}");
        }
        for other in [
            "0.0.0.0:7000",
            "[::]:7000",
            "192.0.2.1:7000",
            "[::ffff:192.0.2.1]:7",
        ] {
            let text = address(other, false).err().unwrap().to_string();
            assert!(text.contains("allow_remote = true"), "{text}");
            assert!(address(other, true).is_ok(), "{other}");
        }
        // A name is not even looked up.
        let text = address("example.invalid:7000", false)
            .err()
            .unwrap()
            .to_string();
        assert!(text.contains("write an address of this machine"), "{text}");
        for wrong in ["", "7000", "127.0.0.1", "127.0.0.1:99999"] {
            address(wrong, false).unwrap_err();
        }
    }

    #[test]
    fn exactly_one_end_is_named() {
        let none = Ends {
            path: None,
            standard: ("stdout", Some(false)),
            unix: None,
            tcp: None,
            listen: false,
            allow_remote: false,
        };
        let text = none.address().unwrap_err().to_string();
        assert_eq!(text, "set exactly one of path, stdout, unix and tcp");
        let two = Ends {
            path: Some("a"),
            unix: Some("b"),
            ..none
        };
        two.address().unwrap_err();
        let file = Ends {
            unix: None,
            listen: true,
            ..two
        };
        let text = file.address().unwrap_err().to_string();
        assert!(text.starts_with("listen is for sockets"), "{text}");
    }
}
