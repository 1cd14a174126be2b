//! A line as a message.

use std::ffi::CString;

use flowpipe_plugin::{Error, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use thiserror::Error as ThisError;

/// Why a line is no message. The number of the line precedes it.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub enum LineError {
    /// Too long.
    #[error("it has more than {0} bytes (`max_line`)")]
    TooLong(usize),
    /// Not text.
    #[error("column {0}: this is not UTF-8")]
    NotText(usize),
    /// Not JSON.
    #[error("column {column}: {reason}")]
    NotJson {
        /// The place, in characters from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// JSON, but no envelope.
    #[error(
        "column {column}: {reason}: a line is {{\"schema\": \"maker.name/1\", \"body\": …}}, unless `schema` is set"
    )]
    NotAnEnvelope {
        /// The place, in characters from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// An envelope with an impossible schema.
    #[error("{0:?} is no schema id: it is such as \"sensor.reading/1\"")]
    Schema(String),
}

/// A message with its schema.
#[derive(Deserialize)]
struct SchemaAndBody<'a> {
    schema: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// The body of a line that is the body of a message.
///
/// # Errors
/// When it is not JSON.
pub fn body(line: &[u8]) -> Result<&[u8], LineError> {
    let text = text(line)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let (column, reason) = place(text, &error);
        LineError::NotJson { column, reason }
    })?;
    Ok(text.as_bytes())
}

/// The schema and the body of a line that names both.
///
/// # Errors
/// When it does not.
pub fn enveloped(line: &[u8]) -> Result<(CString, &[u8]), LineError> {
    let text = text(line)?;
    let envelope: SchemaAndBody<'_> = serde_json::from_str(text).map_err(|error| {
        let (column, reason) = place(text, &error);
        match error.is_data() {
            true => LineError::NotAnEnvelope { column, reason },
            false => LineError::NotJson { column, reason },
        }
    })?;
    let schema = schema(&envelope.schema).map_err(|_| LineError::Schema(envelope.schema))?;
    Ok((schema, envelope.body.get().as_bytes()))
}

/// A schema id for the host.
///
/// # Errors
/// When it is none.
pub fn schema(id: &str) -> Result<CString> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_id = id.split_once('/').is_some_and(|(name, version)| {
        !name.is_empty()
            && name.bytes().all(is_of_name)
            && !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_digit())
    });
    match is_id {
        true => Ok(CString::new(id)?),
        false => Err(Error::bad_config(format!(
            "schema = {id:?}: it is such as \"sensor.reading/1\""
        ))),
    }
}

fn text(line: &[u8]) -> Result<&str, LineError> {
    std::str::from_utf8(line).map_err(|error| {
        let before = String::from_utf8_lossy(&line[..error.valid_up_to()]);
        LineError::NotText(before.chars().count() + 1)
    })
}

/// Where an error is, in characters from 1, and what it is without its place.
fn place(text: &str, error: &serde_json::Error) -> (usize, String) {
    let reason = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let reason = reason.strip_suffix(&suffix).unwrap_or(&reason).to_owned();
    // The parser counts bytes, and the last one that it has read.
    let before = text.as_bytes().get(..error.column().saturating_sub(1));
    let column = before.map_or(error.column(), |it| {
        String::from_utf8_lossy(it).chars().count() + 1
    });
    (column, reason)
}

/// Whether a line is one of an HTTP request: its first one, or that of its host. A page in a browser can send such a request
/// to any TCP port of the machine. No JSON text is such a line.
pub fn is_of_http_request(line: &[u8]) -> bool {
    const VERSIONS: [&[u8]; 2] = [b" HTTP/1.1", b" HTTP/1.0"];
    const HOST: &[u8] = b"host:";
    let line = line.trim_ascii_end();
    let is_request = line.first().is_some_and(u8::is_ascii_uppercase)
        && VERSIONS.iter().any(|version| line.ends_with(version));
    let beginning = line.get(..HOST.len());
    is_request || beginning.is_some_and(|it| it.eq_ignore_ascii_case(HOST))
}

/// Whether the first bytes of a connection are those of a TLS handshake. A page in a browser can begin one at any TCP
/// port of the machine, and a line in what it sends may be a message. No JSON text begins so.
pub fn begins_tls(bytes: &[u8]) -> bool {
    const HANDSHAKE: u8 = 0x16;
    bytes.first() == Some(&HANDSHAKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_any_json() {
        assert_eq!(
            body(b"{\"a\": [1, null]}\r").unwrap(),
            b"{\"a\": [1, null]}\r"
        );
        assert_eq!(body(b" 5 ").unwrap(), b" 5 ");
        let why = |line: &[u8]| body(line).unwrap_err().to_string();
        assert_eq!(why(b"{\"a\" 1}"), "column 6: expected `:`");
        assert_eq!(
            why("\"\u{e4}\" 1".as_bytes()),
            "column 5: trailing characters"
        );
        assert_eq!(why(b"{\"a\": \"\xff\"}"), "column 8: this is not UTF-8");
        assert_eq!(why(b"{\"a\": "), "column 6: EOF while parsing a value");
        // The host accepts any depth, and so does this.
        body(&[&[b'['; 100_000][..], &[b']'; 100_000][..]].concat()).unwrap();
    }

    #[test]
    fn an_envelope_names_the_schema() {
        let (schema, body) =
            enveloped(b"{\"sequence\": 7, \"schema\": \"a.b/1\", \"body\": {\"c\": 1.50}}")
                .unwrap();
        assert_eq!((schema.as_c_str(), body), (c"a.b/1", &b"{\"c\": 1.50}"[..]));
        let why = |line: &str| enveloped(line.as_bytes()).unwrap_err().to_string();
        assert!(
            why("{\"body\": 1}")
                .starts_with("column 11: missing field `schema`: a line is {\"schema\"")
        );
        assert!(why("[1, 2]").contains("a line is {\"schema\""));
        assert_eq!(
            why("{\"schema\": \"a\", \"body\": 1}"),
            "\"a\" is no schema id: it is such as \"sensor.reading/1\""
        );
        assert_eq!(why("{\"schema\": "), "column 11: EOF while parsing a value");
    }

    #[test]
    fn a_schema_id_has_a_version() {
        for id in ["a/1", "sensor.reading-x_2/12"] {
            assert!(schema(id).is_ok(), "{id}");
        }
        for id in ["", "a", "a/", "/1", "a b/1", "a/1/2", "a/x", "a\0/1", "*"] {
            assert!(schema(id).is_err(), "{id}");
        }
    }
}
