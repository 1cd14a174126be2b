//! Rules of a config that concern several keys, as parts of its JSON Schema: [`crate::address`] enforces the same.

use serde_json::{Value, json};

/// A TCP address: a host and a port.
pub const TCP_PATTERN: &str = r"^([^:\[\]\s/]+|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$";

/// An address of this machine alone.
const OWN_ADDRESS: &str = r"^(localhost|127\.[0-9.]+|\[[0:]*:(0*1|(?i:ffff):(127\.[0-9.]+|(?i:7f[0-9a-f]{2}:[0-9a-f]{1,4})))(%[0-9]+)?\]):";

/// What a config with an address has to conform to.
pub fn of_address() -> Vec<Value> {
    vec![
        json!({
            "if": is_true("listen"),
            "then": {
                "anyOf": [{ "required": ["unix"] }, { "required": ["tcp"] }],
                "description": "listen is for sockets: set it with unix or tcp only",
            },
        }),
        json!({
            "if": {
                "properties": { "tcp": { "pattern": TCP_PATTERN } },
                "required": ["tcp"],
                "not": is_true("allow_remote"),
            },
            "then": {
                "properties": { "tcp": { "pattern": OWN_ADDRESS } },
                "description": "write an address of this machine, such as 127.0.0.1:7000, or set allow_remote = true if \
                                that is meant: other machines can be reached by it then",
            },
        }),
    ]
}

/// What the config of a source has to conform to.
pub fn of_source() -> Vec<Value> {
    let mut rules = of_address();
    rules.push(json!({
        "if": is_true("keep_listening"),
        "then": { "required": ["listen"], "properties": { "listen": { "const": true } } },
    }));
    rules
}

fn is_true(key: &str) -> Value {
    json!({ "properties": { key: { "const": true } }, "required": [key] })
}
