//! `flowpipe run --metrics`: runs that are scraped while they go on.

mod clients;
mod page;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, pipeline, ready, run};
use serde_json::Value;

use self::page::{Labels, Page};
use crate::pty::PATIENCE;

/// A run whose metrics can be read.
struct Scraped {
    child: Child,
    address: SocketAddr,
    /// What follows the address on standard error.
    stderr: Option<JoinHandle<String>>,
}

impl Scraped {
    /// Starts it at a free port of this computer.
    fn start(args: &[&str]) -> Self {
        Self::start_command(flowpipe(args))
    }

    fn start_command(mut command: Command) -> Self {
        let mut child = command
            .args(["--metrics", "127.0.0.1:0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{seen}");
            seen.push_str(&line);
            let url = line.trim_end().strip_prefix("metrics at http://");
            if let Some(url) = url {
                break url.strip_suffix("/metrics").unwrap().parse().unwrap();
            }
        };
        let rest = std::thread::spawn(move || {
            stderr.read_to_string(&mut seen).unwrap();
            seen
        });
        Self {
            child,
            address,
            stderr: Some(rest),
        }
    }

    fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    fn scrape(&self) -> Page {
        let (head, body) = self.request("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let kind = "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
        assert!(head.contains(kind), "{head}");
        Page::parse(&body)
    }

    fn request(&self, request: &str) -> (String, String) {
        let response = exchange(self.address, request.as_bytes()).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| {
            panic!("no head in {response:?}");
        });
        (head.to_owned(), body.to_owned())
    }

    /// The page of a moment at which something holds.
    #[track_caller]
    fn wait_until(&self, what: &str, holds: impl Fn(&Page) -> bool) -> Page {
        let began = Instant::now();
        loop {
            let page = self.scrape();
            if holds(&page) {
                return page;
            }
            assert!(began.elapsed() < PATIENCE, "no {what} in {page:#?}");
            // Until the next page.
            sleep(Duration::from_millis(110));
        }
    }

    fn interrupt(&self) {
        send_signal("INT", self.child.id());
    }

    /// Waits for its end.
    fn end(mut self) -> Ran {
        drop(self.child.stdin.take());
        let mut stdout = String::new();
        let mut from = self.child.stdout.take().unwrap();
        from.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        let refused = TcpStream::connect(self.address);
        assert!(refused.is_err(), "nobody listens after the end");
        Ran {
            code,
            stdout,
            stderr,
        }
    }
}

