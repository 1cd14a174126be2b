//! How zenoh is configured: it does nothing but what is written here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flowpipe_link::library::Endpoint;
use serde_json::{Value, json};
use zenoh::Config;

use crate::frame::MAX_MESSAGE;
use crate::log::FailureLog;

/// A peer that is silent for so long is gone. A session of `flowpipe_link` notices it earlier.
const LEASE_MS: u64 = 10_000;
/// A peer that takes nothing for so long is disconnected.
const CONGESTION_MS: u64 = 5000;
/// The time to establish a connection.
const ESTABLISH_MS: u64 = 5000;
/// Sessions that a listener has at a time, for each other machine. One is used; a machine that lost its connection may
/// have an old one.
const MAX_SESSIONS: usize = 16;
/// Connections at a time that are being accepted, for each other machine.
const MAX_PENDING: usize = 16;
/// The longest name of a machine.
const LONGEST_NAME: usize = 128;

/// The key on which a machine publishes for another one.
#[must_use]
pub fn key(from: &str, to: &str) -> String {
    format!("flowpipe/{from}/{to}")
}

/// Checks what becomes part of keys and of zenoh's addresses, which have a syntax of their own.
///
/// # Errors
/// When a name or an address has other characters.
pub fn check(endpoint: &Endpoint<'_>) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if endpoint.peers.is_empty() || endpoint.opens && endpoint.peers.len() > 1 {
        let count = endpoint.peers.len();
        return Err(format!("there can't be connections to {count} machines"));
    }
    for name in std::iter::once(&endpoint.own).chain(endpoint.peers) {
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(format!("{name:?} can't be the name of a machine"));
        }
    }
    let is_of_address = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    match endpoint.address.strip_prefix("tls/") {
        Some(address) if address.chars().all(is_of_address) => Ok(()),
        _ => Err(format!(
            "{:?} is no address tls/HOST:PORT",
            endpoint.address
        )),
    }
}

/// The configuration of a session. [`check`] has accepted the endpoint. `failures`: what gathers its failures.
///
/// # Errors
/// When zenoh refuses it.
pub fn config(endpoint: &Endpoint<'_>, failures: &FailureLog) -> zenoh::Result<Config> {
    Config::from_json5(&json(endpoint, failures).to_string())
}

