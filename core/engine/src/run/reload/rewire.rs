//! Joins the stages anew, while those that it concerns pause.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_host::message::Origin;
use flowpipe_sync::lock;

use crate::edge::cycle::{Cycle, Inlet};
use crate::edge::edge_with;
use crate::edge::inputs::{InEdge, Inputs};
use crate::edge::outputs::{OutEdge, OutPort, Outputs};
use crate::run::reload::difference::Difference;
use crate::run::stage::{Ports, Stage};

/// The ends of edges that are in nobody's hands now.
#[derive(Default)]
struct Loose {
    heads: BTreeMap<usize, InEdge>,
    tails: BTreeMap<usize, OutEdge>,
    cycles: BTreeMap<usize, Option<Arc<Cycle>>>,
    origins: BTreeMap<usize, Option<Origin>>,
}

/// Moves the ends of edges, with what lies between them, to the stages that are to have them. `paused` pause, as they
/// were before.
pub(crate) fn rewire(difference: &mut Difference, paused: &[Arc<Stage>]) {
    let mut loose = Loose::default();
    for stage in paused {
        loose.take(stage);
    }
    for index in difference.laid.iter().chain(&difference.requeued) {
        loose.lay(difference, *index);
    }
    for edge in &mut difference.next.edges {
        edge.reopens = false;
    }
    let mut cycles = BTreeMap::new();
    let paused = paused.iter().map(|stage| stage.index);
    for index in paused.chain(difference.added.iter().copied()) {
        let next = &difference.next.stages[index];
        if next.is_live || !next.stage.is_source() {
            loose.give(difference, index, &mut cycles);
        } else {
            // Its stream ends here: it is called no more.
            next.stage.close();
        }
    }
    // What is left is the sending end of edges that are no more: what lies in them is worked off.
}

impl Loose {
    fn take(&mut self, stage: &Stage) {
        let Ports {
            inputs,
            outputs,
            origin,
        } = std::mem::take(&mut *lock(&stage.ports));
        let (heads, cycle) = inputs.into_parts();
        self.heads
            .extend(heads.into_iter().map(|edge| (edge.index, edge)));
        let tails = outputs.into_parts().into_iter();
        self.tails.extend(tails.map(|edge| (edge.index, edge)));
        self.cycles.insert(stage.index, cycle);
        self.origins.insert(stage.index, origin);
    }

    /// Makes an edge that is new, or has a new queue. What lay in it before lies in it again.
    fn lay(&mut self, difference: &Difference, index: usize) {
        let live = &difference.next.edges[index];
        let (edge, summary) = (&live.edge, &live.summary);
        let is_over = |stage: usize| {
            let stage = &difference.next.stages[stage].stage;
            stage.over.load(Ordering::SeqCst)
        };
        if is_over(edge.to.stage) {
            // Nobody takes what is sent there, with whatever queue.
            return;
        }
        let before = self.heads.remove(&index);
        let items = before.map(|edge| edge.head.dissolve()).unwrap_or_default();
        self.tails.remove(&index);
        if live.reopens {
            summary.counters.reopen();
        }
        let capacity = edge.queue.capacity;
        summary.capacity.store(capacity, Ordering::Relaxed);
        let (tail, head) = edge_with(edge.queue, summary.counters.clone(), items);
        self.heads.insert(
            index,
            InEdge {
                index,
                port: edge.to.port,
                head,
            },
        );
        if !is_over(edge.from.stage) {
            let name = format!("{} -> {}", summary.from, summary.to);
            self.tails.insert(index, OutEdge::new(index, name, tail));
        }
    }

    /// Gives a stage its ports.
    fn give(
        &mut self,
        difference: &Difference,
        index: usize,
        cycles: &mut BTreeMap<usize, Arc<Cycle>>,
    ) {
        let next = &difference.next;
        let stage = &next.stages[index].stage;
        let is_into = |edge: &usize| next.edges[*edge].edge.to.stage == index;
        let heads: Vec<_> = self.heads.keys().copied().filter(is_into).collect();
        let heads = heads.iter().filter_map(|edge| self.heads.remove(edge));
        let heads = heads.collect();
        let known = self.cycles.remove(&index).flatten();
        let cycle = match difference.knows_cycle[index] {
            true => known,
            false => difference.cycles.1[index].map(|cycle| {
                let made = cycles.entry(cycle);
                made.or_insert_with(|| make_cycle(difference, cycle))
                    .clone()
            }),
        };
        let ports = stage.sent.iter().enumerate().map(|(port, sent)| {
            let is_out = |edge: &usize| {
                let from = next.edges[*edge].edge.from;
                from.stage == index && from.port == port && !next.edges[*edge].cut
            };
            let tails: Vec<_> = self.tails.keys().copied().filter(is_out).collect();
            let tails = tails.iter().filter_map(|edge| self.tails.remove(edge));
            OutPort::new(sent.clone(), tails.collect())
        });
        let outputs = Outputs::new(ports.collect());
        *lock(&stage.ports) = Ports {
            inputs: Inputs::new(heads, cycle),
            outputs,
            origin: self.origins.remove(&index).flatten(),
        };
    }
}

fn make_cycle(difference: &Difference, cycle: usize) -> Arc<Cycle> {
    let inlets = difference.cycles.0[cycle].iter();
    let inlets = inlets.map(|(edge, inside)| Inlet {
        counters: difference.next.edges[*edge].summary.counters.clone(),
        inside: *inside,
    });
    // One that ended a moment ago brings nothing any more.
    Cycle::new(inlets.filter(|it| !it.counters.look().closed).collect())
}
