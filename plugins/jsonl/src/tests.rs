//! The stages through the ABI, on files and sockets in a temporary folder.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flowpipe_plugin::harness::{Emitted, Harness};
use flowpipe_plugin::{Format, Result, abi, harness};
use serde_json::{Value, json};

use crate::address::Address;
use crate::sink::SinkJsonl;
use crate::source::SourceJsonl;
use crate::stream::Stream;
use crate::tee::Tee;

#[cfg(unix)]
mod connections;
mod reload;

fn source(config: Value) -> Result<Harness> {
    harness!(SourceJsonl, config)
}

fn sink(config: Value) -> Result<Harness> {
    harness!(SinkJsonl, config)
}

fn file(folder: &Path, bytes: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.join("in.jsonl");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What a source gives until it ends: bodies, and texts of errors.
fn all(stage: &mut Harness) -> Vec<Value> {
    let started = Instant::now();
    let mut found = Vec::new();
    let mut idle = 0;
    // The harness reports no end: a stage that has ended gives nothing, whatever it waits for.
    while idle < 10 {
        assert!(started.elapsed() < Duration::from_secs(60));
        let ticked = Instant::now();
        stage.cancel_when(move || ticked.elapsed() > Duration::from_millis(20));
        match stage.tick() {
            Ok(emitted) if emitted.is_empty() => idle += 1,
            Ok(emitted) => found.extend(emitted.into_iter().map(|it: Emitted| it.body)),
            Err(error) if error.status() == abi::CANCELLED => idle += 1,
            Err(error) => found.push(json!({ "error": error.to_string() })),
        }
    }
    stage.cancel_when(|| false);
    found
}

fn refusal(stage: Result<Harness>) -> (abi::Status, String) {
    let error = stage.err().expect("should be refused");
    (error.status(), error.to_string())
}

#[test]
fn each_line_of_a_file_is_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "{\"a\": 1}\n\n  \r\n[2]\r\n\"three\"");
    let config = json!({ "path": path, "schema": "x.a/1" });
    let mut stage = source(config).unwrap();
    assert_eq!(
        all(&mut stage),
        [json!({ "a": 1 }), json!([2]), json!("three")]
    );
}

#[test]
fn a_wrong_line_is_named_and_the_others_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("\"{}\"", "x".repeat(100));
    let text = [
        b"1\n{\"a\" 2}\n3\n\"\xc3\x28\"\nnot\n".as_slice(),
        long.as_bytes(),
        b"\n4\n",
        b"{",
    ]
    .concat();
    let path = file(folder.path(), text);
    let config = json!({ "path": path, "schema": "x.a/1", "max_line": 50 });
    let found = all(&mut source(config).unwrap());
    let error = |text: &str| json!({ "error": format!("{}, line {text}", path.display()) });
    assert_eq!(
        found,
        [
            json!(1),
            error("2: column 6: expected `:`"),
            json!(3),
            error("4: column 2: this is not UTF-8 (the lines up to 6 are wrong too)"),
            json!(4),
            error("8: column 1: EOF while parsing an object"),
        ]
    );
}

#[test]
fn many_wrong_lines_are_few_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "wrong\n".repeat(25_000) + "1\n");
    let found = all(&mut source(json!({ "path": path, "schema": "x.a/1" })).unwrap());
    assert!(found.len() <= 40, "{}", found.len());
    assert_eq!(found.last(), Some(&json!(1)));
}

#[test]
fn a_call_ends_without_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "\n".repeat(3 << 20) + "1\n");
    let mut stage = source(json!({ "path": path, "schema": "x.a/1" })).unwrap();
    let mut calls = 1;
    while stage.tick().unwrap().is_empty() {
        calls += 1;
    }
    assert!((2..100).contains(&calls), "{calls}");
}

#[cfg(unix)]
#[test]
fn a_call_that_finds_no_message_can_be_cancelled() {
    let config = json!({ "path": "/dev/zero", "schema": "x.a/1" });
    let mut stage = source(config).unwrap();
    stage.cancel_when(|| true);
    let error = stage.tick().err().unwrap();
    assert_eq!(error.status(), abi::CANCELLED);
}

#[test]
fn a_line_names_the_schema_unless_the_config_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "{\"schema\": \"x.a/1\", \"body\": {\"b\": 1}, \"sequence\": 3}\n{\"b\": 1}\n",
    );
    let found = all(&mut source(json!({ "path": path })).unwrap());
    assert_eq!(found[0], json!({ "b": 1 }));
    let error = found[1]["error"].as_str().unwrap();
    assert!(
        error.contains("line 2: column 8: missing field `schema`"),
        "{error}"
    );
}

