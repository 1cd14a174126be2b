//! One request of HTTP/1, and its response.
//!
//! `httparse` reads the request. Each connection has one request: scrapers accept that.

use std::net::IpAddr;

use super::exposition::CONTENT_TYPE;

/// The longest head of a request, in bytes. Those of scrapers and browsers have some hundred.
pub const LONGEST_REQUEST: usize = 8 << 10;
/// The most headers.
const MOST_HEADERS: usize = 64;

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    answer: ScrapeAnswer,
    /// Whether the client wants the head alone.
    is_head: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScrapeAnswer {
    Metrics,
    Index,
    Malformed,
    WrongHost,
    NotFound,
    WrongMethod,
    TooLong,
}

impl Response {
    /// The response to what a client has sent so far. `None`: the request is incomplete. `is_local`: only this computer
    /// reaches the program.
    pub fn to(request: &[u8], is_local: bool) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let status = parsed.parse(request);
        let answer = match status {
            Ok(httparse::Status::Partial) if request.len() < LONGEST_REQUEST => return None,
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                ScrapeAnswer::TooLong
            }
            Err(_) => ScrapeAnswer::Malformed,
            Ok(httparse::Status::Complete(_)) => of_request(&parsed, is_local),
        };
        Some(Self {
            answer,
            is_head: parsed.method == Some("HEAD"),
        })
    }

    /// Whether it contains the metrics.
    pub fn wants_metrics(self) -> bool {
        self.answer == ScrapeAnswer::Metrics
    }

    /// The bytes to send. `page`: the metrics, if it contains them.
    pub fn bytes(self, page: &str) -> Vec<u8> {
        let (status, body) = match self.answer {
            ScrapeAnswer::Metrics => ("200 OK", page),
            ScrapeAnswer::Index => (
                "200 OK",
                "The metrics of this run of flowpipe are at /metrics.\n",
            ),
            ScrapeAnswer::Malformed => ("400 Bad Request", "This is not a request of HTTP/1.\n"),
            ScrapeAnswer::WrongHost => (
                "403 Forbidden",
                "The host of the request has to be an IP address or localhost.\n",
            ),
            ScrapeAnswer::NotFound => ("404 Not Found", "The metrics are at /metrics.\n"),
            ScrapeAnswer::WrongMethod => {
                ("405 Method Not Allowed", "The methods are GET and HEAD.\n")
            }
            ScrapeAnswer::TooLong => (
                "431 Request Header Fields Too Large",
                "The request is too long.\n",
            ),
        };
        let kind = match self.answer {
            ScrapeAnswer::Metrics => CONTENT_TYPE,
            _ => "text/plain; charset=utf-8",
        };
        let allow = match self.answer {
            ScrapeAnswer::WrongMethod => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let length = body.len();
        let mut text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        );
        if !self.is_head {
            text.push_str(body);
        }
        text.into_bytes()
    }
}

fn of_request(request: &httparse::Request<'_, '_>, is_local: bool) -> ScrapeAnswer {
    let mut hosts = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("host"));
    if is_local && !hosts.all(|header| is_local_host(header.value)) {
        return ScrapeAnswer::WrongHost;
    }
    if !matches!(request.method, Some("GET" | "HEAD")) {
        return ScrapeAnswer::WrongMethod;
    }
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    match path {
        "/metrics" => ScrapeAnswer::Metrics,
        "/" => ScrapeAnswer::Index,
        _ => ScrapeAnswer::NotFound,
    }
}

/// Whether a browser can't have been led here by the name of another host, which a web page of that host could read then
/// (DNS rebinding).
fn is_local_host(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else {
        return false;
    };
    let is_port = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let host = match value.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => value,
    };
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    host.eq_ignore_ascii_case("localhost") || bare.unwrap_or(host).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> Option<u16> {
        let response = Response::to(request.as_bytes(), true)?;
        let bytes = String::from_utf8(response.bytes("page\n")).unwrap();
        let (head, body) = bytes.split_once("\r\n\r\n").unwrap();
        let length = head.split("Content-Length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        match request.starts_with("HEAD") {
            true => assert_eq!(body, ""),
            false => assert_eq!(body.len(), length),
        }
        assert_eq!(response.wants_metrics(), head.contains("version=0.0.4"));
        head.split(' ').nth(1).unwrap().parse().ok()
    }

    #[test]
    fn only_whole_requests_of_known_pages_are_answered() {
        let end = "\r\n\r\n";
        for (request, expected) in [
            ("GET /metrics HTTP/1.1", 200),
            ("GET /metrics?x=1 HTTP/1.0", 200),
            ("HEAD /metrics HTTP/1.1", 200),
            ("GET / HTTP/1.1", 200),
            ("GET /metrics/ HTTP/1.1", 404),
            ("GET /../metrics HTTP/1.1", 404),
            ("GET /METRICS HTTP/1.1", 404),
            ("HEAD /other HTTP/1.1", 404),
            ("POST /metrics HTTP/1.1", 405),
            ("get /metrics HTTP/1.1", 405),
            ("GET /metrics HTTP/2.0", 400),
            ("GET  /metrics", 400),
            ("\u{0}\u{1}", 400),
        ] {
            assert_eq!(
                status(&format!("{request}{end}")),
                Some(expected),
                "{request:?}"
            );
        }
        for partial in [
            "",
            "GET",
            "GET /metrics HTTP/1.1\r\n",
            "GET /metrics HTTP/1.1\r\nHost: x\r\n",
        ] {
            assert_eq!(status(partial), None, "{partial:?}");
        }
        let long = format!("GET /{} HTTP/1.1", "x".repeat(LONGEST_REQUEST));
        assert_eq!(status(&long), Some(431));
        let many = "X: y\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{many}\r\n")), Some(431));
    }

    #[test]
    fn names_of_other_hosts_are_refused_on_this_computer_alone() {
        for (host, expected) in [
            ("127.0.0.1:9464", 200),
            ("localhost", 200),
            ("LOCALHOST:9464", 200),
            ("[::1]:9464", 200),
            ("[::1]", 200),
            ("evil.example:9464", 403),
            ("localhost.evil.example", 403),
            ("", 403),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(status(&request), Some(expected), "{host}");
        }
        let two = "GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n\r\n";
        assert_eq!(status(two), Some(403));
        let named = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        let response = Response::to(named, false).unwrap();
        assert!(response.bytes("").starts_with(b"HTTP/1.1 200 "));
    }
}
