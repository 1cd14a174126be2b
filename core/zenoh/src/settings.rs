//! How zenoh is configured: it does nothing but what is written here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flowpipe_link::library::Endpoint;
use serde_json::{Value, json};
use zenoh::Config;

use crate::frame::MAX_MESSAGE;

/// A peer that is silent for so long is gone. A session of `flowpipe_link` notices it earlier.
const LEASE_MS: u64 = 10_000;
/// A peer that takes nothing for so long is disconnected.
const CONGESTION_MS: u64 = 5000;
/// The time to establish a connection.
const ESTABLISH_MS: u64 = 5000;
/// Sessions that a listener has at a time. One is used; a machine that lost its connection may have an old one.
const MAX_SESSIONS: usize = 16;
/// Connections at a time that are being accepted.
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
    for name in endpoint.machines {
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

/// The configuration of a session. [`check`] has accepted the endpoint.
///
/// # Errors
/// When zenoh refuses it.
pub fn config(endpoint: &Endpoint<'_>) -> zenoh::Result<Config> {
    Config::from_json5(&json(endpoint).to_string())
}

fn json(endpoint: &Endpoint<'_>) -> Value {
    let [own, peer] = endpoint.machines;
    let (sent, received) = (key(own, peer), key(peer, own));
    let address = format!(
        "{}#tls_handshake_timeout_ms={ESTABLISH_MS}",
        endpoint.address
    );
    // A client opens one connection and accepts none; a peer accepts them.
    let (mode, connect, listen) = match endpoint.opens {
        true => ("client", vec![endpoint.address.to_owned()], vec![]),
        false => ("peer", vec![], vec![address]),
    };
    let authority = STANDARD.encode(endpoint.authority);
    let certificate = STANDARD.encode(endpoint.certificate);
    let key = STANDARD.encode(endpoint.key);
    let rule = |id: &str, flow: &str, message: &str, key: &str| {
        json!({
            "id": id,
            "permission": "allow",
            "flows": [flow],
            "messages": [message],
            "key_exprs": [key],
        })
    };
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
        // All that the other machine may do, and all that it learns. Anybody else may do nothing.
        "access_control": {
            "enabled": true,
            "default_permission": "deny",
            "rules": [
                rule("receive", "ingress", "put", &received),
                rule("subscribe", "egress", "declare_subscriber", &received),
                rule("send", "egress", "put", &sent),
                rule("be-subscribed", "ingress", "declare_subscriber", &sent),
            ],
            "subjects": [
                { "id": "peer", "cert_common_names": [peer], "link_protocols": ["tls"] },
            ],
            "policies": [
                {
                    "rules": ["receive", "subscribe", "send", "be-subscribed"],
                    "subjects": ["peer"],
                },
            ],
        },
        "transport": {
            "unicast": {
                "open_timeout": ESTABLISH_MS,
                "accept_timeout": ESTABLISH_MS,
                "accept_pending": MAX_PENDING,
                "max_sessions": MAX_SESSIONS,
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
                    "listen_private_key_base64": key,
                    "connect_certificate_base64": certificate,
                    "connect_private_key_base64": key,
                },
            },
            "shared_memory": { "enabled": false },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint<'a>(address: &'a str, machines: [&'a str; 2]) -> Endpoint<'a> {
        Endpoint {
            opens: true,
            address,
            machines,
            authority: b"",
            certificate: b"",
            key: b"",
        }
    }

    #[test]
    fn what_has_a_meaning_to_zenoh_is_refused() {
        let names = ["desk", "rack-1_b"];
        for address in [
            "tls/rack1:7447",
            "tls/127.0.0.1:1",
            "tls/[::]:7447",
            "tls/a.b-c_d:1",
        ] {
            assert_eq!(check(&endpoint(address, names)), Ok(()), "{address}");
        }
        for address in [
            "tcp/rack1:7447",
            "rack1:7447",
            "tls/rack1:7447#verify_name_on_connect=false",
            "tls/rack1:7447?rel=0",
            "tls/rack1:7447;a=b",
            "tls/rack1/a",
        ] {
            assert!(check(&endpoint(address, names)).is_err(), "{address}");
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for name in ["", "*", "a/b", "a b", "$*", "ä", &long] {
            let machines = [name, "desk"];
            assert!(check(&endpoint("tls/a:1", machines)).is_err(), "{name}");
        }
    }

    #[test]
    fn zenoh_knows_every_setting() {
        for opens in [true, false] {
            let endpoint = Endpoint {
                opens,
                ..endpoint("tls/127.0.0.1:7447", ["desk", "rack"])
            };
            let config = config(&endpoint).unwrap();
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
