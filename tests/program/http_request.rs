//! Requests of a pipeline to a server in this process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowpipe_tests::{pipeline, project, record, run};
use serde_json::{Value, json};

/// A server that answers each request with its first line and its content. Its address, and how many requests it got.
fn server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::<AtomicUsize>::default();
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = counted.clone();
            std::thread::spawn(move || while answer(&stream, &counted).is_some() {});
        }
    });
    (address, count)
}

fn answer(mut stream: &TcpStream, count: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" if lines.is_empty() => return None,
            "" => break,
            line => lines.push(line.to_ascii_lowercase()),
        }
    }
    let length = lines
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut content = vec![0; length.map_or(0, |it| it.parse().unwrap())];
    reader.read_exact(&mut content).ok()?;
    count.fetch_add(1, Ordering::Relaxed);
    let body = json!([lines[0], String::from_utf8(content).unwrap()]).to_string();
    let status = if lines[0].contains("cellar") {
        "404 Not Found"
    } else {
        "200 OK"
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .ok()
}

/// The example, for another server, with a file in place of standard output.
fn example(folder: &Path, address: &str, keys: &str) -> String {
    let examples = project().join("examples/readings");
    let text = std::fs::read_to_string(examples.join("ask.toml")).unwrap();
    std::fs::copy(
        examples.join("readings.jsonl"),
        folder.join("readings.jsonl"),
    )
    .unwrap();
    let text = text
        .replace("127.0.0.1:8000", address)
        .replace(
            "stdout = true",
            "path = \"out.jsonl\", if_exists = \"overwrite\"",
        )
        .replace("on_error = \"skip\"", keys);
    pipeline(folder, &text)
}

fn lines(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("out.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn each_message_is_a_request_and_a_response() {
    let folder = tempfile::tempdir().unwrap();
    let (address, count) = server();
    let file = example(folder.path(), &address, "");
    let recorded = record(folder.path(), "a.mcap", &file);
    let readings = std::fs::read_to_string(folder.path().join("readings.jsonl")).unwrap();
    let readings: Vec<Value> = readings
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(count.load(Ordering::Relaxed), readings.len());
    let lines = lines(folder.path());
    let found: Vec<_> = readings
        .iter()
        .filter(|it| it["sensor"] != "cellar")
        .collect();
    assert_eq!(lines.len(), found.len());
    for (line, reading) in lines.iter().zip(found) {
        assert_eq!(line["message"], *reading);
        let sensor = reading["sensor"].as_str().unwrap();
        let asked = format!("post /sensors/{sensor} http/1.1");
        let content = json!({ "celsius": reading["celsius"] }).to_string();
        assert_eq!(line["json"], json!([asked, content]));
    }
    // The recording answers in a replay.
    run(&["replay", &recorded, "--verify"]).expect(0);
    assert_eq!(count.load(Ordering::Relaxed), readings.len());
}

#[test]
fn a_dry_run_sends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (address, count) = server();
    let file = example(folder.path(), &address, "");
    run(&["run", &file, "--dry-run"]).expect(0);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let ran = run(&["check", &file]).expect(0);
    assert!(ran.stdout.contains("sends requests to"), "{ran:#?}");
    assert!(ran.stdout.contains(&address), "{ran:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_stage_reaches_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let (address, count) = server();
    let file = example(
        folder.path(),
        &address,
        "isolation = \"process\"\nworkers = 2",
    );
    run(&["run", &file]).expect(0);
    assert_eq!(
        count.load(Ordering::Relaxed),
        lines(folder.path()).len() + 2
    );
}

#[test]
fn a_request_that_hangs_is_ended_by_the_stages_timeout() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody accepts what the system connects.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let file = example(folder.path(), &address, "on_error = \"stop\"");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"20s\"", "\"200ms\"")).unwrap();
    let ran = run(&["run", &file]).expect(1);
    assert!(ran.stderr.contains("ask"), "{ran:#?}");
}