fn json(endpoint: &Endpoint<'_>, failures: &FailureLog) -> Value {
    let own = endpoint.own;
    let address = format!("{}#{}", endpoint.address, failures.setting());
    // A client opens one connection and accepts none; a peer accepts them.
    let (mode, connect, listen) = match endpoint.opens {
        true => ("client", vec![address], vec![]),
        false => {
            let listen = format!("{address};tls_handshake_timeout_ms={ESTABLISH_MS}");
            ("peer", vec![], vec![listen])
        }
    };
    let authority = STANDARD.encode(endpoint.authority);
    let certificate = STANDARD.encode(endpoint.certificate);
    let private = STANDARD.encode(endpoint.key);
    let (mut rules, mut subjects, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for &peer in endpoint.peers {
        let (sent, received) = (key(own, peer), key(peer, own));
        let allowed = [
            ("receive", "ingress", "put", &received),
            ("subscribe", "egress", "declare_subscriber", &received),
            ("send", "egress", "put", &sent),
            ("be-subscribed", "ingress", "declare_subscriber", &sent),
        ];
        // No name has a slash.
        let id = |what: &str| format!("{peer}/{what}");
        rules.extend(allowed.map(|(what, flow, message, key)| {
            json!({
                "id": id(what),
                "permission": "allow",
                "flows": [flow],
                "messages": [message],
                "key_exprs": [key],
            })
        }));
        subjects.push(json!({
            "id": peer,
            "cert_common_names": [peer],
            "link_protocols": ["tls"],
        }));
        policies.push(json!({
            "rules": allowed.map(|(what, ..)| id(what)),
            "subjects": [peer],
        }));
    }
    json!({
        "mode": mode,
        "connect": { "endpoints": connect, "timeout_ms": 0, "exit_on_failure": true },
        "listen": { "endpoints": listen, "timeout_ms": 0, "exit_on_failure": true },
        "scouting": {
            "multicast": { "enabled": false },
            "gossip": { "enabled": false },
        },
        "adminspace": { "enabled": false },
        "timestamping": { "enabled": false },
        // All that another machine may do, and all that it learns. Anybody else may do nothing.
        "access_control": {
            "enabled": true,
            "default_permission": "deny",
            "rules": rules,
            "subjects": subjects,
            "policies": policies,
        },
        "transport": {
            "unicast": {
                "open_timeout": ESTABLISH_MS,
                "accept_timeout": ESTABLISH_MS,
                "accept_pending": MAX_PENDING * endpoint.peers.len(),
                "max_sessions": MAX_SESSIONS * endpoint.peers.len(),
                "max_links": 1,
            },
            "link": {
                "protocols": ["tls"],
                "tx": {
                    "lease": LEASE_MS,
                    "queue": {
                        "congestion_control": {
                            "block": { "wait_before_close": CONGESTION_MS * 1000 },
                        },
                    },
                },
                // The content of a message is limited to half of it.
                "rx": { "max_message_size": 2 * MAX_MESSAGE },
                "tls": {
                    "enable_mtls": true,
                    "verify_name_on_connect": true,
                    "close_link_on_expiration": true,
                    "root_ca_certificate_base64": authority,
                    "listen_certificate_base64": certificate,
                    "listen_private_key_base64": private,
                    "connect_certificate_base64": certificate,
                    "connect_private_key_base64": private,
                },
            },
            "shared_memory": { "enabled": false },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint<'a>(address: &'a str, own: &'a str, peers: &'a [&'a str]) -> Endpoint<'a> {
        Endpoint {
            opens: true,
            address,
            own,
            peers,
            authority: b"",
            certificate: b"",
            key: b"",
        }
    }

    #[test]
    fn what_has_a_meaning_to_zenoh_is_refused() {
        let endpoint = |address| endpoint(address, "desk", &["rack-1_b"]);
        for address in [
            "tls/rack1:7447",
            "tls/127.0.0.1:1",
            "tls/[::]:7447",
            "tls/a.b-c_d:1",
        ] {
            assert_eq!(check(&endpoint(address)), Ok(()), "{address}");
        }
        for address in [
            "tcp/rack1:7447",
            "rack1:7447",
            "tls/rack1:7447#verify_name_on_connect=false",
            "tls/rack1:7447?rel=0",
            "tls/rack1:7447;a=b",
            "tls/rack1/a",
        ] {
            assert!(check(&endpoint(address)).is_err(), "{address}");
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for name in ["", "*", "a/b", "a b", "$*", "ä", &long] {
            for (own, peers) in [(name, ["desk"]), ("desk", [name])] {
                let endpoint = super::tests::endpoint("tls/a:1", own, &peers);
                assert!(check(&endpoint).is_err(), "{name}");
            }
        }
        let two = ["rack1", "rack2"];
        let opening = super::tests::endpoint("tls/a:1", "desk", &two);
        assert!(check(&opening).is_err());
        let listening = Endpoint {
            opens: false,
            ..opening
        };
        assert_eq!(check(&listening), Ok(()));
    }

    #[test]
    fn zenoh_knows_every_setting() {
        for (opens, peers) in [(true, &["rack1"][..]), (false, &["rack1", "rack2"])] {
            let endpoint = Endpoint {
                opens,
                ..endpoint("tls/127.0.0.1:7447", "desk", peers)
            };
            let config = config(&endpoint, &FailureLog::start()).unwrap();
            let get = |key: &str| config.get_json(key).unwrap();
            assert_eq!(get("scouting/multicast/enabled"), "false");
            assert_eq!(get("scouting/gossip/enabled"), "false");
            assert_eq!(get("access_control/enabled"), "true");
            assert_eq!(get("transport/link/tls/enable_mtls"), "true");
            assert_eq!(get("transport/shared_memory/enabled"), "false");
            assert_eq!(get("listen/endpoints") == "[]", opens);
        }
    }
}