impl Drop for Scraped {
    fn drop(&mut self) {
        // Over already, where the test has come to its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads the response to its end.
fn exchange(address: SocketAddr, request: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

/// The lines of standard input, to a stage in a process of its own.
fn lines(folder: &Path) -> String {
    let text = "name = \"li\\\"nes\"\n\
         [stages.in]\nplugin = \"source-jsonl\"\non_error = \"skip\"\n\
         config = { stdin = true, schema = \"x.a/1\" }\n\
         [stages.out]\nplugin = \"sink-jsonl\"\nfrom = \"in\"\nisolation = \"process\"\n\
         config = { path = \"out.jsonl\" }\n";
    pipeline(folder, text)
}

#[test]
fn what_is_scraped_is_what_is_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = lines(folder.path());
    let mut run = Scraped::start(&["run", &file, "--json"]);
    let first = run.scrape();
    let mut stdin = run.stdin();
    let mut before = first;
    for _ in 0..3 {
        for number in 0..40 {
            writeln!(stdin, "{{\"a\":{number}}}").unwrap();
        }
        writeln!(stdin, "malformed").unwrap();
        sleep(Duration::from_millis(120));
        let page = run.scrape();
        page.check_after(&before);
        before = page;
    }
    let received = "flowpipe_stage_messages_received_total";
    let durations = "flowpipe_stage_call_duration_seconds_count";
    let page = run.wait_until("last message", |page| {
        page.get(durations, &[("stage", "out")]) == 120.0
            && page.get("flowpipe_stage_failures_total", &[("stage", "in")]) == 3.0
    });
    page.check_after(&before);
    assert_eq!(page.get(received, &[("stage", "out")]), 120.0);
    #[cfg(target_os = "linux")]
    {
        let own = page.get("process_resident_memory_bytes", &[]);
        let memory = "flowpipe_stage_resident_memory_bytes";
        let isolated = page.get(memory, &[("stage", "out")]);
        assert!(own > 1e6 && isolated > 1e5, "{own} {isolated}");
        assert_eq!(page.of(memory).count(), 1, "of isolated stages alone");
    }
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(page.get("flowpipe_build_info", &version), 1.0);
    let pipeline = [("pipeline", "li\"nes"), ("dry", "false")];
    assert_eq!(page.get("flowpipe_run_info", &pipeline), 1.0);
    drop(stdin);
    let report = run.end().expect(0).json()["report"].clone();
    check_report(&page, &report);
}

/// Compares what was scraped when nothing more happened with the report. A source is called until it ends, also while it
/// has nothing to emit.
fn check_report(page: &Page, report: &Value) {
    for stage in report["stages"].as_array().unwrap() {
        let labels = [("stage", stage["name"].as_str().unwrap())];
        let is_source = labels[0].1 == "in";
        for (family, count) in [
            ("messages_received_total", &stage["in"]),
            ("messages_emitted_total", &stage["out"]),
            ("failures_total", &stage["failed"]),
            ("timeouts_total", &stage["timed_out"]),
            ("restarts_total", &stage["restarted"]),
            ("abandoned_total", &stage["given_up"]),
            ("workers", &stage["workers"]),
            ("call_duration_seconds_count", &stage["time"]["count"]),
        ] {
            let name = format!("flowpipe_stage_{family}");
            let key = (
                name,
                labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            );
            let (scraped, count) = (page.samples[&key], count.as_f64().unwrap());
            match family {
                "call_duration_seconds_count" if is_source => {
                    assert!(scraped <= count, "{key:?}: {scraped} {count}");
                }
                _ => assert_eq!(scraped, count, "{key:?}"),
            }
        }
        let sum = page.get("flowpipe_stage_call_duration_seconds_sum", &labels);
        let total = stage["time"]["total_ns"].as_f64().unwrap() / 1e9;
        let is_equal = (sum - total).abs() < 1e-8;
        assert!(is_equal || is_source && sum < total, "{sum} {total}");
    }
    for edge in report["edges"].as_array().unwrap() {
        let ends = ["from", "to"].map(|end| (end, edge[end].as_str().unwrap()));
        let dropped = |reason| {
            let labels = [ends[0], ends[1], ("reason", reason)];
            page.get("flowpipe_edge_messages_dropped_total", &labels)
        };
        let is = |number: f64, key: &str| assert_eq!(Some(number), edge[key].as_f64(), "{key}");
        is(dropped("queue_full"), "dropped");
        is(page.get("flowpipe_edge_messages_sent_total", &ends), "sent");
        is(
            page.get("flowpipe_edge_queue_capacity_messages", &ends),
            "capacity",
        );
    }
    let problems = report["problem_counts"].as_object().unwrap();
    for (kind, count) in problems {
        let scraped = page.get("flowpipe_problems_total", &[("kind", kind)]);
        assert_eq!(Some(scraped), count.as_f64(), "{kind}");
    }
    assert_eq!(page.of("flowpipe_problems_total").count(), problems.len());
}

#[test]
fn drops_and_marks_are_counted_of_a_run_that_never_waits() {
    let folder = tempfile::tempdir().unwrap();
    let text = ready()
        .replace("fps = 20", "fps = 200, repeat = true")
        .replace(
            "from = \"frames\"",
            "from = \"frames\"\nqueue = { capacity = 1, when_full = \"drop-oldest\" }",
        );
    let file = pipeline(folder.path(), &text);
    let run = Scraped::start(&["run", &file, "-q"]);
    let ends = [("from", "frames.out"), ("to", "vision.in")];
    let dropped = "flowpipe_edge_messages_dropped_total";
    let full = [ends[0], ends[1], ("reason", "queue_full")];
    let mark = "flowpipe_mark_latency_seconds_count";
    let page = run.wait_until("drop and mark", |page| {
        page.get(dropped, &full) > 0.0 && page.of(mark).any(|(_, count)| *count > 0.0)
    });
    assert_eq!(
        page.get("flowpipe_edge_queue_capacity_messages", &ends),
        1.0
    );
    // All the time it is scraped as fast as possible.
    let began = Instant::now();
    let mut before = page;
    while began.elapsed() < Duration::from_secs(1) {
        let page = run.scrape();
        page.check_after(&before);
        before = page;
    }
    run.interrupt();
    run.end().expect(130);
}

#[test]
fn addresses_that_others_reach_need_a_permit() {
    let ran = |address: &str, more: &[&str]| {
        let args = ["run", "pipelines/replay.toml", "-q", "--metrics", address];
        run(&[&args, more].concat())
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9464"] {
        let refused = ran(address, &[]).expect(2);
        let expected = "permit it with --metrics-allow-remote";
        assert!(refused.stderr.contains(expected), "{refused:#?}");
        assert_eq!(refused.stdout, "", "nothing has run");
    }
    for address in ["localhost:9464", "9464", "127.0.0.1", "127.0.0.1:99999"] {
        let refused = ran(address, &[]).expect(2);
        let expected = "expected an IP address with a port";
        assert!(refused.stderr.contains(expected), "{refused:#?}");
    }
    let allowed = ran("0.0.0.0:0", &["--metrics-allow-remote"]).expect(0);
    let expected = "metrics at http://0.0.0.0:";
    assert!(allowed.stderr.contains(expected), "{allowed:#?}");
    run(&["run", "pipelines/replay.toml", "--metrics-allow-remote"]).expect(2);
    // An address of no interface of this computer.
    let missing = ran("192.0.2.1:0", &["--metrics-allow-remote"]).expect(1);
    assert!(missing.stderr.contains("can't listen: "), "{missing:#?}");
}

#[test]
fn an_address_in_use_is_an_error_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let recording = folder.path().join("a.mcap").display().to_string();
    let args = [
        "run",
        "pipelines/replay.toml",
        "--record",
        &recording,
        "--metrics",
        &address,
    ];
    let ran = run(&args).expect(1);
    let expected = format!("--metrics {address}: can't listen: ");
    assert!(ran.stderr.contains(&expected), "{ran:#?}");
    assert!(ran.stderr.contains("port 0 chooses a free one"), "{ran:#?}");
    assert_eq!(ran.stdout, "");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_service_is_scraped_too() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let text = ready().replace("fps = 20", "fps = 20, repeat = true");
    let mut command = flowpipe(&["run", &pipeline(folder.path(), &text), "--supervised", "-q"]);
    command.env("NOTIFY_SOCKET", &socket);
    let run = Scraped::start_command(command);
    let mut bytes = [0; 1024];
    manager.recv(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"READY=1\n"));
    let received = "flowpipe_stage_messages_received_total";
    run.wait_until("message", |page| {
        page.get(received, &[("stage", "vision")]) > 0.0
    });
    run.interrupt();
    run.end().expect(130);
}

