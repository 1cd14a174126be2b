//! `flowpipe check FILE...`: every error in pipeline files. Nothing is started.

use std::io::Write as _;

use flowpipe_terminal::{eprintln, escaped, stdout};

use crate::args::{Check, Global};
use crate::exit::{Ended, Failure};
use crate::{pipeline_file, plugins};

pub fn run(global: &Global, check: &Check) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let mut stdout = stdout();
    let mut wrong = 0;
    for file in &check.files {
        match pipeline_file::read(file, &catalogue)? {
            Ok(written) if !check.json => {
                let pipeline = written.pipeline;
                let (stages, queues) = (pipeline.stages.len(), pipeline.edges.len());
                writeln!(
                    stdout,
                    "{}: good, {stages} stages, {queues} queues",
                    escaped(file.display())
                )?;
            }
            Ok(_) => {}
            Err(errors) => {
                wrong += errors.len();
                if check.json {
                    for error in &errors {
                        serde_json::to_writer(&mut stdout, &error.record())
                            .map_err(std::io::Error::from)?;
                        writeln!(stdout)?;
                    }
                } else {
                    pipeline_file::show(errors, global);
                }
            }
        }
    }
    if wrong == 0 {
        return Ok(Ended::Done);
    }
    eprintln!(
        "flowpipe: {wrong} error{}",
        if wrong == 1 { "" } else { "s" }
    );
    Ok(Ended::BadConfig)
}
