//! What was made of the pictures, printed in their order.

use std::io::Write as _;
use std::path::Path;

use flowpipe_terminal::{eprintln, escape_indented, escaped, stdout};

use crate::args::{Global, See};
use crate::exit::{Ended, Failure};
use crate::see::look::Said;
use crate::see::seen::Seen;
use crate::see::{overlay, record, text};
use crate::show::{colour, pictures};
use crate::{input, outputs};

/// Prints what was made of each picture at its place, as soon as all before it are printed.
pub struct Printer<'a> {
    global: &'a Global,
    args: &'a See,
    /// By file, from the first one that is not printed.
    seen: Vec<Seen>,
    next: usize,
    worst: Ended,
}

impl<'a> Printer<'a> {
    pub fn new(global: &'a Global, args: &'a See) -> Self {
        Self {
            global,
            args,
            seen: args.files.iter().map(|file| opened(file)).collect(),
            next: 0,
            worst: Ended::Done,
        }
    }

    /// The files that can be looked at, by index.
    pub fn to_look_at(&self) -> Vec<usize> {
        let seen = self.seen.iter().enumerate();
        seen.filter(|(_, seen)| seen.trouble.is_none())
            .map(|(index, _)| index)
            .collect()
    }

    /// Takes what is said next of the file at an index.
    pub fn take(&mut self, index: usize, said: Said) -> Result<(), Failure> {
        if let Some(seen) = self.seen.get_mut(index) {
            seen.take(said, self.args.overlay.is_some());
        }
        while self.next < self.seen.len() && self.is_over(self.next) {
            self.print_next()?;
        }
        Ok(())
    }

    /// Prints what is left, whatever is known of it.
    pub fn end(mut self) -> Result<Ended, Failure> {
        while self.next < self.seen.len() {
            self.print_next()?;
        }
        Ok(self.worst)
    }

    fn is_over(&self, index: usize) -> bool {
        let seen = &self.seen[index];
        seen.looks >= self.args.repeat || seen.looks == 0 && seen.trouble.is_some()
    }

    fn print_next(&mut self) -> Result<(), Failure> {
        let (index, count) = (self.next, self.seen.len());
        self.next += 1;
        let (file, seen) = (
            &self.args.files[index],
            std::mem::take(&mut self.seen[index]),
        );
        self.worst = self.worst.or_worse(seen.ended());
        if let Err(reason) = seen.result() {
            eprintln!("flowpipe: {}: {}", escaped(file), escape_indented(reason));
        }
        let mut out = stdout();
        if self.args.json {
            let record =
                record::record(file, &seen).map_err(|error| Failure::Run(error.to_string()))?;
            writeln!(out, "{record}")?;
        } else if let Some(text) = text::text(file, &seen, colour::on_stdout(self.global)) {
            if index > 0 {
                writeln!(out)?;
            }
            write!(out, "{text}")?;
        }
        if let Some(path) = &self.args.overlay
            && let (Some(picture), Ok(reading)) = (&seen.picture, seen.result())
        {
            match overlay::png(picture, reading) {
                Ok(drawn) => pictures::write(path, index, count, "png", drawn)?,
                Err(reason) => {
                    eprintln!("flowpipe: --overlay: {}: {reason}", escaped(file));
                    self.worst = self.worst.or_worse(Ended::StageFailed);
                }
            }
        }
        Ok(())
    }
}

/// A file of which nothing is said yet, or that can't be opened.
fn opened(file: &str) -> Seen {
    outputs::note_input(file);
    match input::is_regular(Path::new(file)) {
        Ok(()) => Seen::default(),
        Err(error) => Seen::unopened(error.to_string()),
    }
}
