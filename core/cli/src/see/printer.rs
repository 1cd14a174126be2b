//! Prints what vision read from the pictures, in their order.

use std::io::{self, Write as _};
use std::path::Path;

use flowpipe_terminal::{eprintln, escape_indented, escaped, stdout};

use crate::args::{Global, See};
use crate::exit::{Ended, Failure};
use crate::see::picture::PictureResult;
use crate::see::vision_run::VisionReply;
use crate::see::{overlay, record, text};
use crate::show::colour;
use crate::{input, nearby, outputs, pictures};

/// Prints the result of each picture as soon as all before it are printed.
pub struct PicturePrinter<'a> {
    global: &'a Global,
    args: &'a See,
    /// The results, by file.
    results: Vec<PictureResult>,
    next: usize,
    worst: Ended,
}

impl<'a> PicturePrinter<'a> {
    pub fn new(global: &'a Global, args: &'a See) -> Self {
        Self {
            global,
            args,
            results: args.files.iter().map(|file| opened(file)).collect(),
            next: 0,
            worst: Ended::Done,
        }
    }

    /// The indices of the files that can be opened.
    pub fn readable(&self) -> Vec<usize> {
        let results = self.results.iter().enumerate();
        results
            .filter(|(_, result)| result.error.is_none())
            .map(|(index, _)| index)
            .collect()
    }

    /// Adds a reply about the file at an index.
    pub fn add(&mut self, index: usize, reply: VisionReply) -> Result<(), Failure> {
        if let Some(result) = self.results.get_mut(index) {
            result.add(reply, self.args.overlay.is_some());
        }
        while self.next < self.results.len() && self.is_over(self.next) {
            self.print_next()?;
        }
        Ok(())
    }

    /// Prints the rest.
    pub fn end(mut self) -> Result<Ended, Failure> {
        while self.next < self.results.len() {
            self.print_next()?;
        }
        Ok(self.worst)
    }

    fn is_over(&self, index: usize) -> bool {
        let result = &self.results[index];
        result.calls >= self.args.repeat || result.calls == 0 && result.error.is_some()
    }

    fn print_next(&mut self) -> Result<(), Failure> {
        let (index, count) = (self.next, self.results.len());
        self.next += 1;
        let (file, result) = (
            &self.args.files[index],
            std::mem::take(&mut self.results[index]),
        );
        self.worst = self.worst.or_worse(result.ended());
        if let Err(reason) = result.answer() {
            eprintln!("flowpipe: {}: {}", escaped(file), escape_indented(reason));
        }
        let mut out = stdout();
        if self.args.json {
            let record =
                record::record(file, &result).map_err(|error| Failure::Run(error.to_string()))?;
            writeln!(out, "{record}")?;
        } else if let Some(text) = text::text(file, &result, colour::on_stdout(self.global)) {
            if index > 0 {
                writeln!(out)?;
            }
            write!(out, "{text}")?;
        }
        if let Some(path) = &self.args.overlay
            && let (Some(picture), Ok(answer)) = (&result.picture, result.answer())
        {
            match overlay::png(picture, &answer) {
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

/// The initial result of a file: with an error if it can't be opened.
fn opened(file: &str) -> PictureResult {
    outputs::note_input(file);
    match input::is_regular(Path::new(file)) {
        Ok(()) => PictureResult::default(),
        Err(error) => {
            let near = match error.kind() {
                io::ErrorKind::NotFound => nearby::similar(Path::new(file)),
                _ => None,
            };
            let hint = near.map(|near| format!("; did you mean {}?", near.display()));
            PictureResult::unopened(format!("{error}{}", hint.unwrap_or_default()))
        }
    }
}
