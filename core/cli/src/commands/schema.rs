//! `flowpipe schema`: the JSON Schema of pipeline files, with the configs of the plugins found.

use std::io::Write as _;

use flowpipe_config::schema::pipeline_schema;

use crate::args::Global;
use crate::exit::{Ended, Failure};
use crate::plugins;

pub fn run(global: &Global) -> Result<Ended, Failure> {
    let schema = pipeline_schema(&plugins::load_all(global));
    writeln!(flowpipe_terminal::plain_stdout(), "{schema:#}")?;
    Ok(Ended::Done)
}
