//! What each machine of a pipeline runs, and where it listens, for `flowpipe check`.

use std::collections::BTreeMap;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_terminal::counted;
use serde::Serialize;

/// The part of one machine.
#[derive(Debug, Serialize)]
pub struct Placement<'a> {
    name: &'a str,
    /// Where it listens for the others.
    listen: Option<String>,
    /// Where the others reach it, if it listens.
    connect: Option<String>,
    /// The stages that it runs.
    stages: Vec<&'a str>,
    /// The stages whose messages it distributes among workers.
    distributes: Vec<&'a str>,
    /// How many workers it has, by stage.
    workers: BTreeMap<&'a str, usize>,
}

/// The parts of all machines. None: the pipeline has no machines.
pub fn placements(pipeline: &Pipeline) -> Vec<Placement<'_>> {
    let machines = &pipeline.machines;
    let mut placements = Vec::new();
    for (index, machine) in machines.all.iter().enumerate() {
        let mut placement = Placement {
            name: &machine.name,
            listen: machine.listen.as_ref().map(ToString::to_string),
            connect: machine.connect.as_ref().map(ToString::to_string),
            stages: Vec::new(),
            distributes: Vec::new(),
            workers: BTreeMap::new(),
        };
        for (number, stage) in pipeline.stages.iter().enumerate() {
            let is_here = machines.of_stages.get(number) == Some(&index);
            let workers = machines.workers(number);
            match workers {
                None if is_here => placement.stages.push(&stage.name),
                Some(_) if is_here => placement.distributes.push(&stage.name),
                None | Some(_) => {}
            }
            let members = workers.unwrap_or_default().iter();
            let members = members.filter(|it| **it == index).count();
            if members > 0 {
                placement.workers.insert(&stage.name, members);
            }
        }
        placements.push(placement);
    }
    placements
}

impl Placement<'_> {
    /// In one line, which is not escaped.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        if !self.stages.is_empty() {
            parts.push(format!("runs {}", self.stages.join(", ")));
        }
        if !self.distributes.is_empty() {
            let stages = self.distributes.join(", ");
            parts.push(format!("distributes the messages of {stages}"));
        }
        for (stage, workers) in &self.workers {
            parts.push(format!("has {} of {stage}", counted(*workers, "worker")));
        }
        match (&self.listen, &self.connect) {
            (Some(listen), Some(connect)) if listen != connect => {
                parts.push(format!("listens on {listen}, reached at {connect}"));
            }
            (Some(listen), _) => parts.push(format!("listens on {listen}")),
            (None, _) => parts.push("does not listen".to_owned()),
        }
        format!("machine {}: {}", self.name, parts.join("; "))
    }
}
