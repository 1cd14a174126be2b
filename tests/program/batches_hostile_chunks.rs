//! Coordinators of batches that send a worker more than it can do.

use std::net::SocketAddr;
use std::time::Duration;

use flowpipe_link::link::Link;
use flowpipe_link::tcp::TcpDialer;
use flowpipe_tests::bounds::most_memory;
use serde_json::{Value, json};

use crate::batches::{Rack, machines};
use crate::batches_hostile::{address_of, wire};
use crate::screen::wait_for;

/// The most bytes of a chunk's items, and some fewer.
const CHUNK: usize = (16 << 20) - 64;
/// The most items of a chunk that an honest coordinator sends.
const MOST_ITEMS: usize = 4096;

/// A link to a worker that has accepted a job with the number 1.
fn working(address: SocketAddr, task: &Value) -> Link {
    let dialer = TcpDialer::new(address, "desk").unwrap();
    let link = wire::link(Box::new(dialer), true);
    let ask = |facts: &Value| -> Value {
        let job = json!({ "machine": "desk", "number": 1, "facts": facts, "job": task });
        wire::send_control(&link, &json!({ "Job": job }));
        wait_for("an answer to the job", || {
            let (_, body) = wire::receive(&link, Duration::from_millis(100))?;
            Some(serde_json::from_slice(&body).unwrap())
        })
    };
    // Its first answer is what it runs.
    let refused = ask(&json!({}));
    let answer = ask(&refused["Refused"]["facts"]);
    assert!(answer.get("Accepted").is_some(), "{refused} {answer}");
    link
}

/// Sends a chunk of the job.
fn send(link: &Link, first: u64, items: &[u8]) {
    let body = [&1_u64.to_le_bytes(), &first.to_le_bytes(), items].concat();
    wire::send(link, wire::CHUNKS, &body);
}

#[test]
fn a_chunk_of_many_small_puzzles_takes_little_memory() {
    /// What the program, the chunk and its answer may take, in bytes.
    const MEMORY: u64 = 400 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = machines(folder.path(), "tcp", 1);
    let rack = Rack::start(&file, 0, &["--memory", "200"]);
    let solver = json!({ "name": "solver-search", "config": null });
    let solve = json!({ "solver": solver, "planner": null, "timeout": null, "is_measured": false });
    let link = working(address_of(&file, 0), &json!({ "Solve": solve }));
    let small = b"AA\n".repeat(CHUNK / 3);
    for (first, items) in [(0, vec![b'\n'; CHUNK]), (1 << 32, small)] {
        send(&link, first, &items);
        let answer = wait_for("an answer to the chunk", || {
            wire::receive(&link, Duration::from_millis(100))
        });
        let (channel, body) = answer;
        assert_eq!(channel, wire::CHUNKS);
        assert_eq!(body[8..16], first.to_le_bytes());
        // The kind of the answer: results.
        assert_eq!(body[16], 0, "{}", String::from_utf8_lossy(&body[25..]));
        let results = body[25..].split(|byte| *byte == b'\n').count();
        assert!((1..=MOST_ITEMS).contains(&results), "{results}");
        let peak = most_memory(&rack.0);
        assert!(peak > 0 && peak < MEMORY, "{} MiB", peak >> 20);
    }
}
