//! Stages that are distributed among machines: who has workers for whom.

use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::Options;
use flowpipe_engine::run::served::WorkerHost;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_machines::{Peer, Served};

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
                is_dry: options.dry,
            });
        }
    }
}
