//! `flowpipe machine init FILE`: creates certificates for the machines of a pipeline.

use std::io::Write as _;
use std::path::Path;

use flowpipe_terminal::{escape, escaped, stdout};

use crate::args::{Global, Machine, MachineCommand};
use crate::certificates::{self, CertificatePaths};
use crate::exit::{Ended, Failure};
use crate::{pipeline_file, plugins, transports};

pub fn run(global: &Global, args: &Machine) -> Result<Ended, Failure> {
    let MachineCommand::Init(init) = &args.command;
    let path = pipeline_file::find(&init.file)?;
    let catalogue = plugins::load(global);
    let read = pipeline_file::read_or_show(&path, &catalogue, &[], global)?;
    let Some(file) = read else {
        return Ok(Ended::BadConfig);
    };
    let machines = file.pipeline.machines.all;
    if machines.is_empty() {
        let why = "the pipeline has no machines: add [machines.NAME] for each";
        return Err(Failure::Usage(why.to_owned()));
    }
    let named: Vec<_> = machines.iter().map(certificates::named).collect();
    let created = transports::load()?.create_certificates(&named);
    let created = created.map_err(|error| Failure::Run(error.to_string()))?;
    certificates::write(&machines, &created)?;
    let mut out = stdout();
    writeln!(
        out,
        "created the certificates; each machine needs its files, at the same place beside the pipeline:"
    )?;
    for machine in &machines {
        let paths = CertificatePaths::of(machine);
        let paths = paths
            .all()
            .map(|path: &Path| escaped(path.display()).to_string());
        writeln!(out, "  {}: {}", escape(&machine.name), paths.join(", "))?;
    }
    writeln!(
        out,
        "Keep each .key secret, and copy none to another machine than its own."
    )?;
    Ok(Ended::Done)
}
