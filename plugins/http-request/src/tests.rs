//! The stage through the ABI, against servers in this process: honest ones and hostile ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::{Result, abi, harness};
use serde_json::{Value, json};

use crate::stage::HttpRequest;

/// Long enough for the slowest machine; no test passes by waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as a server reads it.
struct Received {
    /// Such as `GET /a HTTP/1.1`.
    line: String,
    /// The header fields, each as it was sent.
    fields: Vec<String>,
    body: String,
}

impl Received {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter().filter_map(|it| it.split_once(": "));
        let found = fields.find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// A server that answers each connection's requests, on a thread of its own. Returns its URL.
fn server(answer: impl Fn(&Received, &mut dyn Write) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || serve(stream, &*answer));
        }
    });
    url
}

fn serve(stream: TcpStream, answer: &dyn Fn(&Received, &mut dyn Write)) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(received) = receive(&mut reader) {
        answer(&received, &mut writer);
    }
}

fn receive(reader: &mut impl BufRead) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut received = Received {
        line: lines.remove(0),
        fields: lines,
        body: String::new(),
    };
    let length = received.field("content-length").map(str::parse);
    let mut body = vec![0; length.map_or(0, Result::unwrap)];
    reader.read_exact(&mut body).ok()?;
    received.body = String::from_utf8(body).unwrap();
    Some(received)
}

/// Writes a response. A client that has gone is no failure.
fn respond(to: &mut dyn Write, status: &str, fields: &str, body: &str) {
    let length = body.len();
    let _ = write!(
        to,
        "HTTP/1.1 {status}\r\n{fields}content-length: {length}\r\n\r\n{body}"
    );
}

fn stage(url: &str, config: Value) -> Result<Harness> {
    let mut all = json!({ "servers": [url], "url": format!("\"{url}\\(.path // \"/\")\"") });
    for (key, value) in config.as_object().unwrap() {
        all[key] = value.clone();
    }
    harness!(HttpRequest, all)
}

fn send(stage: &mut Harness, body: Value) -> Value {
    let mut emitted = stage.send(0, "x.a/1", &body).unwrap();
    assert_eq!(emitted.len(), 1);
    emitted.remove(0).body
}

fn failure(stage: &mut Harness, body: Value) -> String {
    stage.send(0, "x.a/1", &body).err().unwrap().to_string()
}

#[test]
fn a_request_is_made_of_a_message() {
    let url = server(|received, to| {
        let fields = [
            "x-sensor",
            "x-left-out",
            "content-type",
            "user-agent",
            "accept-encoding",
        ];
        let fields = fields.map(|name| received.field(name));
        let body = json!([received.line, received.body, fields]).to_string();
        respond(
            to,
            "201 Created",
            "content-type: application/json\r\n",
            &body,
        );
    });
    let config = json!({
        "method": "POST",
        "headers": { "X-Sensor": ".sensor", "X-Left-Out": "null" },
        "body": "{ celsius }",
        "include_message": true,
    });
    let mut stage = stage(&url, config).unwrap();
    let message = json!({ "path": "/a?b=c", "sensor": 7, "celsius": 21.5 });
    let agent = concat!("flowpipe/", env!("CARGO_PKG_VERSION"));
    let fields = json!(["7", null, "application/json", agent, "identity"]);
    let response = send(&mut stage, message.clone());
    assert_eq!(response["status"], 201);
    assert_eq!(response["url"], format!("{url}/a?b=c"));
    assert_eq!(
        response["json"],
        json!(["POST /a?b=c HTTP/1.1", "{\"celsius\":21.5}", fields])
    );
    assert_eq!(response["message"], message);
}

#[test]
fn content_can_be_the_message_or_a_text() {
    let url = server(|received, to| respond(to, "200 OK", "", &received.body));
    let mut whole = stage(&url, json!({ "method": "PUT" })).unwrap();
    assert_eq!(send(&mut whole, json!({ "a": 1 }))["text"], "{\"a\":1}");
    let config = json!({ "method": "PATCH", "body": ".a", "body_as_text": true });
    let mut text = stage(&url, config).unwrap();
    assert_eq!(send(&mut text, json!({ "a": "ä\n" }))["text"], "ä\n");
    let error = failure(&mut text, json!({ "a": 1 }));
    assert!(error.contains("`body` is no text"), "{error}");
}

