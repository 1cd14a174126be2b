//! `flowpipe graph FILE`: a pipeline as Mermaid or DOT.

use std::io::Write as _;

use flowpipe_config::graph;

use crate::args::{Global, Graph, GraphFormat};
use crate::exit::{Ended, Failure};
use crate::{pipeline_file, plugins};

pub fn run(global: &Global, args: &Graph) -> Result<Ended, Failure> {
    let file = pipeline_file::find(&args.file)?;
    let catalogue = plugins::load(global);
    let Some(file) = pipeline_file::read_or_show(&file, &catalogue, &[], global)? else {
        return Ok(Ended::BadConfig);
    };
    let pipeline = file.pipeline;
    let drawing = match args.format {
        GraphFormat::Mermaid => graph::mermaid(&pipeline, &catalogue),
        GraphFormat::Dot => graph::dot(&pipeline, &catalogue),
    };
    flowpipe_terminal::plain_stdout().write_all(drawing.as_bytes())?;
    Ok(Ended::Done)
}
