//! The addresses that are permitted.
//!
//! A pipeline names its servers, but whoever owns a name decides where it leads: to a service of this machine, perhaps,
//! that trusts whoever reaches it.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::origin::is_explicit;

/// Looks up names, and refuses those that lead to this machine or a private network.
#[derive(Debug, Default)]
pub struct GuardedResolver {
    inner: DefaultResolver,
    allows_private: bool,
}

impl GuardedResolver {
    /// `allows_private`: refuses none.
    pub fn new(allows_private: bool) -> Self {
        Self {
            inner: DefaultResolver::default(),
            allows_private,
        }
    }
}

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let addresses = self.inner.resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default();
        if self.allows_private || is_explicit(host) {
            return Ok(addresses);
        }
        match addresses.iter().find(|it| !is_public(it.ip())) {
            None => Ok(addresses),
            Some(private) => Err(ureq::Error::Io(io::Error::other(format!(
                "{host} stands for {}, an address of this machine or of a private network: set allow_private = true \
                 if that is meant",
                private.ip()
            )))),
        }
    }
}

/// Whether an address is one of the internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            let is_protocols = [first, second, third] == [192, 0, 0];
            let is_shared = first == 100 && (64..128).contains(&second);
            let is_benchmark = first == 198 && (18..20).contains(&second);
            !(address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_documentation()
                || first == 0
                || first >= 240
                || is_protocols
                || is_shared
                || is_benchmark)
        }
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public(inner),
            None => {
                !(address.is_loopback()
                    || address.is_unspecified()
                    || address.is_multicast()
                    || address.is_unique_local()
                    || address.is_unicast_link_local()
                    || is_site_local(address)
                    || is_local_translation(address))
            }
        },
    }
}

/// Whether an address is of a site, as they were once (`fec0::/10`).
fn is_site_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfec0
}

/// Whether an address is translated by a network of its own (`64:ff9b:1::/48`): where it leads is that network's choice.
fn is_local_translation(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 1, ..])
}

/// The address of version 4 that one of version 6 is translated to (NAT64, 6to4).
fn embedded(address: Ipv6Addr) -> Option<IpAddr> {
    let octets = address.octets();
    let four = |from: usize| IpAddr::from([0, 1, 2, 3].map(|it| octets[from + it]));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(four(12)),
        [0x2002, ..] => Some(four(2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_all_their_forms() {
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "192.0.0.8",
            "192.0.0.170",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "64:ff9b:1::101:101",
            "64:ff9b:1:ffff::1",
            "fec0::1",
            "feff::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "64:ff9b:2::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
