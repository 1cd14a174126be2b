//! What a pipeline can set.

use std::collections::BTreeMap;

use flowpipe_plugin::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server: scheme, host, and perhaps a port.
const SERVER_PATTERN: &str =
    r"^(?i:https?)://([^/?#@\s:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$";

/// A server to which values of the environment may be sent: it is encrypted, or on this machine.
const PRIVATE_SERVER_PATTERN: &str = r"^(?i:https://|http://(localhost|127\.[0-9.]+|\[[0:]*:(0*1|ffff:127\.[0-9.]+)\])(:[0-9]+)?/?$)";

/// Config of http-request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    {
        "if": { "not": { "properties": { "method": { "enum": ["POST", "PUT", "PATCH"] } }, "required": ["method"] } },
        "then": {
            "properties": { "body": false, "body_as_text": { "const": false } },
            "description": "only the methods POST, PUT and PATCH have a body: set method, or leave this out",
        },
    },
    {
        "if": { "properties": { "body_as_text": { "const": true } }, "required": ["body_as_text"] },
        "then": { "required": ["body"] },
    },
    {
        "if": {
            "properties": { "headers_from_env": { "minProperties": 1 } },
            "required": ["headers_from_env"],
            "not": {
                "properties": { "allow_unencrypted_env": { "const": true } },
                "required": ["allow_unencrypted_env"],
            },
        },
        "then": {
            "properties": { "servers": { "items": { "pattern": PRIVATE_SERVER_PATTERN } } },
            "description": "headers_from_env would be sent there without encryption: use https://, or set \
                            allow_unencrypted_env = true if that is meant",
        },
    },
]))]
pub struct Config {
    /// The servers that requests are sent to, such as `["https://api.example.org"]`: scheme, host, and port if it is not
    /// the scheme's. Messages can't name others.
    #[schemars(length(min = 1, max = 64), extend("items" = {
        "type": "string",
        "pattern": SERVER_PATTERN,
        "description": "A server such as \"https://api.example.org\": scheme, host, and port if it is not the scheme's.",
    }))]
    pub servers: Vec<String>,
    /// The URL, an expression of jq on the body of the message. A fixed one is a text in quotes:
    /// `'"https://api.example.org/sensors"'`. `'@uri "https://api.example.org/sensors/\(.sensor)"'` escapes what it
    /// inserts. Without an output, no request is sent for the message.
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub url: String,
    /// The method.
    #[serde(default)]
    pub method: Method,
    /// Header fields by name, each an expression of jq on the body of the message. The first output is a text, a number or
    /// a boolean. With `null`, and without an output, the field is left out.
    #[serde(default)]
    #[schemars(extend("additionalProperties" = { "type": "string", "format": "jq" }))]
    pub headers: BTreeMap<String, String>,
    /// Header fields by name, each with the name of an environment variable of flowpipe that has its value: a pipeline
    /// file, which is part of recordings, is no place for passwords.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_from_env: BTreeMap<String, String>,
    /// Permit that the values of `headers_from_env` are sent without encryption to another machine: with `http://`, everybody
    /// on the way reads them. Within this machine, that is always permitted.
    #[serde(default)]
    pub allow_unencrypted_env: bool,
    /// With the methods `POST`, `PUT` and `PATCH`: the content, an expression of jq on the body of the message. It is sent
    /// as JSON. Left out: the body of the message.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub body: Option<String>,
    /// Send the content as plain text: the output of `body` is a text then.
    #[serde(default)]
    pub body_as_text: bool,
    /// The schema id of the messages that are sent on.
    #[serde(default = "response_schema")]
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: String,
    /// Add the body of the message that the response answers, as `message`.
    #[serde(default)]
    pub include_message: bool,
    /// How long a request may take, with its redirects, until the whole response is there, in milliseconds.
    #[serde(default = "timeout_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: u64,
    /// The largest content of a response, in bytes. A larger one is a failure.
    #[serde(default = "max_response")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_response: usize,
    /// How many redirects of a server to itself are followed. Those to other servers never are.
    #[serde(default = "max_redirects")]
    #[schemars(range(max = 20))]
    pub max_redirects: u32,
    /// Permit that the name of a server stands for an address of this machine or of a private network. A server that is
    /// named by its address, or as `localhost`, is always permitted.
    #[serde(default)]
    pub allow_private: bool,
    /// A file of the certificates of the authorities that are trusted, as PEM. Left out: those of the system.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub ca_file: Option<String>,
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Gets something.
    #[default]
    Get,
    /// Gets its header fields alone.
    Head,
    /// Sends something.
    Post,
    /// Replaces something.
    Put,
    /// Changes something.
    Patch,
    /// Removes something.
    Delete,
}

impl Method {
    /// Whether a request has content.
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl From<Method> for ureq::http::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Head => Self::HEAD,
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Patch => Self::PATCH,
            Method::Delete => Self::DELETE,
        }
    }
}

fn response_schema() -> String {
    "http.response/1".to_owned()
}

fn timeout_ms() -> u64 {
    10_000
}

fn max_response() -> usize {
    1 << 20
}

fn max_redirects() -> u32 {
    5
}
