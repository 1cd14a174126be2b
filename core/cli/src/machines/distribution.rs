//! Stages that are distributed among machines: who has workers for whom, and when a run goes on without them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use flowpipe_config::pipeline::{Machines, Pipeline};
use flowpipe_engine::run::Options;
use flowpipe_engine::run::served::WorkerHost;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_machines::{Peer, Served};
use flowpipe_sync::lock;

/// Sets which workers of the stages here other machines have, and prepares those that this one has for them. `clock`:
/// that of the run here.
pub fn distribute(
    (pipeline, own): (&Pipeline, usize),
    peers: &mut [(usize, Peer)],
    catalogue: &Catalogue,
    clock: Clock,
    options: &mut Options,
) {
    let machines = &pipeline.machines;
    let stages = 0..pipeline.stages.len();
    let all = stages.flat_map(|stage| {
        let workers = machines.workers(stage).unwrap_or_default().iter();
        workers
            .enumerate()
            .map(move |(worker, of)| (stage, worker, *of))
    });
    let all: Vec<_> = all.collect();
    let mut host = None;
    for (machine, peer) in peers {
        let distributed_by = |distributor: usize, of: usize| {
            let workers = all.iter();
            let workers = workers.filter(move |(stage, _, member)| {
                machines.of_stages[*stage] == distributor && *member == of
            });
            workers.map(|(stage, worker, _)| (*stage, *worker))
        };
        for place in distributed_by(own, *machine) {
            options.worker_machines.insert(place, peer.worker_machine());
        }
        let workers: Vec<_> = distributed_by(*machine, own).collect();
        if !workers.is_empty() {
            let host = host.get_or_insert_with(|| {
                let program = options.program.clone();
                Arc::new(WorkerHost::new(pipeline, catalogue, clock, program))
            });
            peer.serve(Served {
                host: host.clone(),
                workers,
                clock,
            });
        }
    }
}

/// The machines that are gone, and without which the run goes on.
#[derive(Default)]
pub struct GoneWorkers(Mutex<BTreeSet<usize>>);

impl GoneWorkers {
    /// A machine is gone. Returns whether the run here, on the machine `own`, can go on without it: it has at most workers,
    /// and for each stage that is distributed here there are others.
    pub fn can_go_on(&self, machines: &Machines, own: usize, machine: usize) -> bool {
        if machines.runs_stages(machine) {
            return false;
        }
        let mut gone = lock(&self.0);
        gone.insert(machine);
        let stages = machines.of_stages.iter().zip(&machines.of_workers);
        let mut here = stages.filter(|(distributor, it)| **distributor == own && !it.is_empty());
        here.all(|(_, workers)| workers.iter().any(|it| !gone.contains(it)))
    }

    /// Whether there are any.
    pub fn are_some(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_while_each_stage_has_a_worker() {
        let machines = Machines {
            all: Vec::new(),
            // The stage 1 is distributed by the machine 0, the stage 2 by the machine 3.
            of_stages: vec![0, 0, 3, 3],
            of_workers: vec![Vec::new(), vec![1, 2], vec![1, 1], Vec::new()],
        };
        let gone = GoneWorkers::default();
        assert!(!gone.can_go_on(&machines, 0, 3), "it runs stages");
        assert!(!gone.are_some());
        assert!(gone.can_go_on(&machines, 0, 1));
        assert!(gone.are_some());
        assert!(!gone.can_go_on(&machines, 0, 2), "it was the last one");
        // Of another machine, whose stage has workers on one alone.
        assert!(!GoneWorkers::default().can_go_on(&machines, 3, 1));
        assert!(machines.works_for(1, 0) && machines.works_for(1, 3));
        assert!(!machines.works_for(2, 3) && !machines.works_for(0, 0));
    }
}
