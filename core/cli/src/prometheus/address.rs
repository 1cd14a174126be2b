//! Where the program listens for scrapers.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use crate::exit::Failure;

/// A port at which connections wait until [`serve`](super::server::serve) accepts them.
#[derive(Debug)]
pub struct ScrapeListener {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    /// Whether only this computer reaches it.
    pub(super) is_local: bool,
}

impl ScrapeListener {
    /// Listens. `allows_remote`: other computers may connect.
    ///
    /// # Errors
    /// When other computers could connect and may not, and when the address can't be used, such as one that is in use.
    pub fn bind(address: SocketAddr, allows_remote: bool) -> Result<Self, Failure> {
        let is_local = is_loopback(address);
        if !is_local && !allows_remote {
            let port = address.port();
            return Err(Failure::Usage(format!(
                "--metrics {address}: other computers could read the metrics there, without a password: write 127.0.0.1:{port}, \
                 or permit it with --metrics-allow-remote"
            )));
        }
        let failed = |error: std::io::Error| {
            let what_to_do = match error.kind() {
                ErrorKind::AddrInUse => "; port 0 chooses a free one",
                _ => "",
            };
            Failure::Run(format!(
                "--metrics {address}: can't listen: {error}{what_to_do}"
            ))
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let chosen = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address: chosen,
            is_local,
        })
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_local() {
        for (text, expected) in [
            ("127.0.0.1:9464", true),
            ("127.8.9.1:0", true),
            ("[::1]:9464", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:9464", false),
            ("[::]:9464", false),
            ("192.168.1.2:9464", false),
            ("[::ffff:10.0.0.1]:1", false),
        ] {
            assert_eq!(is_loopback(text.parse().unwrap()), expected, "{text}");
        }
    }
}
