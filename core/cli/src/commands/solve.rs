//! `flowpipe solve FILE|-`: solves puzzles given as text, with a solver plugin.
//!
//! It runs a pipeline of two stages, `capture-puzzles` and the solver, so that the solver is loaded,
//! timed, cancelled and checked as in any other.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use crossbeam_channel::Sender;
use flowpipe_puzzle::message::{SOLVED, Solved, Verdict};
use flowpipe_puzzle::text::{self, Entry};
use flowpipe_runtime::config;
use flowpipe_runtime::message::Message;
use flowpipe_runtime::pipeline::Pipeline;
use flowpipe_runtime::plugin::catalogue::Catalogue;
use flowpipe_runtime::problem::{Problem, ProblemKind};
use flowpipe_runtime::run::{Observer, Options, Run};
use serde_json::{Value, json};

use crate::args::{Global, Solve};
use crate::commands::run::start_failure;
use crate::exit::{Ended, Failure};
use crate::follow::follow;
use crate::show::answer::{Answer, Status};
use crate::show::colour;
use crate::{checks, pipeline_file, plugins};

pub fn run(global: &Global, args: &Solve) -> Result<Ended, Failure> {
    let text = read(&args.file)?;
    let entries = text::read(&text);
    if entries.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: there are no puzzles in it",
            args.file
        )));
    }
    let catalogue = plugins::load(global);
    let mut pipeline = match pipeline(args, &catalogue) {
        Ok(pipeline) => pipeline,
        Err(errors) => {
            pipeline_file::show(errors, global);
            return Ok(Ended::BadConfig);
        }
    };
    // Canonical JSON, a puzzle a line: whatever could be read here can be read there.
    let good: Vec<usize> = (0..entries.len())
        .filter(|&at| entries[at].puzzle.is_ok())
        .collect();
    let lines: Vec<String> = good
        .iter()
        .filter_map(|&at| entries[at].puzzle.as_ref().ok())
        .map(|(puzzle, _)| serde_json::to_string(puzzle).unwrap_or_default())
        .collect();
    if let Some(source) = pipeline
        .stages
        .first_mut()
        .and_then(|it| it.contestants.first_mut())
    {
        source.config = json!({ "text": lines.join("\n") });
    }

    let (sender, answers) = crossbeam_channel::unbounded();
    let options = Options {
        validators: checks::validators(),
        observer: Some(Arc::new(Listen(sender))),
        ..Options::default()
    };
    let handle = Run::start(pipeline, &catalogue, options).map_err(start_failure)?;
    let mut out = Printer {
        global,
        args,
        entries: &entries,
        next: 0,
        worst: Ended::Done,
    };
    let printed = follow(&handle, &answers, |told| out.told(told, &good)).and_then(|()| out.rest());
    if printed.is_err() {
        handle.abort();
    }
    let report = handle.wait();
    catalogue.close();
    printed?;
    match report.failure {
        Some(failure) => Err(Failure::Run(failure.to_string())),
        None => Ok(out.worst),
    }
}

fn read(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    read.map_err(|error| Failure::File {
        path: file.to_owned(),
        error,
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Failure::BadText(format!("{file}: line {line}: this is not UTF-8 text"))
    })
}

/// The pipeline as a file would say it, so that the solver's name and config get the same checks.
fn pipeline(args: &Solve, catalogue: &Catalogue) -> Result<Pipeline, Vec<config::ConfigError>> {
    let mut text =
        String::from("[stages.puzzles]\nplugin = \"capture-puzzles\"\n[stages.solver]\n");
    text += &format!("plugin = {}\n", toml::Value::from(args.solver.as_str()));
    text += "from = \"puzzles\"\non_error = \"skip\"\n";
    if let Some(timeout) = &args.timeout {
        text += &format!("timeout = {}\n", toml::Value::from(timeout.as_str()));
    }
    if let Some(config) = &args.config {
        text += &format!("config = {config}\n");
    }
    config::read("command line", &text, catalogue)
}

/// What the run tells of one puzzle.
enum Told {
    Answer(Arc<Message>),
    Problem(Problem),
}

struct Listen(Sender<Told>);

impl Observer for Listen {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        if message.schema() == SOLVED {
            let _ = self.0.send(Told::Answer(Arc::clone(message)));
        }
    }

    fn problem(&self, problem: &Problem) {
        let _ = self.0.send(Told::Problem(problem.clone()));
    }
}

/// `capture-puzzles` names each sighting by the line of the text that it was given.
fn place(solved: &Solved, good: &[usize]) -> Option<usize> {
    let line: usize = solved
        .sighting
        .frame
        .source
        .rsplit(':')
        .next()?
        .parse()
        .ok()?;
    good.get(line.checked_sub(1)?).copied()
}