#[test]
fn configs_that_can_not_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for config in [
        json!({}),
        json!({ "path": "a", "stdin": true }),
        json!({ "path": "a", "listen": true }),
        json!({ "tcp": "0.0.0.0:0", "listen": true }),
        json!({ "tcp": "127.0.0.1:0", "keep_listening": true }),
        json!({ "path": folder.path().join("missing") }),
        json!({ "path": folder.path() }),
    ] {
        let (status, text) = refusal(source(config.clone()));
        assert_eq!(status, abi::BAD_CONFIG, "{config}: {text}");
    }
    assert_eq!(refusal(sink(json!({}))).0, abi::BAD_CONFIG);
    assert_eq!(
        refusal(sink(json!({ "tcp": "192.0.2.1:1" }))).0,
        abi::BAD_CONFIG
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let status = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let mut stage = source(json!({ "path": path, "schema": "x.a/1" })).unwrap();
    assert!(stage.tick().unwrap().is_empty());
    let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(b"1\n2").unwrap();
    assert_eq!(stage.tick().unwrap()[0].body, json!(1));
    assert!(stage.tick().unwrap().is_empty());
    drop(writer);
    assert_eq!(all(&mut stage), [json!(2)]);
}

/// The host knows that it waits: that is no work, and can be cancelled.
#[test]
fn a_source_waits_by_the_host() {
    let config = json!({ "tcp": free_address(), "listen": true, "schema": "x.a/1" });
    let mut stage = source(config).unwrap();
    let polls = Arc::new(AtomicU64::new(0));
    let counted = polls.clone();
    stage.cancel_when(move || counted.fetch_add(1, Ordering::Relaxed) >= 3);
    let error = stage.tick().err().unwrap();
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    assert_eq!(polls.load(Ordering::Relaxed), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_sink_and_a_tee_write_to_devices() {
    let mut stage = sink(json!({ "path": "/dev/null" })).unwrap();
    stage.send(0, "x.a/1", &json!(1)).unwrap();
    for full in [
        sink(json!({ "path": "/dev/full" })),
        harness!(Tee, json!({ "path": "/dev/full" })),
    ] {
        let sent = full.unwrap().send(0, "x.a/1", &json!(1));
        let text = sent.err().unwrap().to_string();
        assert!(text.contains("can't write to /dev/full"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (status, text) = refusal(sink(json!({ "path": folder.path() })));
    assert_eq!(status, abi::BAD_CONFIG);
    assert!(text.contains("is no file, pipe or device"), "{text}");
}

/// It waits for a reader, and the next line for the next one.
#[cfg(target_os = "linux")]
#[test]
fn a_sink_writes_to_a_named_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, pipe, rustix::fs::Mode::RWXU, 0).unwrap();
    let mut stage = sink(json!({ "path": path })).unwrap();
    let error = {
        stage.cancel_when(|| true);
        stage.send(0, "x.a/1", &json!(0)).err().unwrap()
    };
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    stage.cancel_when(|| false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| std::fs::read_to_string(&path).unwrap());
        stage.send(0, "x.a/1", &json!(1)).unwrap();
        stage.send(0, "x.a/1", &json!(2)).unwrap();
        drop(stage);
        assert_eq!(reader.join().unwrap(), "1\n2\n");
    });
}

/// A port that is free, most likely.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn a_source_listens_for_one_connection_or_several() {
    for keep_listening in [false, true] {
        let tcp = free_address();
        let config = json!({ "tcp": tcp, "listen": true, "keep_listening": keep_listening, "schema": "x.a/1" });
        let mut stage = source(config).unwrap();
        TcpStream::connect(&tcp)
            .unwrap()
            .write_all(b"1\n2")
            .unwrap();
        assert_eq!(all(&mut stage), [json!(1), json!(2)]);
        let second = TcpStream::connect(&tcp);
        assert_eq!(second.is_ok(), keep_listening);
        if let Ok(mut second) = second {
            second.write_all(b"3\nx\n").unwrap();
            drop(second);
            let found = all(&mut stage);
            assert_eq!(found[0], json!(3));
            let error = found[1]["error"].as_str().unwrap();
            assert!(
                error.starts_with(&format!("the address {tcp}, connection 2, line 2")),
                "{error}"
            );
        }
    }
}

