//! A response as a message.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flowpipe_plugin::Result;
use serde::Serialize;
use serde_json::value::RawValue;
use ureq::http::HeaderMap;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_TYPE};

use crate::client::Response;

/// How many levels JSON may have. The host reads 128, of which the message around it is one.
const DEEPEST: usize = 120;

/// The body of a message.
#[derive(Serialize)]
struct ResponseBody<'a> {
    status: u16,
    url: String,
    headers: BTreeMap<&'a str, String>,
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
}

/// The content of a response.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Content<'a> {
    /// It is declared as JSON, and is.
    Json(&'a RawValue),
    /// Any other text in UTF-8.
    Text(&'a str),
    /// What is no text.
    Base64(String),
}

/// The JSON of a message for a response. `message`: the body of the message that it answers, if that is wanted.
///
/// # Errors
/// When the body of that message is no JSON, which the host excludes.
pub fn body(response: &Response, message: Option<&[u8]>) -> Result<Vec<u8>> {
    let body = ResponseBody {
        status: response.status.as_u16(),
        url: response.uri.to_string(),
        headers: headers(&response.headers),
        content: content(response),
        message: message.map(serde_json::from_slice).transpose()?,
    };
    Ok(serde_json::to_vec(&body)?)
}

/// Header fields by their names, in lower case. Several of one name are one, with commas between.
fn headers(all: &HeaderMap) -> BTreeMap<&str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in all {
        let value = String::from_utf8_lossy(value.as_bytes());
        found
            .entry(name.as_str())
            .and_modify(|before| {
                before.push_str(", ");
                before.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    found
}

fn content(response: &Response) -> Content<'_> {
    let field = |name| {
        let value = response.headers.get(name);
        value.and_then(|it| it.to_str().ok()).unwrap_or_default()
    };
    let is_encoded = !matches!(field(CONTENT_ENCODING).trim(), "" | "identity");
    let text = std::str::from_utf8(&response.body);
    match text {
        Ok(text) if !is_encoded => {
            // As it came: parsed, it would take a hundred times the memory.
            let json = is_json(field(CONTENT_TYPE)).then(|| serde_json::from_str(text));
            match json {
                Some(Ok(json)) if depth(text) <= DEEPEST => Content::Json(json),
                _ => Content::Text(text),
            }
        }
        _ => Content::Base64(STANDARD.encode(&response.body)),
    }
}

/// How many levels JSON has.
fn depth(json: &str) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' if !is_text => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a media type is that of JSON: `application/json`, `application/problem+json; charset=utf-8`.
fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use ureq::http::{HeaderName, HeaderValue, StatusCode};

    use super::*;

    fn message(fields: &[(&'static str, &'static str)], content: &[u8]) -> Value {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let response = Response {
            uri: "http://a.org/b".parse().unwrap(),
            status: StatusCode::OK,
            headers,
            body: content.to_vec(),
        };
        serde_json::from_slice(&body(&response, Some(b"{\"a\": 1.50}")).unwrap()).unwrap()
    }

    #[test]
    fn content_is_json_a_text_or_bytes() {
        let json = [("content-type", "application/problem+JSON; charset=utf-8")];
        assert_eq!(message(&json, b"{\"b\": [1]}")["json"], json!({ "b": [1] }));
        assert_eq!(message(&json, b"{\"b\": ")["text"], "{\"b\": ");
        let brackets = format!("[{:?}]", "[\"".repeat(1_000));
        let expected: Value = serde_json::from_str(&brackets).unwrap();
        assert_eq!(message(&json, brackets.as_bytes())["json"], expected);
        let levels = "[".repeat(DEEPEST) + &"]".repeat(DEEPEST);
        assert!(message(&json, levels.as_bytes())["json"].is_array());
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        assert_eq!(message(&json, deep.as_bytes())["text"], deep);
        assert_eq!(message(&[], "ä".as_bytes())["text"], "ä");
        assert_eq!(message(&[], b"")["text"], "");
        assert_eq!(message(&[], b"\xff\x00")["base64"], "/wA=");
        let zipped = [("content-encoding", "gzip"), json[0]];
        assert_eq!(message(&zipped, b"1")["base64"], "MQ==");
    }

    #[test]
    fn the_rest_of_a_response_is_there_too() {
        let fields = [("x-a", "1"), ("x-a", "2"), ("server", "s")];
        let message = message(&fields, b"");
        assert_eq!(message["status"], 200);
        assert_eq!(message["url"], "http://a.org/b");
        assert_eq!(message["headers"], json!({ "x-a": "1, 2", "server": "s" }));
        assert_eq!(message["message"], json!({ "a": 1.5 }));
    }
}
