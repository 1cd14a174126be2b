//! Shared by the tests and benches: compiling fixtures, building pipelines, observing runs.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

pub mod reloading;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::{
    Contestant, Edge, OnError, OnStop, Pipeline, PortRef, Queue, Stage, WhenFull,
};
use flowpipe_engine::report::Report;
use flowpipe_engine::run::{Observer, Options, Run, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

/// Compiles a fixture to a dynamic library. The name is the file's, without prefix and ending.
pub fn compile(source: &str, folder: &Path, name: &str, defines: &[&str]) -> PathBuf {
    compile_against("include", source, folder, name, defines)
}

/// Compiles a fixture with the header in this folder of `core/abi`.
pub fn compile_against(
    header: &str,
    source: &str,
    folder: &Path,
    name: &str,
    defines: &[&str],
) -> PathBuf {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let flags = std::env::var("CFLAGS").unwrap_or_default();
    // The tests of other crates use these fixtures too.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine");
    let file = format!(
        "{}{name}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let library = folder.join(file);
    let output = Command::new(&compiler)
        .args([
            "-shared",
            "-fPIC",
            "-O2",
            "-std=c11",
            "-D_POSIX_C_SOURCE=200809L",
        ])
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(flags.split_whitespace())
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-I")
        .arg(root.join("../abi").join(header))
        .arg(root.join("tests/fixtures").join(source))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap_or_else(|error| {
            panic!("the runtime's tests need a C compiler: `{compiler}` does not run ({error})")
        });
    assert!(
        output.status.success(),
        "{compiler}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}

/// The catalogue with the well-behaved fixtures.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        scan(folder.path())
    })
}

/// The same, compiled into a folder where other processes find it too.
pub fn lasting_catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        // A library that some process has loaded must not be written to: a test that runs alone in its process has a
        // folder of its own.
        let mut arguments = std::env::args().skip(1);
        let first = arguments.next().unwrap_or_default();
        let name = match arguments.any(|argument| argument == "--ignored") {
            true => format!("{}-{}", env!("CARGO_CRATE_NAME"), first.replace("::", "-")),
            false => env!("CARGO_CRATE_NAME").to_owned(),
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("target is writable");
        scan(&folder)
    })
}

fn scan(folder: &Path) -> Catalogue {
    compile("stages.c", folder, "stages", &[]);
    let catalogue = Catalogue::scan(&[folder.to_owned()], &Scanner::InProcess);
    assert_eq!(catalogue.refused(), []);
    catalogue
}

/// Builds pipelines in a line or two.
pub struct Builder(pub Pipeline);

impl Builder {
    pub fn new() -> Self {
        Self(Pipeline {
            record: None,
            name: "test".into(),
            stages: Vec::new(),
            edges: Vec::new(),
            on_stop: OnStop::Drain,
            machines: flowpipe_config::pipeline::Machines::default(),
        })
    }

    /// Adds a stage; returns its index.
    pub fn stage(&mut self, plugin: &str, config: Value) -> usize {
        self.race(&[(plugin, config)])
    }

    /// Adds a stage with several plugins.
    pub fn race(&mut self, plugins: &[(&str, Value)]) -> usize {
        let contestant = |(plugin, config): &(&str, Value)| Contestant {
            plugin: (*plugin).to_owned(),
            config: config.clone(),
            revision: 0,
        };
        let index = self.0.stages.len();
        self.0.stages.push(Stage {
            name: format!("{}-{index}", plugins[0].0),
            contestants: plugins.iter().map(contestant).collect(),
            timeout: None,
            on_error: OnError::Stop,
            watchdog: Duration::from_secs(30),
            isolation: flowpipe_config::pipeline::Isolation::Thread,
            restart: None,
            fresh: false,
            workers: 1,
            ordered: true,
        });
        index
    }

    pub fn edge(&mut self, from: (usize, usize), to: (usize, usize), queue: Queue) {
        let port = |(stage, port)| PortRef { stage, port };
        self.0.edges.push(Edge {
            from: port(from),
            to: port(to),
            queue,
        });
    }

    /// Joins the first output of a stage to the first input of another.
    pub fn join(&mut self, from: usize, to: usize) {
        self.edge((from, 0), (to, 0), Queue::default());
    }

    /// source (so many messages) -> the plugin -> sink.
    pub fn line(count: u64, plugin: &str, config: Value) -> Self {
        let mut line = Self::new();
        line.stage("source", json!({ "count": count }));
        line.stage(plugin, config);
        line.stage("pass", json!({}));
        line.join(0, 1);
        line.join(1, 2);
        line
    }

    pub fn start(self, observer: &Arc<Watcher>) -> RunHandle {
        self.start_with(Options {
            observers: vec![observer.clone()],
            ..Options::default()
        })
    }

