//! What a pipeline can set.

use flowpipe_plugin::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::Ends;
use crate::rules::{self, TCP_PATTERN};

/// The longest line by default, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Config of source-jsonl.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["path"] }, { "required": ["stdin"] }, { "required": ["unix"] }, { "required": ["tcp"] }
], "allOf" = rules::of_source()))]
pub struct SourceConfig {
    /// The file to read. Relative to the pipeline file's folder. A named pipe is read until its writers are gone.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// `true`: read standard input. One stage of a pipeline on one machine can, and none with `isolation = "process"`.
    #[serde(default)]
    #[schemars(extend("const" = true, "format" = "standard-input"))]
    pub stdin: Option<bool>,
    /// The Unix socket to read from: the path of its file, relative to the pipeline file's folder. Not with
    /// `isolation = "process"`, and not on Windows.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "unix-socket"))]
    pub unix: Option<String>,
    /// The TCP address to read from, such as `127.0.0.1:7000`. Only this machine's own addresses (127.0.0.1, [::1],
    /// localhost), unless `allow_remote` is set.
    #[serde(default)]
    #[schemars(regex(pattern = TCP_PATTERN))]
    pub tcp: Option<String>,
    /// Of a socket: wait for another program that connects, instead of connecting to one.
    #[serde(default)]
    pub listen: bool,
    /// With `listen`: go on with the next connection when one has ended, until the run is stopped. An HTTP request or
    /// a TLS handshake is logged then, and its connection closed. Without, the end of the first connection ends the
    /// stream, and such a request or handshake is a failure. A connection that sends nothing does not count.
    #[serde(default)]
    pub keep_listening: bool,
    /// Permit addresses of other machines in `tcp`. Whoever can reach the address then takes part: nothing is encrypted,
    /// and nobody is asked who it is.
    #[serde(default)]
    pub allow_remote: bool,
    /// The schema id of the messages, such as `sensor.reading/1`: each line is the body of one. Left out: each line names
    /// it, `{"schema": "sensor.reading/1", "body": …}`, as sink-jsonl writes with `envelope`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+/[0-9]+$"))]
    pub schema: Option<String>,
    /// The longest line, in bytes. A longer one is not kept in memory, and an error names it.
    #[serde(default = "longest_line")]
    #[schemars(range(min = 2, max = 67_108_864))]
    pub max_line: usize,
}

/// Config of sink-jsonl.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["path"] }, { "required": ["stdout"] }, { "required": ["unix"] }, { "required": ["tcp"] }
], "allOf" = rules::of_address()))]
pub struct SinkConfig {
    /// The file to write, which no other stage reads. Relative to the pipeline file's folder, which must exist. It grows
    /// under its own name, so that others can follow it. In a named pipe messages wait for a reader.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// What to do if the file is there and not empty.
    #[serde(default)]
    pub if_exists: IfExists,
    /// `true`: write to standard output. `flowpipe run` prints its tables to standard error then. Not with
    /// `isolation = "process"`.
    #[serde(default)]
    #[schemars(extend("const" = true, "format" = "standard-output"))]
    pub stdout: Option<bool>,
    /// The Unix socket to write to: the path of its file, relative to the pipeline file's folder. Not with
    /// `isolation = "process"`, and not on Windows.
    #[serde(default)]
    #[schemars(length(min = 1), extend("format" = "unix-socket"))]
    pub unix: Option<String>,
    /// The TCP address to write to, such as `127.0.0.1:7000`. Only this machine's own addresses (127.0.0.1, [::1],
    /// localhost), unless `allow_remote` is set.
    #[serde(default)]
    #[schemars(regex(pattern = TCP_PATTERN))]
    pub tcp: Option<String>,
    /// Of a socket: wait for another program that connects, instead of connecting to one. Messages wait until it does.
    #[serde(default)]
    pub listen: bool,
    /// Permit addresses of other machines in `tcp`. Nothing is encrypted, and nobody is asked who it is.
    #[serde(default)]
    pub allow_remote: bool,
    /// Write each message with its schema and lineage:
    /// `{"schema": …, "sequence": …, "frame_sequence": …, "captured_ns": …, "body": …}`. Without, a line is the body alone.
    #[serde(default)]
    pub envelope: bool,
}

/// Config of tee.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeeConfig {
    /// The file to write, which no other stage reads. Relative to the pipeline file's folder, which must exist. It grows
    /// under its own name, so that others can follow it. In a named pipe messages wait for a reader.
    #[schemars(length(min = 1))]
    pub path: String,
    /// What to do if the file is there and not empty.
    #[serde(default = "append")]
    pub if_exists: IfExists,
    /// Write each message with its schema and lineage:
    /// `{"schema": …, "sequence": …, "frame_sequence": …, "captured_ns": …, "body": …}`. Without, a line is the body alone.
    #[serde(default)]
    pub envelope: bool,
}

/// What to do if a sink's file is there and not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IfExists {
    /// Don't start.
    #[default]
    Fail,
    /// Write behind what is there.
    Append,
    /// Remove what is there, before the first line or, without one, at the end of the stream.
    Overwrite,
}

fn longest_line() -> usize {
    LONGEST_LINE
}

fn append() -> IfExists {
    IfExists::Append
}

impl SourceConfig {
    /// The end that it names.
    pub fn ends(&self) -> Ends<'_> {
        Ends {
            path: self.path.as_deref(),
            standard: ("stdin", self.stdin),
            unix: self.unix.as_deref(),
            tcp: self.tcp.as_deref(),
            listen: self.listen,
            allow_remote: self.allow_remote,
        }
    }
}

impl SinkConfig {
    /// The end that it names.
    pub fn ends(&self) -> Ends<'_> {
        Ends {
            path: self.path.as_deref(),
            standard: ("stdout", self.stdout),
            unix: self.unix.as_deref(),
            tcp: self.tcp.as_deref(),
            listen: self.listen,
            allow_remote: self.allow_remote,
        }
    }
}