/// What a browser sends for a page that posts to the port, or opens it with `https:`: the handshake has a ticket that a
/// server chose.
#[test]
fn no_line_of_a_browser_is_a_message() {
    let body = "{\"schema\": \"x.a/1\", \"body\": \"evil\"}\n".repeat(3);
    let long = "a".repeat(3_000);
    let (http, tls) = ("this is an HTTP request", "this is a TLS handshake");
    for (sent, what) in [
        (
            format!("POST / HTTP/1.1\r\nHost: 127.0.0.1:7000\r\nContent-Length: 99\r\n\r\n{body}"),
            http,
        ),
        (
            format!("POST /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n{body}"),
            http,
        ),
        (format!("GET / HTTP/1.0\r\n\r\n{body}"), http),
        (format!("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\n{body}{long}"), tls),
    ] {
        for keep_listening in [false, true] {
            let tcp = free_address();
            let config = json!({
                "tcp": tcp, "listen": true, "keep_listening": keep_listening, "max_line": 1_000,
            });
            let mut stage = source(config).unwrap();
            let mut browser = TcpStream::connect(&tcp).unwrap();
            browser.write_all(sent.as_bytes()).unwrap();
            let found = all(&mut stage);
            assert!(found.iter().all(|it| it["error"].is_string()), "{found:?}");
            let is_failure = |it: &Value| {
                let text = it["error"].as_str().unwrap();
                text.contains(what)
            };
            // A source that goes on listening logs it.
            let failures = found.iter().filter(|it| is_failure(it)).count();
            assert_eq!(failures, usize::from(!keep_listening), "{found:?}");
            // The connection does not count, not even where one is all.
            let mut program = TcpStream::connect(&tcp).unwrap();
            let line = b"{\"schema\": \"x.a/1\", \"body\": 1}\n";
            program.write_all(line).unwrap();
            drop(program);
            assert_eq!(all(&mut stage), [json!(1)]);
        }
    }
}

#[test]
fn a_sink_sends_to_a_source() {
    let tcp = free_address();
    let mut from = source(json!({ "tcp": tcp, "listen": true })).unwrap();
    // More than the buffers of a connection hold, while somebody reads.
    let long = "y".repeat(500_000);
    let sent = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut to = sink(json!({ "tcp": tcp, "envelope": true })).unwrap();
            for number in 0..10 {
                to.send(0, "x.a/1", &json!([number, long])).unwrap();
            }
        });
        let mut found = Vec::new();
        while found.len() < 10 {
            found.extend(from.tick().unwrap().into_iter().map(|it| it.body));
        }
        sender.join().unwrap();
        found
    });
    for (number, body) in sent.iter().enumerate() {
        assert_eq!(*body, json!([number, long]));
    }
}

#[cfg(unix)]
#[test]
fn a_unix_socket_that_was_left_behind_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let unix = folder.path().join("s.sock");
    drop(std::os::unix::net::UnixListener::bind(&unix).unwrap());
    let config = json!({ "unix": unix, "listen": true, "schema": "x.a/1" });
    let mut from = source(config.clone()).unwrap();
    let text = refusal(source(config)).1;
    assert!(text.contains("can't listen at the socket"), "{text}");
    let mut to = sink(json!({ "unix": unix })).unwrap();
    to.send(0, "x.a/1", &json!({ "a": "ä" })).unwrap();
    drop(to);
    assert_eq!(all(&mut from), [json!({ "a": "ä" })]);
    drop(from);
    assert!(!unix.exists());
    // A file of another kind is not removed.
    std::fs::write(&unix, "mine").unwrap();
    let text = refusal(source(json!({ "unix": unix, "listen": true }))).1;
    assert!(text.contains("that is no socket: remove it"), "{text}");
    assert_eq!(std::fs::read_to_string(&unix).unwrap(), "mine");
}

#[test]
fn a_sink_whose_reader_stands_still_can_be_stopped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = listener.local_addr().unwrap().to_string();
    let mut stage = sink(json!({ "tcp": tcp })).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let started = Instant::now();
    stage.cancel_when(move || started.elapsed() > Duration::from_millis(300));
    let error = stage
        .send(0, "x.a/1", &json!("z".repeat(64 << 20)))
        .err()
        .unwrap();
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    assert!(started.elapsed() < Duration::from_secs(20));
    // No later line is appended to half of one.
    drop(listener);
    stage.cancel_when(|| false);
    let text = stage.send(0, "x.a/1", &json!(1)).err().unwrap().to_string();
    assert!(text.contains("can't connect to the address"), "{text}");
    let mut read = Vec::new();
    peer.read_to_end(&mut read).unwrap();
    assert!(!read.contains(&b'\n'));
}