fn answer(verdict: Verdict, nanoseconds: i64) -> Answer {
    let mut answer = match verdict {
        Verdict::Solution { solution, unique } => Answer {
            solution: Some(solution),
            unique,
            ..Answer::without(Status::Solved, None)
        },
        Verdict::Unsolvable { reason } => Answer::without(Status::Unsolvable, reason),
        Verdict::Unsupported { reason } => Answer::without(Status::Unsupported, Some(reason)),
        Verdict::Unknown { reason } => Answer::without(Status::Timeout, Some(reason)),
    };
    answer.search_us = Some(nanoseconds as f64 / 1e3);
    answer
}

/// Prints in the order of the file.
struct Printer<'a> {
    global: &'a Global,
    args: &'a Solve,
    entries: &'a [Entry],
    next: usize,
    worst: Ended,
}

impl Printer<'_> {
    /// Prints each answer at its place. Sightings are numbered from 1 in the order of the good
    /// puzzles.
    fn told(&mut self, told: Option<Told>, good: &[usize]) -> Result<(), Failure> {
        let (at, answer) = match told {
            Some(Told::Answer(message)) => {
                let Ok(solved) = serde_json::from_str::<Solved>(message.json()) else {
                    return Ok(());
                };
                let hop = message.lineage().hops.last();
                let nanoseconds = hop.map_or(0, |hop| hop.emitted_ns - hop.taken_ns);
                (place(&solved, good), answer(solved.answer, nanoseconds))
            }
            Some(Told::Problem(problem)) => {
                let sequence = problem
                    .message
                    .as_ref()
                    .map_or(0, |message| message.sequence);
                let place = usize::try_from(sequence)
                    .ok()
                    .and_then(|it| it.checked_sub(1));
                let status = match problem.kind {
                    ProblemKind::TimedOut | ProblemKind::Hang => Status::Timeout,
                    // A warning: an answer may still come.
                    ProblemKind::Slow => return Ok(()),
                    _ => Status::Failed,
                };
                let at = place.and_then(|place| good.get(place).copied());
                (at, Answer::without(status, Some(problem.text)))
            }
            None => return Ok(()),
        };
        at.map_or(Ok(()), |at| self.answer(at, &answer))
    }

    /// Prints what can't be read before it, then the answer.
    fn answer(&mut self, at: usize, answer: &Answer) -> Result<(), Failure> {
        while self.next < at {
            self.unanswered()?;
        }
        // A second word on the same puzzle (a late problem) changes nothing.
        if self.next == at {
            self.print(answer)?;
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), Failure> {
        while self.next < self.entries.len() {
            self.unanswered()?;
        }
        Ok(())
    }

    fn unanswered(&mut self) -> Result<(), Failure> {
        let answer = match &self.entries[self.next].puzzle {
            Err(error) => Answer::without(Status::Invalid, Some(error.to_string())),
            Ok(_) => {
                let reason = "the solver gave no answer".to_owned();
                Answer::without(Status::Failed, Some(reason))
            }
        };
        self.print(&answer)
    }

    fn print(&mut self, answer: &Answer) -> Result<(), Failure> {
        let entry = &self.entries[self.next];
        let mut out = std::io::stdout().lock();
        if self.args.json {
            let mut line: Value = answer.record(self.next);
            if let (Some(title), Value::Object(line)) = (&entry.title, &mut line) {
                line.insert("title".to_owned(), json!(title));
            }
            writeln!(out, "{line}")?;
        } else {
            if self.next > 0 {
                writeln!(out)?;
            }
            let colours = colour::on_stdout(self.global);
            write!(
                out,
                "{}",
                answer.text(&self.args.file, entry, &self.args.solver, colours)
            )?;
        }
        self.next += 1;
        self.worst = worse(self.worst, answer.status);
        Ok(())
    }
}

/// A plugin's failure outweighs a puzzle that can't be read, and that one without a solution.
fn worse(so_far: Ended, status: Status) -> Ended {
    let now = match status {
        Status::Solved => Ended::Done,
        Status::Unsolvable | Status::Timeout | Status::Unsupported => Ended::Unsolved,
        Status::Invalid => Ended::BadPuzzle,
        Status::Failed => Ended::StageFailed,
    };
    let weight = |ended| match ended {
        Ended::Done => 0,
        Ended::Unsolved => 1,
        Ended::BadPuzzle => 2,
        _ => 3,
    };
    if weight(now) > weight(so_far) {
        now
    } else {
        so_far
    }
}
