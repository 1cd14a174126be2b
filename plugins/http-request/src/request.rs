//! The request of a message, by expressions.

use flowpipe_jq::{Expression, RunError};
use flowpipe_plugin::{Cancel, Error, Result};
use serde_json::Value;
use ureq::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use ureq::http::{Method, Uri};

use crate::config::Config;
use crate::origin::{Origin, url};

/// Fields of a header that are not for messages: they say where a request ends, or what a response may be.
const RESERVED: [HeaderName; 9] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub uri: Uri,
    /// The server of that.
    pub origin: Origin,
    /// Header fields.
    pub headers: HeaderMap,
    /// The content. `None`: the method has none.
    pub body: Option<Vec<u8>>,
}

/// What makes requests of messages.
pub struct RequestBuilder {
    servers: Vec<Origin>,
    method: Method,
    url: Expression,
    headers: Vec<(HeaderName, Expression)>,
    /// Header fields whose values are fixed.
    fixed: HeaderMap,
    content: Option<RequestContent>,
}

/// The content of requests.
struct RequestContent {
    /// `None`: the body of the message.
    expression: Option<Expression>,
    is_text: bool,
}

impl RequestBuilder {
    /// Compiles what a config names.
    ///
    /// # Errors
    /// What of it can't be used.
    pub fn new(config: &Config) -> Result<Self> {
        let has_body = config.method.has_body();
        if !has_body && (config.body.is_some() || config.body_as_text) {
            return Err(Error::bad_config(
                "only the methods POST, PUT and PATCH have a body: set method, or leave out body and body_as_text",
            ));
        }
        if config.body_as_text && config.body.is_none() {
            return Err(Error::bad_config(
                "body_as_text needs body, an expression whose output is a text",
            ));
        }
        let content = has_body.then(|| content(config)).transpose()?;
        let mut fixed = HeaderMap::new();
        if let Some(content) = &content {
            let kind = match content.is_text {
                true => "text/plain; charset=utf-8",
                false => "application/json",
            };
            fixed.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let servers = config.servers.iter().map(|server| {
            let wrong = |error| Error::bad_config(format!("servers: {server:?}: {error}"));
            Origin::read(server).map_err(wrong)
        });
        let servers: Vec<Origin> = servers.collect::<Result<_>>()?;
        let has_secrets = !config.headers_from_env.is_empty() && !config.allow_unencrypted_env;
        if let Some(exposed) = servers.iter().find(|it| has_secrets && it.is_exposed()) {
            return Err(Error::bad_config(format!(
                "headers_from_env would be sent to {exposed} without encryption: use https://, or set \
                 allow_unencrypted_env = true if that is meant"
            )));
        }
        for (name, variable) in &config.headers_from_env {
            let value = std::env::var(variable).map_err(|error| {
                Error::bad_config(format!("headers_from_env: {variable}: {error}"))
            })?;
            let value = HeaderValue::from_str(&value).map_err(|_| {
                Error::bad_config(format!(
                    "headers_from_env: the value of {variable} is no header field"
                ))
            })?;
            fixed.insert(header_name(name)?, value);
        }
        let headers = config.headers.iter().map(|(name, jq)| {
            let key = format!("headers.{name}");
            Ok((header_name(name)?, compiled(&key, jq)?))
        });
        Ok(Self {
            servers,
            method: config.method.into(),
            url: compiled("url", &config.url)?,
            headers: headers.collect::<Result<_>>()?,
            fixed,
            content,
        })
    }

    /// Whether a server is encrypted.
    pub fn needs_certificates(&self) -> bool {
        self.servers.iter().any(Origin::is_encrypted)
    }

    /// The request of a message. `None`: there is none.
    ///
    /// # Errors
    /// When an expression fails, or an output can't be used.
    pub fn request(&self, json: &[u8], cancel: Cancel<'_>) -> Result<Option<Request>> {
        let Some(text) = first("url", &self.url, json, cancel)? else {
            return Ok(None);
        };
        let Value::String(text) = text else {
            return Err(Error::new("the output of `url` is no text"));
        };
        let wrong = |error| Error::new(format!("the output of `url`, {text:?}: {error}"));
        let (uri, origin) = url(&text).map_err(wrong)?;
        if !self.servers.contains(&origin) {
            return Err(Error::new(format!(
                "no request is sent to {origin}, which `servers` of its config does not name"
            )));
        }
        let mut headers = self.fixed.clone();
        for (name, expression) in &self.headers {
            let key = format!("headers.{name}");
            let text = match first(&key, expression, json, cancel)? {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) => text,
                Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
                Some(_) => {
                    return Err(Error::new(format!(
                        "the output of `{key}` is neither a text nor a number"
                    )));
                }
            };
            let value = HeaderValue::from_str(&text).map_err(|_| {
                Error::new(format!(
                    "the output of `{key}` has characters that no header field has"
                ))
            })?;
            headers.insert(name, value);
        }
        let content = self.content.as_ref();
        Ok(Some(Request {
            method: self.method.clone(),
            uri,
            origin,
            headers,
            body: content
                .map(|content| content.bytes(json, cancel))
                .transpose()?,
        }))
    }
}

impl RequestContent {
    fn bytes(&self, json: &[u8], cancel: Cancel<'_>) -> Result<Vec<u8>> {
        let Some(expression) = &self.expression else {
            return Ok(json.to_vec());
        };
        let outputs = outputs("body", expression, json, cancel)?;
        let Some(output) = outputs.iter().next() else {
            return Err(Error::new("`body` has no output"));
        };
        match self.is_text {
            false => Ok(output.to_vec()),
            true => serde_json::from_slice::<String>(output)
                .map(String::into_bytes)
                .map_err(|_| {
                    Error::new("the output of `body` is no text, as body_as_text wants it")
                }),
        }
    }
}

fn content(config: &Config) -> Result<RequestContent> {
    let expression = config.body.as_deref();
    Ok(RequestContent {
        expression: expression.map(|jq| compiled("body", jq)).transpose()?,
        is_text: config.body_as_text,
    })
}

fn header_name(name: &str) -> Result<HeaderName> {
    let wrong = |why: &str| Error::bad_config(format!("the header field {name:?} {why}"));
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("has no valid name"))?;
    match RESERVED.contains(&name) {
        true => Err(wrong("is set by the stage itself")),
        false => Ok(name),
    }
}

fn compiled(key: &str, jq: &str) -> Result<Expression> {
    Expression::compile(jq).map_err(|error| Error::bad_config(format!("{key} = {jq:?}: {error}")))
}

/// The first output of an expression.
fn first(
    key: &str,
    expression: &Expression,
    json: &[u8],
    cancel: Cancel<'_>,
) -> Result<Option<Value>> {
    let outputs = outputs(key, expression, json, cancel)?;
    let first = outputs.iter().next();
    Ok(first.map(serde_json::from_slice).transpose()?)
}

/// The outputs of an expression, of which there is one at most.
fn outputs(
    key: &str,
    expression: &Expression,
    json: &[u8],
    cancel: Cancel<'_>,
) -> Result<flowpipe_jq::Outputs> {
    let outputs = expression.outputs(json, 1, &|| cancel.is_cancelled());
    outputs.map_err(|error| match error {
        RunError::Cancelled => Error::cancelled(),
        RunError::TooMany(_) => Error::new(format!("`{key}` has more than one output")),
        error => Error::new(format!("`{key}`: {error}")),
    })
}
