//! Prints the answers in the order of the puzzles.

use std::collections::VecDeque;
use std::io::Write as _;

use flowpipe_puzzle::text::{self, Entry, Format};
use flowpipe_terminal::{eprintln, escape, escape_indented, escaped, plain_stdout, stdout};

use crate::args::{Global, Solve, SolvedFormat};
use crate::exit::{Ended, Failure};
use crate::pictures;
use crate::show::colour;
use crate::show::progress::PuzzleBar;
use crate::solve::answer::{Answer, Status};
use crate::solve::window::{NextEntry, PuzzleWindow};
use crate::solve::{picture, plot};
use crate::solver_run::{PuzzleSource as _, Reply, StrokePlan, plan_bytes, reply_bytes};

/// The most bytes of JSON lines that are kept before they are written.
const MOST_BUFFERED: usize = 1 << 15;

/// Prints each answer as soon as all before it are printed.
pub struct AnswerPrinter<'a> {
    global: &'a Global,
    args: &'a Solve,
    window: &'a PuzzleWindow,
    /// What is known of the puzzles that are not printed yet. Behind its end, nothing is.
    waiting: VecDeque<Waiting>,
    /// The index of the first of them.
    next: usize,
    /// The indices of puzzles to which no more replies come, and that may lack one.
    settled: Vec<usize>,
    worst: Ended,
    bar: PuzzleBar,
    /// Lines of JSON that are not written yet.
    lines: Vec<u8>,
    /// The first reason why a plot could not be drawn.
    undrawn: Option<String>,
}

/// The answer to a puzzle, while it waits for the answers before it, or for its plan.
#[derive(Default)]
struct Waiting {
    answer: Option<Answer>,
    /// About what it takes.
    bytes: usize,
}

impl<'a> AnswerPrinter<'a> {
    pub fn new(global: &'a Global, args: &'a Solve, window: &'a PuzzleWindow) -> Self {
        Self {
            global,
            args,
            window,
            waiting: VecDeque::new(),
            next: 0,
            settled: Vec::new(),
            worst: Ended::Done,
            bar: PuzzleBar::new(),
            lines: Vec::new(),
            undrawn: None,
        }
    }

    /// Adds a reply to the puzzle at a place. `timeout_us`: the timeout of a puzzle.
    pub fn reply(&mut self, place: usize, reply: Reply, timeout_us: f64) -> Result<(), Failure> {
        let Some(index) = self.window.index_of(place) else {
            return Ok(());
        };
        match reply {
            Reply::Solver(reply) => {
                let bytes = reply_bytes(&reply);
                self.add(index, Answer::of(reply, timeout_us), bytes);
            }
            Reply::Planner(plan) => self.add_plan(index, plan),
        }
        self.print_ready()
    }

    /// There are no more replies to the puzzle at a place, except for one that is on its way.
    pub fn settle(&mut self, place: usize) {
        let Some(index) = self.window.index_of(place) else {
            return;
        };
        let is_whole = match self.place(index) {
            None => true,
            Some(Waiting { answer, .. }) => answer.as_ref().is_some_and(|it| !it.waits_for_plan()),
        };
        if !is_whole {
            self.settled.push(index);
        }
    }

    /// All replies to the puzzle at a place are there.
    pub fn complete(&mut self, place: usize) -> Result<(), Failure> {
        if let Some(index) = self.window.index_of(place) {
            self.add_missing(index);
        }
        self.print_ready()
    }

    /// Prints what can be printed. Call it when no reply comes for a while.
    pub fn idle(&mut self) -> Result<(), Failure> {
        // The failure of a plugin that hangs may come a little later than its end.
        for index in std::mem::take(&mut self.settled) {
            self.add_missing(index);
        }
        self.print_ready()?;
        self.flush()
    }

    /// Adds the answer to the puzzle at an index. A second answer to the same puzzle is ignored.
    fn add(&mut self, index: usize, answer: Answer, bytes: usize) {
        let Some(place) = self.place(index).filter(|it| it.answer.is_none()) else {
            return;
        };
        place.answer = Some(answer);
        place.bytes = bytes;
        self.window.answered(bytes);
    }

    /// Adds the plan for the puzzle at an index, which has an answer. A second plan is ignored.
    fn add_plan(&mut self, index: usize, plan: Result<StrokePlan, String>) {
        let bytes = plan_bytes(&plan);
        let Some(place) = self.place(index) else {
            return;
        };
        let answer = place.answer.as_mut();
        if let Some(answer) = answer.filter(|answer| answer.waits_for_plan()) {
            answer.plan = Some(plan);
            place.bytes += bytes;
            self.window.added(bytes);
        }
    }

    /// Adds what the puzzle at an index lacks.
    fn add_missing(&mut self, index: usize) {
        let reason = "the solver gave no answer".to_owned();
        self.add(index, Answer::without(Status::Failed, Some(reason)), 0);
        if self.args.plan.is_some() {
            self.add_plan(index, Err("it gave no plan".to_owned()));
        }
    }

    /// What is known of the puzzle at an index. `None`: it is printed.
    fn place(&mut self, index: usize) -> Option<&mut Waiting> {
        let at = index.checked_sub(self.next)?;
        if at >= self.waiting.len() {
            self.waiting.resize_with(at + 1, Waiting::default);
        }
        self.waiting.get_mut(at)
    }

    /// Prints a line about the work on standard error.
    pub fn notice(&self, text: &str) -> Result<(), Failure> {
        self.bar.above(|| eprintln!("{text}"));
        Ok(())
    }

