//! `flowpipe machine init FILE`: creates certificates for the machines of a file. `flowpipe machine work FILE`: works for
//! one of them.

use std::io::Write as _;
use std::path::Path;

use flowpipe_machines::batch::{WorkerSettings, serve};
use flowpipe_terminal::{eprintln, escape, escaped, stdout};

use crate::args::{Global, Machine, MachineCommand, MachineWork};
use crate::batch::machines_file;
use crate::batch::memory_limit::MemoryLimit;
use crate::batch::serving::{self, Serving};
use crate::certificates::{self, CertificatePaths};
use crate::exit::{Ended, Failure};
use crate::{pipeline_file, plugins, transports};

pub fn run(global: &Global, args: &Machine) -> Result<Ended, Failure> {
    match &args.command {
        MachineCommand::Init(init) => run_init(global, &init.file),
        MachineCommand::Work(work) => run_work(global, work),
    }
}

fn run_init(global: &Global, file: &Path) -> Result<Ended, Failure> {
    let machines = if machines_file::is_one(file) {
        machines_file::read_or_show(file, global)?.map(|read| read.machines.all)
    } else {
        let path = pipeline_file::find(file)?;
        let catalogue = plugins::load(global);
        let read = pipeline_file::read_or_show(&path, &catalogue, &[], global)?;
        read.map(|file| file.pipeline.machines.all)
    };
    let Some(machines) = machines else {
        return Ok(Ended::BadConfig);
    };
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

fn run_work(global: &Global, args: &MachineWork) -> Result<Ended, Failure> {
    let Some(read) = machines_file::read_or_show(&args.file, global)? else {
        return Ok(Ended::BadConfig);
    };
    let (machines, coordinator) = (read.machines, read.coordinator);
    let names = machines.all.iter().enumerate();
    let names = names.filter(|(index, _)| *index != coordinator);
    let names: Vec<&str> = names.map(|(_, it)| &*it.name).collect();
    let own = machines.find(&args.machine);
    let Some(own) = own.filter(|own| *own != coordinator) else {
        let (name, all) = (&args.machine, names.join(", "));
        return Err(Failure::Usage(format!(
            "the file has no machine \"{name}\" that works; it has {all}"
        )));
    };
    if args.memory.is_some() && !MemoryLimit::can_measure() {
        let why = "--memory: this system does not report how much memory a process has";
        return Err(Failure::Usage(why.to_owned()));
    }
    let transports = transports::listen(&machines, own, &[coordinator])?;
    let Some(transport) = transports.into_iter().next() else {
        return Err(Failure::Run("nothing listens".to_owned()));
    };
    let [own, coordinator] = [own, coordinator].map(|it| &machines.all[it]);
    let lanes = args.jobs.map_or_else(processors, usize::from);
    let serving = Serving::new(plugins::load(global), lanes, MemoryLimit::new(args.memory));
    if let Some(address) = &own.listen {
        let (name, address) = (escape(&own.name), address.to_string());
        eprintln!("machine {name} listens at {}", escape(&address));
    }
    let settings = WorkerSettings {
        own: &own.name,
        coordinator: &coordinator.name,
        lanes,
    };
    let print = serving::print(&coordinator.name);
    // A signal ends the program.
    serve(settings, transport, &serving, &print, &|| false)?;
    Ok(Ended::Done)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
