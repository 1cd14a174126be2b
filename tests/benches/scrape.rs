//! What it costs a run to be scraped: small messages as fast as the stages take them.
//!
//! `cargo bench -p flowpipe-tests --bench scrape`; the program and its plugins must be built for release (`./x bench`
//! does both). Runs that are scraped each second and runs without `--metrics` take turns.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use flowpipe_tests::{flowpipe, pipeline};

/// How often each is run.
const TURNS: usize = 11;
/// From one scrape to the next.
const INTERVAL: Duration = Duration::from_secs(1);

fn main() {
    let wanted = std::env::args().skip(1);
    let messages = wanted.filter_map(|argument| argument.parse().ok()).next();
    let messages: usize = messages.unwrap_or(4_000_000);
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..messages)
        .map(|number| format!("{{\"number\":{number}}}\n"))
        .collect();
    std::fs::write(folder.path().join("in.jsonl"), lines).unwrap();
    let text = "[stages.in]\nplugin = \"source-jsonl\"\n\
                config = { path = \"in.jsonl\", schema = \"x.number/1\" }\n\
                [stages.out]\nplugin = \"filter\"\nfrom = \"in\"\n\
                config = { jq = \".number < 0\" }\n";
    let file = pipeline(folder.path(), text);
    let mut times = [Vec::new(), Vec::new()];
    let mut scrapes = 0;
    for turn in 0..2 * TURNS {
        // First one, then the other: neither always comes after the other.
        let is_scraped = turn % 4 == 1 || turn % 4 == 2;
        let (seconds, count) = time(&file, is_scraped, messages);
        times[usize::from(is_scraped)].push(seconds);
        scrapes += count;
    }
    println!("\n## Metrics: {messages} messages through two stages, {TURNS} times each\n");
    println!("| run | median | fastest | slowest |");
    println!("|---|--:|--:|--:|");
    for (name, times) in ["without `--metrics`", "scraped each second"]
        .iter()
        .zip(&mut times)
    {
        times.sort_by(f64::total_cmp);
        let [median, fastest, slowest] = [TURNS / 2, 0, TURNS - 1].map(|index| times[index]);
        println!("| {name} | {median:.3} s | {fastest:.3} s | {slowest:.3} s |");
    }
    let ratio = times[1][TURNS / 2] / times[0][TURNS / 2];
    println!("\nratio of the medians: {ratio:.4}; {scrapes} scrapes");
}

/// How long a run takes by its report, and how often it was scraped.
fn time(file: &str, is_scraped: bool, messages: usize) -> (f64, usize) {
    let mut command = flowpipe(&["run", file, "--json"]);
    if is_scraped {
        command.args(["--metrics", "127.0.0.1:0"]);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut scrapes = 0;
    if is_scraped {
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("metrics at http://").unwrap();
        let address = url.strip_suffix("/metrics").unwrap();
        while scrape(address) {
            scrapes += 1;
            std::thread::sleep(INTERVAL);
        }
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["report"]["stages"][1]["in"], messages);
    (all["report"]["seconds"].as_f64().unwrap(), scrapes)
}

/// Returns whether the run answered: it does so until its end.
fn scrape(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return false;
    };
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut page = String::new();
    let is_read = stream
        .write_all(request)
        .and_then(|()| stream.read_to_string(&mut page));
    is_read.is_ok() && page.contains("flowpipe_stage_messages_received_total")
}
