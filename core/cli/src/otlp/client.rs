//! One request to the collector.

use std::time::Duration;

use prost::Message;
use ureq::Agent;
use ureq::http::header::CONTENT_TYPE;
use ureq::http::{HeaderName, HeaderValue, Uri};

use super::endpoint::Endpoint;

/// How long a request may take, from the connection to the last byte of the response.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// The most bytes that are read of a response.
const LONGEST_RESPONSE: u64 = 64 << 10;

/// Sends one signal to the collector.
pub struct Client {
    agent: Agent,
    to: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why the collector has not taken what was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no connection, or it broke.
    #[error("{0}")]
    Connection(Box<ureq::Error>),
    /// It has no time for it now.
    #[error("it has no room: status {0}")]
    Busy(u16),
    /// It does not take it.
    #[error("it answers with status {0}")]
    Refused(u16),
    /// It answers with something else.
    #[error("it answers with something that is no OTLP over HTTP")]
    Malformed,
}

impl SendError {
    /// Whether it may take the same later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Busy(_) => true,
            Self::Refused(_) | Self::Malformed => false,
        }
    }
}

impl Client {
    /// A client for requests to a URL.
    pub fn new(to: &Uri, endpoint: &Endpoint) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // What is sent goes to the collector that the user has named, and nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            // A connection that the collector closes meanwhile would look like a failure.
            .max_idle_connections(0)
            .user_agent(concat!("flowpipe/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: config.into(),
            to: to.clone(),
            headers: endpoint.headers.clone(),
        }
    }

    /// Sends a request, and returns the response.
    ///
    /// # Errors
    /// When the collector does not take it in time.
    pub fn post<R: Message + Default>(
        &self,
        request: &impl Message,
        timeout: Duration,
    ) -> Result<R, SendError> {
        let failed = |error| SendError::Connection(Box::new(error));
        let mut builder = self.agent.post(&self.to);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        let timeout = timeout.min(REQUEST_TIMEOUT);
        let builder = builder.header(CONTENT_TYPE, "application/x-protobuf");
        let builder = builder.config().timeout_global(Some(timeout)).build();
        let mut response = builder
            .send(request.encode_to_vec().as_slice())
            .map_err(failed)?;
        match response.status().as_u16() {
            200 => {}
            status @ (429 | 502 | 503 | 504) => return Err(SendError::Busy(status)),
            status => return Err(SendError::Refused(status)),
        }
        let body = response.body_mut().with_config().limit(LONGEST_RESPONSE);
        let body = match body.read_to_vec() {
            Ok(body) => body,
            Err(ureq::Error::BodyExceedsLimit(_)) => return Err(SendError::Malformed),
            Err(error) => return Err(failed(error)),
        };
        R::decode(body.as_slice()).map_err(|_| SendError::Malformed)
    }
}