#[test]
fn a_message_without_a_url_is_dropped() {
    let url = "http://127.0.0.1:9".to_owned();
    let mut stage = stage(&url, json!({ "url": "select(.a)" })).unwrap();
    assert!(stage.send(0, "x.a/1", &json!({})).unwrap().is_empty());
}

#[test]
fn errors_of_a_server_are_responses() {
    let url = server(|_, to| respond(to, "503 Service Unavailable", "retry-after: 9\r\n", "no"));
    let response = send(&mut stage(&url, json!({})).unwrap(), json!({}));
    assert_eq!(response["status"], 503);
    assert_eq!(response["headers"]["retry-after"], "9");
}

#[test]
fn messages_reach_no_other_server() {
    let url = server(|_, to| respond(to, "200 OK", "", ""));
    let mut stage = stage(&url, json!({ "url": ".url" })).unwrap();
    let port = url.rsplit_once(':').unwrap().1;
    for other in [
        "http://127.0.0.1:1/".to_owned(),
        format!("http://localhost:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://127.0.0.2:{port}/"),
    ] {
        let error = failure(&mut stage, json!({ "url": other }));
        assert!(
            error.contains("which `servers` of its config does not name"),
            "{error}"
        );
    }
    for wrong in [
        "file:///etc/passwd",
        "",
        "/a",
        &format!("http://u@127.0.0.1:{port}/"),
    ] {
        let error = stage.send(0, "x.a/1", &json!({ "url": wrong })).err();
        let error = error.unwrap();
        // The message itself can be read.
        assert_eq!(error.status(), abi::ERROR, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("the output of `url`"), "{text}");
    }
    assert_eq!(send(&mut stage, json!({ "url": url }))["status"], 200);
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused() {
    let url = server(|_, to| respond(to, "200 OK", "", ""));
    // The system reads it as 127.0.0.1.
    let named = url.replace("127.0.0.1", "127.1");
    let error = failure(&mut stage(&named, json!({})).unwrap(), json!({}));
    assert!(error.contains("allow_private = true"), "{error}");
    let mut allowed = stage(&named, json!({ "allow_private": true })).unwrap();
    assert_eq!(send(&mut allowed, json!({}))["status"], 200);
}

#[test]
fn header_fields_can_not_be_split() {
    let url = server(|received, to| respond(to, "200 OK", "", &received.fields.join("|")));
    let mut fields = stage(&url, json!({ "headers": { "x-a": ".a" } })).unwrap();
    let error = failure(&mut fields, json!({ "a": "b\r\nhost: evil" }));
    assert!(error.contains("no header field has"), "{error}");
    for reserved in ["Host", "content-length", "Transfer-Encoding"] {
        let config = json!({ "headers": { reserved: "\"1\"" } });
        let error = stage(&url, config).err().unwrap();
        assert!(error.to_string().contains("by the stage itself"), "{error}");
    }
}

#[test]
fn redirects_stay_at_their_server() {
    let elsewhere = server(|_, to| respond(to, "200 OK", "", "elsewhere"));
    let other = elsewhere.clone();
    let url = server(move |received, to| {
        let location = match received.line.split(' ').nth(1) {
            Some("/away") => format!("{other}/"),
            Some("/loop") => "loop".to_owned(),
            Some("/once") => "/there?a".to_owned(),
            _ => {
                return respond(
                    to,
                    "200 OK",
                    "",
                    &format!("{} {}", received.line, received.body),
                );
            }
        };
        respond(
            to,
            "302 Found",
            &format!("location: {location}\r\n"),
            "moved",
        );
    });
    // Both servers are named, and still no message is led from one to the other.
    let config = json!({ "servers": [url, elsewhere], "method": "POST" });
    let mut stage = stage(&url, config).unwrap();
    let response = send(&mut stage, json!({ "path": "/once" }));
    assert_eq!(response["text"], "GET /there?a HTTP/1.1 ");
    assert_eq!(response["url"], format!("{url}/there?a"));
    let response = send(&mut stage, json!({ "path": "/away" }));
    assert_eq!(
        (&response["status"], &response["text"]),
        (&json!(302), &json!("moved"))
    );
    let error = failure(&mut stage, json!({ "path": "/loop" }));
    assert!(
        error.ends_with("more than 5 redirects (`max_redirects`)"),
        "{error}"
    );
}

/// What a hostile server writes, until its client is gone or it has written all.
fn endless(to: &mut dyn Write, start: &str, part: &[u8], pause: Duration) {
    let mut written = to.write_all(start.as_bytes());
    let began = Instant::now();
    while written.is_ok() && began.elapsed() < PATIENCE {
        written = to.write_all(part);
        std::thread::sleep(pause);
    }
}

#[test]
fn what_a_server_sends_is_bounded() {
    const OK: &str = "HTTP/1.1 200 OK\r\n";
    let url = server(|received, to| {
        let none = Duration::ZERO;
        match received.line.split(' ').nth(1) {
            Some("/endless") => endless(to, &format!("{OK}\r\n"), &[b'x'; 4096], none),
            Some("/chunked") => endless(
                to,
                &format!("{OK}transfer-encoding: chunked\r\n\r\n"),
                b"5\r\nhello\r\n",
                none,
            ),
            Some("/length") => endless(
                to,
                &format!("{OK}content-length: 18446744073709551615\r\n\r\n"),
                b"x",
                none,
            ),
            Some("/header") => endless(to, OK, b"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", none),
            Some("/field") => endless(to, &format!("{OK}x-a: "), &[b'a'; 4096], none),
            Some("/status") => endless(to, "HTTP/1.1 200 ", &[b'a'; 4096], none),
            Some("/no-http") => endless(to, "220 ready\r\n", b"500 what?\r\n", none),
            _ => respond(to, "200 OK", "", "fine"),
        }
    });
    let mut stage = stage(
        &url,
        json!({ "max_response": 10_000, "timeout_ms": 60_000 }),
    )
    .unwrap();
    for path in ["/endless", "/chunked", "/length"] {
        let error = failure(&mut stage, json!({ "path": path }));
        assert!(
            error.contains("more than 10000 bytes (`max_response`)"),
            "{path}: {error}"
        );
    }
    for path in ["/header", "/field", "/status", "/no-http"] {
        let began = Instant::now();
        let error = failure(&mut stage, json!({ "path": path }));
        assert!(error.starts_with(&format!("GET {url}{path}: ")), "{error}");
        assert!(!error.contains("timeout_ms"), "{path}: {error}");
        assert!(began.elapsed() < PATIENCE, "{path}");
    }
    assert_eq!(send(&mut stage, json!({}))["text"], "fine");
}

#[test]
fn compressed_content_stays_compressed() {
    let url = server(|_, to| {
        let fields = "content-encoding: gzip\r\ncontent-type: application/json\r\n";
        respond(to, "200 OK", fields, "\u{1f}bomb");
    });
    let response = send(&mut stage(&url, json!({})).unwrap(), json!({}));
    assert_eq!(response["base64"], "H2JvbWI=");
}

#[test]
fn a_server_that_drips_meets_the_timeout() {
    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
    let pause = Duration::from_millis(20);
    let url = server(move |received, to| match received.line.split(' ').nth(1) {
        Some("/body") => endless(to, OK, b"x", pause),
        Some("/header") => endless(to, "HTTP/1.1 200 OK\r\n", b"x", pause),
        Some("/redirect") => {
            std::thread::sleep(Duration::from_millis(60));
            respond(to, "302 Found", "location: /redirect\r\n", "");
        }
        _ => std::thread::sleep(PATIENCE),
    });
    let config = json!({ "timeout_ms": 300, "max_redirects": 20 });
    let mut stage = stage(&url, config).unwrap();
    for path in ["/body", "/header", "/silent", "/redirect"] {
        let began = Instant::now();
        let error = failure(&mut stage, json!({ "path": path }));
        assert!(
            error.ends_with("within 300 ms (`timeout_ms`)"),
            "{path}: {error}"
        );
        assert!(began.elapsed() < PATIENCE / 2, "{path}");
    }
}

#[test]
fn a_request_that_is_cancelled_returns_and_the_next_one_is_sent() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let url = server(move |received, to| {
        count.fetch_add(1, Ordering::Relaxed);
        match received.line.contains("/silent") {
            true => std::thread::sleep(PATIENCE),
            false => respond(to, "200 OK", "", ""),
        }
    });
    let mut stage = stage(&url, json!({ "timeout_ms": 60_000 })).unwrap();
    let is_asked = seen.clone();
    stage.cancel_when(move || is_asked.load(Ordering::Relaxed) > 0);
    let began = Instant::now();
    let error = stage
        .send(0, "x.a/1", &json!({ "path": "/silent" }))
        .err()
        .unwrap();
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    assert!(began.elapsed() < PATIENCE / 2);
    stage.cancel_when(|| false);
    assert_eq!(send(&mut stage, json!({}))["status"], 200);
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[test]
fn a_connection_that_breaks_is_a_failure() {
    let url = server(|received, to| {
        let start = match received.line.contains("/half") {
            true => "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
            false => "HTTP/1.1 20",
        };
        let _ = to.write_all(start.as_bytes());
        // Ends the connection.
        panic!("expected by the test");
    });
    let mut stage = stage(&url, json!({})).unwrap();
    for path in ["/half", "/status"] {
        let error = failure(&mut stage, json!({ "path": path }));
        assert!(error.starts_with(&format!("GET {url}{path}: ")), "{error}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = failure(
        &mut self::stage(&format!("http://{nobody}"), json!({})).unwrap(),
        json!({}),
    );
    assert!(error.contains("refused"), "{error}");
    assert!(!error.contains("io: "), "{error}");
}

#[test]
fn configs_that_can_not_be_used_are_refused() {
    for (config, why) in [
        (json!({ "servers": ["example.org"] }), "http:// or https://"),
        (
            json!({ "servers": ["http://example.org/a"] }),
            "more than scheme, host and port",
        ),
        (json!({ "url": "[" }), "url = "),
        (json!({ "body": "." }), "only the methods POST"),
        (
            json!({ "method": "POST", "body_as_text": true }),
            "needs body",
        ),
        (json!({ "headers": { "a b": "1" } }), "no valid name"),
        (
            json!({ "headers_from_env": { "a": "FLOWPIPE_NOT_SET" } }),
            "FLOWPIPE_NOT_SET",
        ),
        (
            json!({ "servers": ["http://example.org"], "headers_from_env": { "a": "PATH" } }),
            "sent to http://example.org:80 without encryption",
        ),
        (
            json!({
                "servers": ["http://127.0.0.1:1", "http://10.0.0.1"],
                "headers_from_env": { "a": "FLOWPIPE_NOT_SET" },
            }),
            "sent to http://10.0.0.1:80 without encryption",
        ),
        (
            json!({ "servers": ["https://example.org"], "ca_file": "/none" }),
            "can't use /none",
        ),
    ] {
        let error = stage("http://127.0.0.1:1", config).err().unwrap();
        assert_eq!(error.status(), abi::BAD_CONFIG, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn what_the_environment_has_is_sent_unencrypted_if_that_is_permitted_or_within_the_machine() {
    for config in [
        json!({ "headers_from_env": { "a": "CARGO_MANIFEST_DIR" } }),
        json!({
            "servers": ["http://example.org"],
            "headers_from_env": { "a": "CARGO_MANIFEST_DIR" },
            "allow_unencrypted_env": true,
        }),
    ] {
        stage("http://127.0.0.1:1", config).unwrap();
    }
}

/// A server with a certificate of its own for `localhost`. Returns its URL, and that certificate.
fn encrypted() -> (String, String) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = certified.cert.pem();
    let key =
        rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut request = [0; 1024];
            // One that does not trust it sends nothing.
            if stream.read(&mut request).is_ok_and(|count| count > 0) {
                respond(&mut stream, "200 OK", "", "secret");
            }
        }
    });
    (format!("https://localhost:{port}"), pem)
}

#[test]
fn only_certificates_of_trusted_authorities_for_the_host_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (url, pem) = encrypted();
    let (_, other) = encrypted();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        json!({ "ca_file": path })
    };
    let mut trusted = stage(&url, file("ca.pem", &pem)).unwrap();
    assert_eq!(send(&mut trusted, json!({}))["text"], "secret");
    let mut unknown = stage(&url, file("other.pem", &other)).unwrap();
    let error = failure(&mut unknown, json!({}));
    assert!(error.to_lowercase().contains("certificate"), "{error}");
    let address = url.replace("localhost", "127.0.0.1");
    let error = failure(
        &mut stage(&address, file("ca.pem", &pem)).unwrap(),
        json!({}),
    );
    assert!(error.to_lowercase().contains("certificate"), "{error}");
    let error = stage(&url, file("empty.pem", "")).err().unwrap();
    assert!(error.to_string().contains("no certificates"), "{error}");
}
