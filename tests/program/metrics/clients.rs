//! Clients of all kinds, and those that misbehave.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use flowpipe_tests::{pipeline, ready};

use super::{Scraped, exchange};
use crate::pty::PATIENCE;

/// The status of a response.
fn status(run: &Scraped, request: &str) -> String {
    let (head, body) = run.request(request);
    let length = head.split("Content-Length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let is_head = request.starts_with("HEAD");
    assert_eq!(body.len(), if is_head { 0 } else { length }, "{request:?}");
    head.split(' ').nth(1).unwrap().to_owned()
}

/// A run of which nothing is expected but that it answers.
fn endless(folder: &Path) -> Scraped {
    let text = ready().replace("fps = 20", "fps = 20, repeat = true");
    Scraped::start(&["run", &pipeline(folder, &text), "-q"])
}

#[test]
fn other_requests_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = endless(folder.path());
    for (request, expected) in [
        ("HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
        ("GET / HTTP/1.0\r\n\r\n", "200"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET /../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
        (
            "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "405",
        ),
        ("DELETE / HTTP/1.1\r\n\r\n", "405"),
        ("\r\n\r\n\u{1}\u{2}", "400"),
        ("GET /metrics HTTP/1.1\r\nbroken\r\n\r\n", "400"),
    ] {
        assert_eq!(status(&run, request), expected, "{request:?}");
    }
    let (head, _) = run.request("PUT /metrics HTTP/1.1\r\n\r\n");
    assert!(head.contains("\r\nAllow: GET, HEAD\r\n"), "{head}");
    run.interrupt();
    run.end().expect(130);
}

#[test]
fn clients_that_misbehave_hold_neither_the_run_nor_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = endless(folder.path());
    let before = run.scrape();
    // A header of a megabyte. The connection may be closed before all is sent.
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(1 << 20));
    if let Ok(response) = exchange(run.address, long.as_bytes()) {
        assert!(response.starts_with("HTTP/1.1 431 "), "{response}");
    }
    let garbage: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    if let Ok(response) = exchange(run.address, &garbage) {
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    }
    // Some are silent, some send byte by byte, and some read nothing.
    let mut silent: Vec<TcpStream> = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(run.address).unwrap();
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"GET /met").unwrap(),
            _ => stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap(),
        }
        silent.push(stream);
    }
    for _ in 0..5 {
        let began = Instant::now();
        run.scrape().check_after(&before);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    let emitted = "flowpipe_stage_messages_emitted_total";
    let labels = [("stage", "frames")];
    let then = run.scrape().get(emitted, &labels);
    run.wait_until("later frame", |page| {
        page.get(emitted, &labels) > then + 20.0
    });
    // Those are closed from which nothing comes: at once where there are too many, or after a time.
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        // Reset, if what it sent was not read.
        let _ = stream.read_to_end(&mut rest);
        let _ = stream.shutdown(Shutdown::Both);
    }
    let open = TcpStream::connect(run.address).unwrap();
    run.interrupt();
    let began = Instant::now();
    run.end().expect(130);
    assert!(
        began.elapsed() < PATIENCE / 2,
        "a silent client does not hold the end"
    );
    drop(open);
}
