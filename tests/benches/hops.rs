//! Small messages from one machine through another one to a third: how many pass in a second, and what each costs.
//!
//! `cargo bench -p flowpipe-tests --bench hops`; the program and its plugins must be built for release (`./x bench`
//! does both). The same three stages run in one program, in three over `tcp/`, and in three over `tls/`, in turn.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that can't go on should panic"
)]

use std::path::Path;
use std::process::Stdio;

use flowpipe_tests::machines::free_address;
use flowpipe_tests::{flowpipe, pipeline, run};

/// How often each is run.
const TURNS: usize = 5;
/// The messages of a run, unless an argument says otherwise.
const MESSAGES: usize = 200_000;

/// Stages of one pipeline, on one machine or on three.
struct Line {
    name: &'static str,
    file: String,
    machines: &'static [&'static str],
}

/// One run of a line.
#[derive(Clone, Copy)]
struct Figures {
    messages_per_second: f64,
    /// Processor time of all its programs, for each message.
    microseconds: f64,
}

fn main() {
    let wanted = std::env::args().skip(1);
    let messages = wanted.filter_map(|argument| argument.parse().ok()).next();
    let messages: usize = messages.unwrap_or(MESSAGES);
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..messages)
        .map(|number| format!("{{\"number\":{number}}}\n"))
        .collect();
    let numbers = folder.path().join("numbers.jsonl");
    std::fs::write(&numbers, &lines).unwrap();
    let line = |name, transport| Line::new(folder.path(), &numbers, name, transport);
    let all = [
        line("one program", None),
        line("three, over `tcp/`", Some("tcp")),
        line("three, over `tls/`", Some("tls")),
    ];
    let mut figures = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (line, figures) in all.iter().zip(&mut figures) {
            let written = folder.path().join("written.jsonl");
            figures.push(line.time(messages));
            assert_eq!(std::fs::read_to_string(&written).unwrap(), lines);
            std::fs::remove_file(&written).unwrap();
        }
    }
    println!(
        "\n## {messages} messages through three stages: median of {TURNS} (slowest to fastest)\n"
    );
    println!("| | messages a second | times one program | processor time for each |");
    println!("|---|--:|--:|--:|");
    let mut one_program = None;
    for (line, mut figures) in all.iter().zip(figures) {
        figures.sort_by(|a, b| a.messages_per_second.total_cmp(&b.messages_per_second));
        let [slowest, median, fastest] = [0, TURNS / 2, TURNS - 1].map(|index| figures[index]);
        let one_program = *one_program.get_or_insert(median.messages_per_second);
        println!(
            "| {} | {:.0} ({:.0} to {:.0}) | {:.2} | {:.1} µs |",
            line.name,
            median.messages_per_second,
            slowest.messages_per_second,
            fastest.messages_per_second,
            median.messages_per_second / one_program,
            median.microseconds,
        );
    }
}

impl Line {
    /// `transport`: what connects its machines, if there are several.
    fn new(folder: &Path, numbers: &Path, name: &'static str, transport: Option<&str>) -> Self {
        let folder = folder.join(transport.unwrap_or("one"));
        std::fs::create_dir(&folder).unwrap();
        let machine = |name: &str| match transport {
            Some(_) => format!("machine = \"{name}\"\n"),
            None => String::new(),
        };
        let written = numbers.with_file_name("written.jsonl");
        let mut text = format!(
            "[stages.numbers]\nplugin = \"source-jsonl\"\n{}\
             config = {{ path = {numbers:?}, schema = \"x.number/1\" }}\n\
             [stages.pass]\nplugin = \"filter\"\nfrom = \"numbers\"\nqueue = {{ capacity = 1024 }}\n{}\
             config = {{ jq = \".number >= 0\" }}\n\
             [stages.write]\nplugin = \"sink-jsonl\"\nfrom = \"pass\"\nqueue = {{ capacity = 1024 }}\n{}\
             config = {{ path = {written:?} }}\n",
            machine("desk"),
            machine("rack"),
            machine("shelf"),
        );
        if let Some(transport) = transport {
            let address = free_address();
            text += &format!(
                "[machines.desk]\n[machines.shelf]\n[machines.rack]\nlisten = \"{transport}/{address}\"\n"
            );
        }
        let file = pipeline(&folder, &text);
        if transport == Some("tls") {
            run(&["machine", "init", &file]).expect(0);
        }
        let machines: &[_] = match transport {
            Some(_) => &["desk", "rack", "shelf"],
            None => &[],
        };
        Self {
            name,
            file,
            machines,
        }
    }

    fn time(&self, messages: usize) -> Figures {
        let before = processor_seconds();
        let start = |machine: &[&str]| {
            let args = [&["run", &self.file, "--json"], machine].concat();
            let mut command = flowpipe(&args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let programs = match self.machines {
            [] => vec![start(&[])],
            names => names.iter().map(|it| start(&["--machine", it])).collect(),
        };
        let mut seconds: f64 = 0.0;
        for program in programs {
            let output = program.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            seconds = seconds.max(all["report"]["seconds"].as_f64().unwrap());
        }
        Figures {
            messages_per_second: messages as f64 / seconds,
            microseconds: (processor_seconds() - before) * 1e6 / messages as f64,
        }
    }
}

/// The processor time of all programs that have ended, in seconds.
fn processor_seconds() -> f64 {
    // SAFETY: zeros are valid, and the call writes nothing else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