    /// Writes what is printed so far. Call it when no answer comes for a while.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.bar.above(|| stdout().write_all(&self.lines))?;
        self.lines.clear();
        Ok(())
    }

    /// Prints the answers that are there, and nothing of the rest.
    pub fn stop(mut self) -> Result<Ended, Failure> {
        self.window.close();
        self.print_ready()?;
        self.flush()?;
        self.bar.end();
        Ok(self.worst)
    }

    /// Prints the rest of what was read. Puzzles without an answer count as failed.
    pub fn end(mut self) -> Result<Ended, Failure> {
        self.window.close();
        self.print_ready()?;
        while self.window.next_entry().is_some() {
            self.add_missing(self.next);
            self.print_ready()?;
        }
        self.flush()?;
        self.bar.end();
        match self.undrawn {
            Some(reason) if self.worst == Ended::Done => Err(Failure::Run(reason)),
            Some(reason) => {
                eprintln!("flowpipe: {}", escape_indented(&reason));
                Ok(self.worst)
            }
            None => Ok(self.worst),
        }
    }

    fn print_ready(&mut self) -> Result<(), Failure> {
        let planning = self.args.plan.is_some();
        let is_drawn = self.args.svg.is_some() || self.args.plot.is_some();
        while let Some(NextEntry { entry, may_be_only }) = self.window.next_entry() {
            // The name of its picture depends on whether there are others.
            if is_drawn && may_be_only {
                break;
            }
            let Waiting { answer, bytes } = match &entry.puzzle {
                Err(error) => Waiting {
                    answer: Some(Answer::without(Status::Invalid, Some(error.to_string()))),
                    bytes: 0,
                },
                Ok(_) => {
                    let is_ready = |answer: &Answer| !planning || !answer.waits_for_plan();
                    let front = self.waiting.front_mut();
                    let is_there = |it: &&mut Waiting| it.answer.as_ref().is_some_and(is_ready);
                    match front.filter(is_there) {
                        Some(front) => std::mem::take(front),
                        None => break,
                    }
                }
            };
            let Some(answer) = answer else { break };
            self.print(&entry, &answer)?;
            self.draw(&entry, &answer)?;
            self.waiting.pop_front();
            self.next += 1;
            self.window.printed(bytes);
            let (read, is_complete) = self.window.count();
            self.bar.update(self.next, read, is_complete);
            self.worst = self.worst.or_worse(answer.ended());
        }
        Ok(())
    }

    fn print(&mut self, entry: &Entry, answer: &Answer) -> Result<(), Failure> {
        if !self.args.json {
            return self.bar.above(|| self.print_text(entry, answer));
        }
        answer
            .write_record(&mut self.lines, self.next, entry, self.args.all)
            .map_err(|error| Failure::Run(error.to_string()))?;
        self.lines.push(b'\n');
        match self.lines.len() < MOST_BUFFERED {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn print_text(&self, entry: &Entry, answer: &Answer) -> Result<(), Failure> {
        let mut out = stdout();
        let colours = colour::on_stdout(self.global);
        let heading = |colours| answer.heading(&self.args.file, entry, &self.args.solver, colours);
        if let Some(format) = self.args.to {
            match solved(entry, answer, format) {
                Some(Ok(text)) => write!(plain_stdout(), "{text}")?,
                Some(Err(reason)) => {
                    eprintln!(
                        "{}: line {}: {reason}",
                        escaped(&self.args.file),
                        entry.line
                    );
                }
                None => eprintln!("{}", heading(colour::on_stderr(self.global))),
            }
            if let Some(Err(why)) = &answer.plan {
                let (file, line) = (escaped(&self.args.file), entry.line);
                let planner = escaped(self.planner());
                eprintln!("{file}:{line} {planner} failed: {}", escaped(why));
            }
            return Ok(());
        }
        if self.next > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", heading(colours))?;
        write!(out, "{}", answer.boards(entry, colours))?;
        if let Some(planned) = answer.planned(self.planner(), colours) {
            writeln!(out, "{planned}")?;
        }
        Ok(())
    }

    fn planner(&self) -> &str {
        self.args.plan.as_deref().unwrap_or_default()
    }

    fn draw(&mut self, entry: &Entry, answer: &Answer) -> Result<(), Failure> {
        let (count, _) = self.window.count();
        if let Some(file) = &self.args.svg
            && let Some(picture) = picture::svg(entry, answer)
        {
            pictures::write(file, self.next, count, "svg", &picture)?;
        }
        let Some(file) = &self.args.plot else {
            return Ok(());
        };
        let solver = &self.args.solver;
        let place = format!("{}:{}", self.args.file, entry.line);
        let picture = answer
            .effort()
            .and_then(|effort| plot::svg(effort, &escape(&format!("{place}, {solver}"))));
        match picture {
            Some(picture) => pictures::write(file, self.next, count, "svg", &picture)?,
            None if answer.status == Status::Invalid => {}
            None => {
                let reason = match answer.status {
                    Status::Solved | Status::Unsolvable => format!(
                        "--plot: nothing to draw of {place}, {solver} reported no best, average and worst by generation (solver-genetic does, if it needs generations)"
                    ),
                    _ => format!("--plot: there is no answer to {place} to draw"),
                };
                self.undrawn.get_or_insert(reason);
            }
        }
        Ok(())
    }
}

/// The puzzle with its solution in a format. `None`: there is no solution.
fn solved(entry: &Entry, answer: &Answer, format: SolvedFormat) -> Option<Result<String, String>> {
    let format = match format {
        SolvedFormat::Level => Format::Level,
        SolvedFormat::Json => Format::Json,
    };
    let solution = answer.solutions().next()?;
    let sheet = text::Sheet {
        solution: Some(solution),
        ..entry.sheet().ok()?
    };
    Some(text::write_as(&sheet, format).map_err(|error| error.to_string()))
}
