//! `flowpipe report FILE`: writes a page of a recording.

use flowpipe_output::without_suffix;
use flowpipe_recording::Limits;
use flowpipe_report::{LIMIT, PageSummary};
use flowpipe_terminal::{counted, eprintln, escaped, plain_stdout};

use crate::exit::{Ended, Failure};
use crate::{args, outputs, recording_file, signals};

/// The name of standard output.
const STDOUT: &str = "-";

pub fn run(args: &args::Report) -> Result<Ended, Failure> {
    signals::at_once();
    let limits = match args.no_limits {
        true => Limits::None,
        false => Limits::Strict,
    };
    let recording = recording_file::open(&args.file, limits)?;
    let to = match &args.output {
        Some(path) => path.clone(),
        None => without_suffix(&args.file).with_extension("html"),
    };
    if to.as_os_str() == STDOUT {
        flowpipe_report::write(&recording, LIMIT, &mut plain_stdout())?;
        return Ok(Ended::Done);
    }
    let failure = outputs::failure(&to);
    // Created first, so that a failure is reported before the work.
    let mut page = match &args.output {
        Some(_) => outputs::create(&to)?,
        None => outputs::create_derived(&to)?,
    };
    let written = flowpipe_report::write(&recording, LIMIT, &mut page).map_err(&failure)?;
    page.commit().map_err(&failure)?;
    eprintln!("{}: {}", escaped(to.display()), summary(written));
    Ok(Ended::Done)
}

fn summary(written: PageSummary) -> String {
    let pictures = if written.pictures == 0 {
        "no".to_owned()
    } else if written.pictures_kept < written.pictures {
        format!("{} of {}", written.pictures_kept, written.pictures)
    } else {
        written.pictures.to_string()
    };
    let boards = written.boards.map(|boards| counted(boards, "board") + ", ");
    format!(
        "{}{}, {pictures} different pictures, {:.1} MB",
        boards.unwrap_or_default(),
        counted(written.frames, "frame"),
        written.bytes as f64 / 1e6
    )
}
