//! What each machine of a pipeline runs, and where it listens, for `flowpipe check`.

use std::collections::BTreeMap;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_terminal::counted;
use serde::Serialize;

/// The part of one machine.
#[derive(Debug, Serialize)]
pub struct Placement<'a> {
    name: &'a str,
    /// Where it listens for the others. `None`: no other one connects to it.
    listen: Option<String>,
    /// Where the others reach it, if it listens.
    connect: Option<String>,
    /// The stages that it runs.
    stages: Vec<&'a str>,
    /// The stages whose messages it distributes among workers.
    distributes: Vec<&'a str>,
    /// How many workers it has, by stage.
    workers: BTreeMap<&'a str, usize>,
    /// Whether it has an address that no other machine connects to.
    #[serde(skip)]
    is_unused: bool,
}

/// The parts of all machines. None: the pipeline has no machines.
pub fn placements(pipeline: &Pipeline) -> Vec<Placement<'_>> {
    let machines = &pipeline.machines;
    let mut placements = Vec::new();
    let links = machines.links(pipeline.edges.iter().copied());
    for (index, machine) in machines.all.iter().enumerate() {
        let is_called = links.iter().any(|&(one, other)| {
            let peer = match index {
                it if it == one => other,
                it if it == other => one,
                _ => return false,
            };
            machines.opens(peer, index) == Some(true)
        });
        let listen = machine.listen.as_ref().filter(|_| is_called);
        let connect = machine.connect.as_ref().filter(|_| is_called);
        let mut placement = Placement {
            name: &machine.name,
            listen: listen.map(ToString::to_string),
            connect: connect.map(ToString::to_string),
            is_unused: machine.listen.is_some() && !is_called,
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
            (None, _) if self.is_unused => {
                parts.push("does not listen, since no other machine connects to it".to_owned());
            }
            (None, _) => parts.push("does not listen".to_owned()),
        }
        format!("machine {}: {}", self.name, parts.join("; "))
    }
}