    pub fn start_with(self, options: Options) -> RunHandle {
        Run::start(self.0, catalogue(), options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs to the end.
    pub fn run(self) -> (Report, Arc<Watcher>) {
        let watcher = Arc::new(Watcher::default());
        let report = finish(self.start(&watcher));
        (report, watcher)
    }
}

/// Ten messages through the fixture `act`, which misbehaves as configured.
pub fn ten(on_error: OnError, config: Value) -> Builder {
    let mut line = Builder::line(10, "act", config);
    line.0.stages[1].on_error = on_error;
    line
}

pub fn queue(capacity: usize, when_full: WhenFull) -> Queue {
    Queue {
        capacity,
        when_full,
    }
}

/// Waits for the end of a run that must end by itself. The limit is so long that only a deadlock exceeds it.
pub fn finish(run: RunHandle) -> Report {
    let start = Instant::now();
    while !run.is_over() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "stuck: {:#?}",
            run.progress()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    run.wait()
}

/// Checks the invariants of every finished run.
pub fn adds_up(report: &Report) {
    for edge in &report.edges {
        assert_eq!(
            edge.sent,
            edge.delivered + edge.dropped + edge.discarded,
            "{edge:?}"
        );
        assert!(edge.longest <= edge.capacity as u64, "{edge:?}");
    }
    for stage in &report.stages {
        let delivered: u64 = report
            .edges
            .iter()
            .filter(|edge| edge.to.split_once('.').unwrap().0 == stage.name)
            .map(|edge| edge.delivered)
            .sum();
        assert_eq!(stage.received, delivered, "{}", stage.name);
        assert_eq!(stage.frames_left, 0, "{}", stage.name);
    }
}

/// Waits until a condition holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{what} never happened"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Records what happens in a run. It keeps no frames alive.
#[derive(Default)]
pub struct Watcher {
    messages: Mutex<Vec<Seen>>,
    problems: Mutex<Vec<Problem>>,
    marks: Mutex<Vec<(usize, String, Option<u64>)>>,
    /// How many messages there were at each end of the run.
    ends: Mutex<Vec<usize>>,
    /// Records nothing but measurements, so that it adds no cost.
    only_last: bool,
}

/// A message that was emitted.
#[derive(Clone, Debug)]
pub struct Seen {
    pub stage: usize,
    pub port: usize,
    pub sequence: u64,
    pub json: Value,
    pub frame_sequence: u64,
    /// The time from the capture of its frame to its emission.
    pub age_ns: Option<i64>,
    pub hops: Vec<u32>,
    /// The address of its pixels, and the first one.
    pub pixels: Option<(usize, u8)>,
}

impl Observer for Watcher {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let lineage = message.lineage();
        if self.only_last && !message.json().contains("latency_ns") {
            return;
        }
        self.messages.lock().unwrap().push(Seen {
            stage,
            port,
            sequence: lineage.sequence,
            json: message.value().clone(),
            frame_sequence: lineage.origin.map_or(0, |origin| origin.sequence),
            age_ns: lineage
                .origin
                .map(|origin| message.emitted_ns().saturating_sub(origin.captured_ns)),
            hops: lineage.hops.iter().map(|hop| hop.stage).collect(),
            pixels: message
                .frame()
                .map(|frame| (frame.bytes().as_ptr() as usize, frame.bytes()[0])),
        });
    }

    fn mark(&self, stage: usize, name: &str, message: Option<&Message>, _now_ns: i64) {
        let sequence = message.map(|message| message.lineage().sequence);
        let mark = (stage, name.to_owned(), sequence);
        self.marks.lock().unwrap().push(mark);
    }

    fn problem(&self, problem: &Problem, _: i64) {
        self.problems.lock().unwrap().push(problem.clone());
    }

    fn ended(&self) {
        let messages = self.messages.lock().unwrap().len();
        self.ends.lock().unwrap().push(messages);
    }
}

impl Watcher {
    /// A watcher that records only the messages of the fixture `meter`.
    pub fn only_last() -> Self {
        Self {
            only_last: true,
            ..Self::default()
        }
    }

    /// The messages that a stage emitted.
    pub fn from(&self, stage: usize) -> Vec<Seen> {
        self.messages
            .lock()
            .unwrap()
            .iter()
            .filter(|seen| seen.stage == stage)
            .cloned()
            .collect()
    }

    /// Of each mark: the stage, the name, and the sequence number of the message.
    pub fn marks(&self) -> Vec<(usize, String, Option<u64>)> {
        self.marks.lock().unwrap().clone()
    }

    /// Of each end of the run that was reported: how many messages there were.
    pub fn ends(&self) -> Vec<usize> {
        self.ends.lock().unwrap().clone()
    }

    pub fn problems(&self) -> Vec<Problem> {
        self.problems.lock().unwrap().clone()
    }

    pub fn kinds(&self) -> Vec<ProblemKind> {
        self.problems()
            .into_iter()
            .map(|problem| problem.kind)
            .collect()
    }

    /// The only problem.
    pub fn problem(&self) -> Problem {
        let problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems[0].clone()
    }
}

/// What was sent was delivered or dropped.
pub fn edges_add_up(report: &Report) {
    for edge in &report.edges {
        let all = edge.delivered + edge.dropped + edge.discarded;
        assert_eq!(edge.sent, all, "{edge:?}");
    }
}

/// A message without times: its number, JSON, frame, hops and first pixel.
pub type Untimed = (u64, String, u64, Vec<u32>, Option<u8>);

/// What a watcher saw of a stage, without times.
pub fn seen(watcher: &Watcher, stage: usize) -> Vec<Untimed> {
    let from = watcher.from(stage).into_iter();
    let seen = from.map(|it| {
        let pixel = it.pixels.map(|(_, pixel)| pixel);
        (
            it.sequence,
            it.json.to_string(),
            it.frame_sequence,
            it.hops,
            pixel,
        )
    });
    seen.collect()
}
