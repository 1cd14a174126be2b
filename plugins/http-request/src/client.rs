//! Sends requests, on threads of their own: looking up a name and connecting can't be interrupted.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use flowpipe_plugin::Cancel;
use ureq::http::header::LOCATION;
use ureq::http::{HeaderMap, StatusCode, Uri};
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, http};

use crate::error::RequestError;
use crate::origin::url;
use crate::redirect;
use crate::request::Request;
use crate::resolver::GuardedResolver;

/// How often the stage checks whether its call is cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The most requests that were cancelled and have not ended.
const MOST_ABANDONED: usize = 16;
/// The most bytes of the header of a response.
const LARGEST_HEADER: usize = 64 << 10;
/// The most connections that are kept for further requests.
const MOST_IDLE: usize = 8;
/// How long one of them is kept.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// Sends requests, one at a time.
pub struct Client {
    settings: Settings,
    /// `None`: the last one was interrupted.
    agent: Option<Agent>,
    /// How many threads send requests.
    running: Arc<AtomicUsize>,
}

/// What holds for all requests.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For a request and its redirects, in milliseconds.
    pub timeout_ms: u64,
    /// The most bytes of the content of a response.
    pub max_response: usize,
    /// The most redirects.
    pub max_redirects: u32,
    /// Whether names may stand for private addresses.
    pub allow_private: bool,
    /// Encryption, if a server has it.
    pub tls: Option<TlsConfig>,
}

/// A whole response.
#[derive(Debug)]
pub struct Response {
    /// Where it comes from, after redirects.
    pub uri: Uri,
    /// Its status.
    pub status: StatusCode,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its content.
    pub body: Vec<u8>,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            agent: None,
            running: Arc::default(),
        }
    }

    /// Sends a request, and waits for the whole response.
    ///
    /// # Errors
    /// Why there is none.
    pub fn send(&mut self, request: Request, cancel: Cancel<'_>) -> Result<Response, RequestError> {
        let running = self.running.load(Ordering::Relaxed);
        if running >= MOST_ABANDONED {
            return Err(RequestError::TooMany(running));
        }
        let settings = self.settings.clone();
        let agent = self.agent.get_or_insert_with(|| agent(&settings)).clone();
        let (sender, receiver) = channel();
        let counted = Counted::new(&self.running);
        let send = move || {
            let _counted = counted;
            // The stage may have stopped waiting.
            let _ = sender.send(follow(&agent, request, &settings));
        };
        let thread = std::thread::Builder::new().name("http-request".to_owned());
        thread.spawn(send).map_err(RequestError::NoThread)?;
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(response) => return response,
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    self.interrupt();
                    return Err(RequestError::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RequestError::Failed("its thread has panicked".to_owned()));
                }
            }
        }
    }

    /// Ends the request that is being sent, and closes all connections.
    pub fn interrupt(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

/// Counts a thread while it runs.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn agent(settings: &Settings) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // What the environment names is not what the pipeline names.
        .proxy(None)
        // Followed here, as far as they stay at their server.
        .max_redirects(0)
        .max_response_header_size(LARGEST_HEADER)
        .max_idle_connections(MOST_IDLE)
        .max_idle_age(LONGEST_IDLE)
        .user_agent(concat!("flowpipe/", env!("CARGO_PKG_VERSION")))
        // Nothing is decompressed: a few bytes can't become many.
        .accept_encoding("identity");
    if let Some(tls) = &settings.tls {
        config = config.tls_config(tls.clone());
    }
    let resolver = GuardedResolver::new(settings.allow_private);
    Agent::with_parts(config.build(), DefaultConnector::default(), resolver)
}

/// Sends a request, and follows redirects of the server to itself.
fn follow(
    agent: &Agent,
    mut request: Request,
    settings: &Settings,
) -> Result<Response, RequestError> {
    let timeout = Duration::from_millis(settings.timeout_ms);
    let deadline = Instant::now() + timeout;
    let mut redirects = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RequestError::Timeout(settings.timeout_ms));
        }
        let received = send_once(agent, &request, left).map_err(|error| failed(error, settings))?;
        let (parts, body) = received.into_parts();
        let location = parts.headers.get(LOCATION).and_then(|it| it.to_str().ok());
        let target = redirect::target(&request.uri, parts.status, location);
        let next = target.and_then(|target| url(&target).ok());
        match next {
            Some((uri, origin)) if origin == request.origin && settings.max_redirects > 0 => {
                redirects += 1;
                if redirects > settings.max_redirects {
                    return Err(RequestError::Redirects(settings.max_redirects));
                }
                let method = redirect::method(&request.method, parts.status);
                if method != request.method {
                    request.body = None;
                    request.headers.remove(http::header::CONTENT_TYPE);
                }
                (request.method, request.uri) = (method, uri);
            }
            // Another server's, or no redirect: this is the response.
            _ => {
                return Ok(Response {
                    uri: request.uri,
                    status: parts.status,
                    headers: parts.headers,
                    body: read(body, settings)?,
                });
            }
        }
    }
}

fn send_once(
    agent: &Agent,
    request: &Request,
    timeout: Duration,
) -> Result<http::Response<Body>, ureq::Error> {
    let mut builder = http::Request::builder()
        .method(request.method.clone())
        .uri(request.uri.clone());
    if let Some(headers) = builder.headers_mut() {
        *headers = request.headers.clone();
    }
    match &request.body {
        Some(body) => {
            let request = builder.body(body.as_slice())?;
            let request = agent.configure_request(request);
            agent.run(request.timeout_global(Some(timeout)).build())
        }
        None => {
            let request = agent.configure_request(builder.body(())?);
            agent.run(request.timeout_global(Some(timeout)).build())
        }
    }
}

/// Reads the whole content of a response.
fn read(body: Body, settings: &Settings) -> Result<Vec<u8>, RequestError> {
    let most = settings.max_response;
    let too_large = RequestError::TooLarge(most);
    if body.content_length().is_some_and(|it| it > most as u64) {
        return Err(too_large);
    }
    let mut content = Vec::new();
    let mut reader = body.into_reader().take(most as u64 + 1);
    reader
        .read_to_end(&mut content)
        .map_err(|error| failed(ureq::Error::from(error), settings))?;
    match content.len() > most {
        true => Err(too_large),
        false => Ok(content),
    }
}

fn failed(error: ureq::Error, settings: &Settings) -> RequestError {
    match error {
        ureq::Error::Timeout(_) => RequestError::Timeout(settings.timeout_ms),
        // Its own text names its kind first.
        ureq::Error::Io(error) => RequestError::Failed(error.to_string()),
        error => RequestError::Failed(error.to_string()),
    }
}
