//! Prints the answers in the order of the puzzles.

use std::io::Write as _;

use flowpipe_puzzle::text::{self, Entry, Format};
use flowpipe_terminal::{eprintln, escape, escape_indented, escaped, plain_stdout, stdout};

use crate::args::{Global, Solve, SolvedFormat};
use crate::exit::{Ended, Failure};
use crate::pictures;
use crate::show::colour;
use crate::show::progress::PuzzleBar;
use crate::solve::answer::{Answer, Status};
use crate::solve::{picture, plot};
use crate::solver_run::StrokePlan;

/// The most bytes of JSON lines that are kept before they are written.
const MOST_BUFFERED: usize = 1 << 15;

/// Prints each answer as soon as all before it are printed.
pub struct AnswerPrinter<'a> {
    global: &'a Global,
    args: &'a Solve,
    entries: &'a [Entry],
    /// The answers that are not printed yet.
    waiting: Vec<Option<Answer>>,
    next: usize,
    worst: Ended,
    bar: PuzzleBar,
    /// Lines of JSON that are not written yet.
    lines: Vec<u8>,
    /// The first reason why a plot could not be drawn.
    undrawn: Option<String>,
}

impl<'a> AnswerPrinter<'a> {
    pub fn new(global: &'a Global, args: &'a Solve, entries: &'a [Entry]) -> Self {
        let unreadable = |entry: &Entry| {
            let error = entry.puzzle.as_ref().err()?;
            Some(Answer::without(Status::Invalid, Some(error.to_string())))
        };
        Self {
            global,
            args,
            entries,
            waiting: entries.iter().map(unreadable).collect(),
            next: 0,
            worst: Ended::Done,
            bar: PuzzleBar::new(entries.len()),
            lines: Vec::new(),
            undrawn: None,
        }
    }

    /// Adds the answer to the puzzle at an index. A second answer to the same puzzle is ignored.
    pub fn add(&mut self, index: usize, answer: Answer) -> Result<(), Failure> {
        if index >= self.next
            && let Some(place @ None) = self.waiting.get_mut(index)
        {
            *place = Some(answer);
        }
        self.print_ready()
    }

    /// Adds the plan for the puzzle at an index, which has an answer. A second plan is ignored.
    pub fn add_plan(
        &mut self,
        index: usize,
        plan: Result<StrokePlan, String>,
    ) -> Result<(), Failure> {
        let answer = self.waiting.get_mut(index).and_then(Option::as_mut);
        if let Some(answer) = answer.filter(|answer| answer.waits_for_plan()) {
            answer.plan = Some(plan);
        }
        self.print_ready()
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
        self.print_ready()?;
        self.flush()?;
        self.bar.end();
        Ok(self.worst)
    }

    /// Prints the rest. Puzzles without an answer count as failed.
    pub fn end(mut self) -> Result<Ended, Failure> {
        for place in self.waiting.iter_mut().skip(self.next) {
            let answer = place.get_or_insert_with(|| {
                let reason = "the solver gave no answer".to_owned();
                Answer::without(Status::Failed, Some(reason))
            });
            if self.args.plan.is_some() && answer.waits_for_plan() {
                answer.plan = Some(Err("it gave no plan".to_owned()));
            }
        }
        self.print_ready()?;
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
        let is_ready = |answer: &mut Answer| !planning || !answer.waits_for_plan();
        while let Some(place) = self.waiting.get_mut(self.next)
            && let Some(answer) = place.take_if(is_ready)
        {
            self.print(&answer)?;
            self.draw(&answer)?;
            self.next += 1;
            self.bar.update(self.next);
            self.worst = self.worst.or_worse(answer.ended());
        }
        Ok(())
    }

    fn print(&mut self, answer: &Answer) -> Result<(), Failure> {
        if !self.args.json {
            return self.bar.above(|| self.print_text(answer));
        }
        let entry = &self.entries[self.next];
        answer
            .write_record(&mut self.lines, self.next, entry, self.args.all)
            .map_err(|error| Failure::Run(error.to_string()))?;
        self.lines.push(b'\n');
        match self.lines.len() < MOST_BUFFERED {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn print_text(&self, answer: &Answer) -> Result<(), Failure> {
        let entry = &self.entries[self.next];
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

    fn draw(&mut self, answer: &Answer) -> Result<(), Failure> {
        let (entry, count) = (&self.entries[self.next], self.entries.len());
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