/// The queue of a socket is full, and nobody takes anything of it.
#[cfg(target_os = "linux")]
#[test]
fn connecting_can_be_cancelled() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let listener = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = Address::Unix(path.clone());
    let mut waiting = Vec::new();
    let error = loop {
        assert!(waiting.len() < 100);
        let started = Instant::now();
        let mut is_cancelled = || started.elapsed() > Duration::from_millis(100);
        match Stream::connect(&address, &mut is_cancelled) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
    };
    assert_eq!(error.status(), abi::CANCELLED, "{error}");
    // Somebody listens there.
    let config = json!({ "unix": path, "listen": true, "schema": "x.a/1" });
    let text = refusal(source(config)).1;
    assert!(text.contains("can't listen at the socket"), "{text}");
}

#[test]
fn a_sink_that_listens_waits_for_a_reader() {
    let tcp = free_address();
    let mut stage = sink(json!({ "tcp": tcp, "listen": true })).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            let mut text = String::new();
            TcpStream::connect(&tcp)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            text
        });
        stage.send(0, "x.a/1", &json!(1)).unwrap();
        stage.send(0, "x.a/1", &json!(2)).unwrap();
        drop(stage);
        assert_eq!(reader.join().unwrap(), "1\n2\n");
    });
}

#[test]
fn a_message_is_one_line_whatever_its_white_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut stage = sink(json!({ "path": path, "envelope": true })).unwrap();
    let pixels = (Format::Grey8, 1, 1);
    stage
        .send_picture("x.a/1", &json!({ "a": "b\nc" }), pixels, &[7])
        .unwrap();
    stage.finish().unwrap();
    // There at once.
    let text = std::fs::read_to_string(&path).unwrap();
    let line: Value = serde_json::from_str(text.strip_suffix('\n').unwrap()).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert_eq!(line["schema"], "x.a/1");
    assert_eq!(line["body"], json!({ "a": "b\nc" }));
    assert!(line["sequence"].is_u64() && line["captured_ns"].is_i64());
}

#[test]
fn a_tee_passes_on_what_it_has_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.jsonl");
    std::fs::write(&path, "0").unwrap();
    let mut stage = harness!(Tee, json!({ "path": path })).unwrap();
    let read = || std::fs::read_to_string(&path).unwrap();
    let passed = stage
        .send_picture("x.a/1", &json!({ "a": 1.50 }), (Format::Grey8, 1, 1), &[7])
        .unwrap();
    assert_eq!(read(), "0\n{\"a\":1.5}\n");
    assert_eq!(passed.len(), 1);
    assert_eq!(passed[0].body, json!({ "a": 1.5 }));
    assert_eq!(passed[0].frame.as_ref().unwrap().pixels(), [7]);
    let (status, text) = refusal(harness!(Tee, json!({ "path": folder.path() })));
    assert_eq!(status, abi::BAD_CONFIG);
    assert!(text.contains("can't write"), "{text}");
    let nowhere = folder.path().join("none").join("seen.jsonl");
    let (status, text) = refusal(harness!(Tee, json!({ "path": nowhere })));
    assert_eq!(status, abi::BAD_CONFIG);
    assert!(text.ends_with("; its folder must exist"), "{text}");
}

proptest::proptest! {
    /// Whatever bytes a source reads, it ends, and sends what is JSON alone.
    #[test]
    fn any_bytes_are_read_to_their_end(
        lines in proptest::collection::vec(proptest::prop_oneof![
            proptest::collection::vec(proptest::num::u8::ANY, 0..40),
            proptest::strategy::Just(b"{\"schema\": \"a.b/1\", \"body\": [1]}".to_vec()),
            proptest::strategy::Just(b"1".to_vec()),
        ], 0..12),
        has_schema: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), lines.join(&b'\n'));
        let mut config = json!({ "path": path });
        if has_schema {
            config["schema"] = json!("a.b/1");
        }
        let mut stage = source(config).unwrap();
        let found = all(&mut stage);
        let errors = found.iter().filter(|it| it["error"].is_string()).count();
        proptest::prop_assert!(errors <= lines.len() * 2);
    }
}
