//! `flowpipe report FILE`: makes a page of a recording.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flowpipe_report::{LIMIT, Written};
use flowpipe_terminal::{eprintln, escaped, plain_stdout};

use crate::args;
use crate::exit::{Ended, Failure};

/// Where `-` says that the page goes.
const STDOUT: &str = "-";

pub fn run(args: &args::Report) -> Result<Ended, Failure> {
    crate::signals::at_once()?;
    let recording = crate::recording_file::open(&args.file)?;
    let to = match &args.output {
        Some(path) => path.clone(),
        None => args.file.with_extension("html"),
    };
    if to.as_os_str() == STDOUT {
        flowpipe_report::write(&recording, LIMIT, &mut plain_stdout())?;
        return Ok(Ended::Done);
    }
    if is_same(&to, &args.file) {
        return Err(Failure::Usage(format!(
            "{} is the recording itself: name another file with --output",
            to.display()
        )));
    }
    let file = |error| Failure::File {
        path: to.display().to_string(),
        error,
    };
    // A file that can't be made is told before the work is done.
    let mut page = fs::File::create(&to).map_err(file)?;
    let written = flowpipe_report::write(&recording, LIMIT, &mut page).map_err(file)?;
    page.flush().map_err(file)?;
    eprintln!("{}: {}", escaped(to.display()), told(written));
    Ok(Ended::Done)
}

/// Whether two paths lead to one file; one that is not there is none.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn told(written: Written) -> String {
    let pictures = if written.pictures_kept < written.pictures {
        format!("{} of {}", written.pictures_kept, written.pictures)
    } else {
        written.pictures.to_string()
    };
    format!(
        "{} boards, {} frames, {pictures} different pictures, {:.1} MB",
        written.boards,
        written.frames,
        written.bytes as f64 / 1e6
    )
}