#[test]
fn counters_of_stages_that_are_removed_and_added_again_do_not_fall() {
    let folder = tempfile::tempdir().unwrap();
    let text = ready().replace("fps = 20", "fps = 50, repeat = true");
    let file = pipeline(folder.path(), &text);
    let run = Scraped::start(&["run", &file, "-q"]);
    let received = "flowpipe_stage_messages_received_total";
    let labels = [("stage", "actuator")];
    let mut before = run.wait_until("stroke", |page| page.get(received, &labels) > 0.0);
    let (without, _) = text.split_once("[stages.actuator]").unwrap();
    for text in [without, &text, without, &text] {
        crate::going::replace(Path::new(&file), text);
        send_signal("HUP", run.child.id());
        for _ in 0..10 {
            sleep(Duration::from_millis(110));
            let page = run.scrape();
            page.check_after(&before);
            before = page;
        }
    }
    let then = before.get(received, &labels);
    run.wait_until("later stroke", |page| page.get(received, &labels) > then);
    run.interrupt();
    run.end().expect(130);
}

#[test]
fn the_stages_of_all_machines_are_scraped_on_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = crate::machines::on_three(folder.path());
    let file = crate::machines::without_end(folder.path(), &file);
    // Each prints its address once all are there.
    let machines = ["first", "middle", "last"];
    let start = |machine: &'static str| {
        let file = file.clone();
        std::thread::spawn(move || Scraped::start(&["run", &file, "--machine", machine, "-q"]))
    };
    let runs = machines.map(start).map(|run| run.join().unwrap());
    let of = [
        ("frames", "first"),
        ("vision", "middle"),
        ("solver", "last"),
        ("planner", "middle"),
        ("actuator", "first"),
    ];
    let received = "flowpipe_stage_messages_received_total";
    let emitted = "flowpipe_stage_messages_emitted_total";
    let durations = "flowpipe_stage_call_duration_seconds_count";
    for run in &runs {
        let page = run.wait_until("counts of every stage, machine and link", |page| {
            let has_stage = |&(stage, machine): &(&str, &str)| {
                let labels = [("stage", stage), ("machine", machine)];
                let messages = page.get(received, &labels) + page.get(emitted, &labels);
                messages > 0.0 && page.get(durations, &labels) > 0.0
            };
            let has_link = |machine: &str, peer: &str| {
                let labels = [("machine", machine), ("peer", peer)];
                page.get("flowpipe_link_sent_bytes_total", &labels) > 0.0
                    && page.get("flowpipe_link_received_bytes_total", &labels) > 0.0
                    && page.get("flowpipe_link_connected", &labels) == 1.0
            };
            let is_up = |it: &&str| page.get("flowpipe_machine_up", &[("machine", it)]) == 1.0;
            of.iter().all(has_stage)
                && machines.iter().all(is_up)
                && has_link("first", "middle")
                && has_link("middle", "first")
                && has_link("last", "middle")
        });
        assert_eq!(
            page.of(received).count(),
            of.len(),
            "each stage once: {page:#?}"
        );
        let memory: Vec<_> = page.of("process_resident_memory_bytes").collect();
        assert_eq!(memory.len(), if cfg!(target_os = "linux") { 3 } else { 0 });
        // What a machine has sent over an edge is counted once; what waits, at both ends.
        let sent = "flowpipe_edge_messages_sent_total";
        for ((_, labels), _) in page.of(sent) {
            let machine = of
                .iter()
                .find(|(stage, _)| labels["from"].starts_with(stage));
            assert_eq!(labels["machine"], machine.unwrap().1, "{labels:?}");
        }
        let mut before = page;
        for _ in 0..10 {
            sleep(Duration::from_millis(110));
            let page = run.scrape();
            page.check_after(&before);
            before = page;
        }
    }
    // One that is silent keeps its counters, and what may fall is left out.
    let [first, middle, last] = runs;
    let before = first.scrape();
    send_signal("STOP", last.child.id());
    let silent = first.wait_until("silent machine", |page| {
        page.get("flowpipe_machine_up", &[("machine", "last")]) == 0.0
    });
    silent.check_after(&before);
    let of_last = |(_, labels): &(String, Labels)| labels["machine"] == "last";
    for gauge in ["flowpipe_edge_queue_messages", "flowpipe_stage_workers"] {
        let has_last = |page: &Page| page.of(gauge).any(|it| of_last(it.0));
        assert!(has_last(&before), "{gauge} {before:#?}");
        assert!(!has_last(&silent), "{gauge} {silent:#?}");
    }
    send_signal("KILL", last.child.id());
    drop((first, middle, last));
}

/// The tests of a program that can are those of `core/cli/tests/otlp`.
#[test]
fn a_program_without_opentelemetry_says_how_to_build_one_that_has_it() {
    let to = ["--otlp", "http://127.0.0.1:4318"];
    let args = [&["run", "pipelines/replay.toml", "-q"], &to[..]].concat();
    let refused = run(&args).expect(2);
    let expected = "cargo build --release --locked --workspace --features flowpipe/otlp";
    assert!(refused.stderr.contains(expected), "{refused:#?}");
    assert_eq!(refused.stdout, "", "nothing has run");
}
